//! A review with what a person needs to decide it.

use super::rfc3339;
use serde_json::{Value, json};
use store::reads::ReviewRecord;

/// The JSON of a review.
#[must_use]
pub(crate) fn render(review: &ReviewRecord) -> Value {
    json!({
        "object": "review",
        "id": review.id,
        "state": review.state,
        "version": review.version,
        "reason": review.reason,
        "payment": review.payment,
        "payment_state": review.payment_state,
        "merchant": review.merchant,
        "key": review.key,
        "order": review.order,
        "amount": review.amount,
        "currency": review.currency,
        "channel": review.channel,
        "account": review.account,
        "reference": review.reference,
        "opened_at": rfc3339(review.opened_at),
        "ended_at": review.ended_at.map(rfc3339),
        "choice": review.choice,
        "decided_by": review.decided_by,
    })
}
