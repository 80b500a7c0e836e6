//! Hand the goods over: claim the order, ask the merchant, write it down.

use crate::{PaymentActivities, failure};
use channels::fulfilment::NotFulfilled;
use std::time::{Duration, Instant};
use store::fulfilment::FulfilClaim;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use workflows::payment::messages::{FulfilInput, FulfilOutput};

/// The merchant's time when the attempt runs inside a workflow task.
const INLINE_LIMIT: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(20);

/// Fulfils the order whose money this payment is.
///
/// Twice is safe: the merchant knows the payment's id as the idempotency key, and the order moves
/// once.
pub(crate) async fn fulfil(
    activities: &PaymentActivities,
    ctx: &ActivityContext,
    input: &FulfilInput,
) -> Result<FulfilOutput, ActivityError> {
    let id = input.intent.payment_id();
    let limit = if ctx.info().is_local { INLINE_LIMIT } else { LIMIT };
    let deadline = Instant::now() + limit;
    let claim = activities.store.claim_fulfilment(&input.intent).await;
    match claim.map_err(|error| failure::store(&id, &error))? {
        FulfilClaim::Found(view) => {
            return Ok(FulfilOutput::of(view, input.known.as_ref()));
        }
        FulfilClaim::Granted => {}
    }
    let view = match activities.fulfilment.fulfil(&input.intent, deadline).await {
        Ok(()) => activities.store.record_fulfilled(&input.intent).await,
        Err(NotFulfilled::Refused { code }) => {
            activities.store.record_refused(&input.intent, code).await
        }
        Err(error @ (NotFulfilled::NoAnswer | NotFulfilled::Status(_))) => {
            return Err(failure::again("not_fulfilled", error.to_string()));
        }
    };
    let view = view.map_err(|error| failure::store(&id, &error))?;
    Ok(FulfilOutput::of(view, input.known.as_ref()))
}
