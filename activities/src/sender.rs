//! Who is sending, and the sign of life while it does.

use crate::failure;
use aws_lc_rs::rand;
use domain::ClaimToken;
use std::pin::pin;
use std::time::Duration;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// The first beat comes after this, and then one each. What is answered at once costs no heartbeat.
const BEAT: Duration = Duration::from_secs(1);

/// The token of this one execution of this attempt of this activity of this run, which no other
/// sender ever has. Part of it is drawn: whoever sets an activity back, or restores Temporal, lets
/// an attempt of the same number run again, and that one must not take the first one's claim for
/// its own.
pub(crate) fn token(ctx: &ActivityContext) -> Result<ClaimToken, ActivityError> {
    let info = ctx.info();
    let run = info.workflow_run_id.as_deref().unwrap_or_default();
    let mut drawn = [0; 8];
    let nothing_drawn = |_| failure::again("no_randomness", "no token could be drawn".to_owned());
    rand::fill(&mut drawn[2..]).map_err(nothing_drawn)?;
    let drawn = u64::from_be_bytes(drawn);
    Ok(ClaimToken::of(run, format_args!("{drawn:012x}.{}.{}", info.activity_id, info.attempt)))
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
