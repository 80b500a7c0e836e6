//! Who is sending, and the sign of life while it does.

use domain::ClaimToken;
use std::pin::pin;
use std::time::Duration;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// The first beat comes after this, and then one each. A charge that is answered at once costs no
/// heartbeat.
const BEAT: Duration = Duration::from_secs(1);

/// The token of this attempt of this activity of this run, which no other sender ever has.
pub(crate) fn token(ctx: &ActivityContext) -> ClaimToken {
    let info = ctx.info();
    let run = info.workflow_run_id.as_deref().unwrap_or_default();
    ClaimToken::of(run, format_args!("{}.{}", info.activity_id, info.attempt))
}

/// Runs the work to its end, with heartbeats. A heartbeat that fails, or a cancellation that it
/// brings, does not stop the work: a charge that was sent is settled.
pub(crate) async fn heartbeating<T>(
    ctx: &ActivityContext,
    work: impl Future<Output = Result<T, ActivityError>>,
) -> Result<T, ActivityError> {
    let mut work = pin!(work);
    let mut beats = 0u32;
    loop {
        tokio::select! {
            result = &mut work => return result,
            () = tokio::time::sleep(BEAT) => {
                beats += 1;
                if let Err(error) = ctx.record_heartbeat(beats).await {
                    tracing::debug!(%error, "a heartbeat was not recorded");
                }
            }
        }
    }
}
