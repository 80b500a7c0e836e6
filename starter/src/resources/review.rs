//! A review with what a person needs to decide it.

use super::rfc3339;
use domain::{ChoiceKind, WhyNot};
use serde_json::{Value, json};
use store::reads::ReviewRecord;
use store::reviews::{ProposalRecord, ReviewDetail};

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
        "proposed_by": review.proposed_by,
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

/// The same with what may be chosen, what was proposed, and who may not decide.
#[must_use]
pub(crate) fn render_with(review: &ReviewRecord, detail: &ReviewDetail) -> Value {
    let mut shown = render(review);
    shown["authenticated"] = json!(detail.authenticated);
    shown["started_by"] = json!(detail.started_by);
    shown["choices"] = detail.choices.iter().map(|(kind, may)| choice(*kind, *may)).collect();
    shown["proposals"] = detail.proposals.iter().map(proposal).collect();
    shown
}

fn choice(kind: ChoiceKind, may: Result<(), WhyNot>) -> Value {
    let why = may.err();
    json!({
        "kind": kind,
        "allowed": why.is_none(),
        "rule": why.map(WhyNot::as_str),
        "why": why.map(|why| why.to_string()),
    })
}

fn proposal(proposal: &ProposalRecord) -> Value {
    json!({
        "decision": proposal.decision,
        "operator": proposal.operator,
        "choice": proposal.choice,
        "reason": proposal.reason,
        "at": rfc3339(proposal.at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_says_whether_it_is_one_and_which_rule_forbids_it() {
        let allowed = choice(ChoiceKind::ConfirmPaid, Ok(()));
        assert_eq!((&allowed["allowed"], &allowed["why"]), (&json!(true), &Value::Null));
        let forbidden = choice(ChoiceKind::ResubmitSameKey, Err(WhyNot::NeedsRefund));
        assert_eq!(forbidden["allowed"], false);
        assert_eq!(forbidden["rule"], "needs_refund");
        assert!(forbidden["why"].as_str().expect("words").contains("given back"));
    }
}
