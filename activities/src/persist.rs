//! Write down news that is durable in history already.

use crate::{PaymentActivities, failure};
use domain::PaymentEvent;
use std::time::Duration;
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{PersistInput, RowOutput};

/// Wait after a failure that is no outage: somebody must mend something first.
const MENDED_AFTER: Duration = Duration::from_secs(5);

/// Settles the news, or fails in a way that is tried again, for ever: the channel's answer has no
/// other place to go.
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
        exchanges: &input.news.exchanges,
    };
    let settled = activities.store.settle(&confirmation).await;
    let id = input.intent.payment_id();
    // What a channel said, and money that the row has lost, have no other place to go; what the
    // workflow said itself, it says again.
    let money = matches!(input.news.event, PaymentEvent::MoneyConfirmed { .. });
    let irreplaceable = money || !input.news.exchanges.is_empty();
    let settled = settled.map_err(|error| {
        if irreplaceable {
            failure::kept(&id, &error, MENDED_AFTER)
        } else {
            failure::store(&id, &error)
        }
    })?;
    Ok(RowOutput { view: settled.view })
}
