//! Hand the goods over: claim the order, ask the merchant, write it down.

use crate::{PaymentActivities, failure, lookup};
use channels::fulfilment::NotFulfilled;
use std::time::{Duration, Instant};
use store::fulfilment::FulfilClaim;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use workflows::payment::messages::{FulfilInput, FulfilOutput};

/// The merchant's time when the attempt runs inside a workflow task.
const INLINE_LIMIT: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(20);
/// Wait after a failure of the store that is no outage. The run has money: it must not end by it.
const MENDED_AFTER: Duration = Duration::from_secs(10);

/// Fulfils the order whose money this payment is.
///
/// Twice is safe: the merchant knows the payment's id as the idempotency key, and the order moves
/// once.
pub(crate) async fn fulfil(
    activities: &PaymentActivities,
    ctx: &ActivityContext,
    input: &FulfilInput,
) -> Result<FulfilOutput, ActivityError> {
    let (intent, id) = (&input.intent, input.intent.payment_id());
    let limit = if ctx.info().is_local { INLINE_LIMIT } else { LIMIT };
    let deadline = Instant::now() + limit;
    let kept = |error| failure::kept(&id, &error, MENDED_AFTER);
    match activities.store.claim_fulfilment(intent).await.map_err(kept)? {
        FulfilClaim::Found(view) => {
            return Ok(FulfilOutput::of(view, input.known.as_ref()));
        }
        // The run has the money in its history, and writes it down again.
        FulfilClaim::RowLost => {
            let view = lookup::remade(activities, intent, input.start_before).await?;
            return Ok(FulfilOutput::Row { view });
        }
        FulfilClaim::Granted => {}
    }
    let view = match activities.fulfilment.fulfil(intent, deadline).await {
        Ok(()) => activities.store.record_fulfilled(intent).await,
        Err(NotFulfilled::Refused { code }) => activities.store.record_refused(intent, code).await,
        Err(error @ (NotFulfilled::NoAnswer | NotFulfilled::Status(_))) => {
            return Err(failure::again("not_fulfilled", error.to_string()));
        }
    };
    let view = view.map_err(kept)?;
    Ok(FulfilOutput::of(view, input.known.as_ref()))
}
