//! Write down news that is durable in history already.

use crate::{PaymentActivities, failure};
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{PersistInput, RowOutput};

/// Settles the news, or fails in a way that is tried again.
///
/// Twice is safe: the event's id is unique, and the second finds it.
pub(crate) async fn persist(
    activities: &PaymentActivities,
    input: &PersistInput,
) -> Result<RowOutput, ActivityError> {
    let confirmation = Confirmation {
        intent: &input.intent,
        start_before: input.start_before,
        event: input.news.event.clone(),
        actor: &input.news.actor,
        token: input.news.token.as_ref(),
        exchange: input.news.exchange.as_ref(),
    };
    let settled = activities.store.settle(&confirmation).await;
    let settled = settled.map_err(|e| failure::store(&input.intent.payment_id(), &e))?;
    Ok(RowOutput { view: settled.view })
}
