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
        "money": money(review),
        "opened_at": rfc3339(review.opened_at),
        "remind_at": rfc3339(review.remind_at),
        "ended_at": review.ended_at.map(rfc3339),
        "choice": review.choice,
        "decided_by": review.decided_by,
        "decision_reason": review.decision_reason,
    })
}

/// The movement of money that the review is about.
fn money(review: &ReviewRecord) -> Option<Value> {
    let transaction = review.money_transaction.as_ref()?;
    Some(json!({
        "transaction": transaction,
        "amount": review.money_amount,
        "currency": review.money_currency,
    }))
}
