//! Why a payment is where it is, as JSON.

use super::{event, payment, rfc3339};
use chrono::{DateTime, Utc};
use domain::explain::{Act, Answer, ExplainFacts, Explanation, OpenReview, explain};
use domain::{
    Effect, OrderState, PaymentIntent, PaymentState, PaymentView, ReviewReason, UnixMillis,
};
use serde_json::{Value, json};
use store::explained::{ExplainedPayment, RecordedEvent};
use workflows::payment::messages::Waiting;

/// The JSON of a payment whose row was read.
#[must_use]
pub(crate) fn render(payment: &ExplainedPayment, waiting: Option<&Waiting>) -> Value {
    let told = explain(&payment.facts());
    let mut shown = shown(&payment.intent, &payment.state, &told, &payment.open_reviews, waiting);
    shown["source"] = json!("row");
    shown["message"] = json!(payment::message(&payment.state));
    shown["order_state"] = json!(payment.order_state);
    shown["attend_by"] = json!(payment.attend_by.and_then(instant));
    shown["last_event"] = json!(payment.last_event.as_ref().map(last_event));
    shown
}

/// The JSON of a payment as its workflow knows it. Where that does not say, a charge may have been
/// sent and the order is held: nobody is told that they may pay again.
#[must_use]
pub(crate) fn render_without_row(
    intent: &PaymentIntent,
    view: Option<&PaymentView>,
    waiting: Option<&Waiting>,
    unreadable: bool,
    now: DateTime<Utc>,
) -> Value {
    let now = UnixMillis(now.timestamp_millis());
    let not_said = if unreadable { PaymentState::Unknown } else { PaymentState::Created };
    let state = view.map_or(not_said, |view| view.state.clone());
    let reviews: Vec<_> = view.and_then(|view| view.review.clone()).map_or_else(Vec::new, |id| {
        let reason = match &state {
            PaymentState::ManualReview { reason } => Some(*reason),
            _ => None,
        };
        vec![OpenReview { id, reason, remind_at: None }]
    });
    let facts = ExplainFacts {
        state: &state,
        live: is_live(&state),
        start_before: view.map_or(now, |view| view.start_before),
        send_before: None,
        permits_used: view.map_or(0, |view| view.permits_used),
        attend_by: None,
        order_state: view.map_or(OrderState::AwaitingPayment, |view| view.order_state),
        other_live: None,
        declined_finally: false,
        open_reviews: &reviews,
        now,
    };
    let told = explain(&facts);
    let mut shown = shown(intent, &state, &told, &reviews, waiting);
    shown["source"] = json!("workflow");
    let message = if unreadable {
        payment::render_without_row(intent, view.cloned())["message"].clone()
    } else {
        json!(payment::message(&state))
    };
    shown["message"] = message;
    shown["order_state"] = json!(view.map(|view| view.order_state));
    shown["attend_by"] = Value::Null;
    shown["last_event"] = Value::Null;
    shown
}

/// Whether a payment in this state holds its order, where the row does not say.
fn is_live(state: &PaymentState) -> bool {
    match state {
        PaymentState::Failed { .. }
        | PaymentState::Closed
        | PaymentState::Persisted { effect: Effect::Surplus | Effect::Late, .. } => false,
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { effect: Effect::Applied, .. }
        | PaymentState::ManualReview { .. } => true,
    }
}

fn shown(
    intent: &PaymentIntent,
    state: &PaymentState,
    told: &Explanation,
    reviews: &[OpenReview],
    waiting: Option<&Waiting>,
) -> Value {
    let wait = told.waits_for.as_ref();
    let (mut may, mut may_not) = (Vec::new(), Vec::new());
    for (act, answer) in &told.acts {
        match answer {
            Answer::May { how } => may.push(allowed(*act, how)),
            Answer::MayNot { rule, why, until } => may_not.push(json!({
                "act": act.as_str(), "rule": rule.as_str(), "why": why,
                "until": until.and_then(instant),
            })),
        }
    }
    json!({
        "object": "explanation",
        "payment": intent.payment_id(),
        "order": intent.order,
        "workflow_id": workflows::ids::payment(&intent.merchant, &intent.key),
        "state": state.name(),
        "waits_for": wait.map(|wait| &wait.what),
        "waits_until": wait.and_then(|wait| wait.until).and_then(instant),
        "workflow_says": waiting.map(|waiting| &waiting.details),
        "workflow_until": waiting.and_then(|waiting| waiting.until_ms).and_then(instant),
        "reviews": reviews.iter().map(review).collect::<Vec<_>>(),
        "may": may,
        "may_not": may_not,
    })
}

fn allowed(act: Act, how: &str) -> Value {
    json!({ "act": act.as_str(), "how": how })
}

/// Names the review and says where it is: its choices are told there.
fn review(review: &OpenReview) -> Value {
    let reason: Option<ReviewReason> = review.reason;
    json!({
        "id": review.id,
        "reason": reason,
        "remind_at": review.remind_at.and_then(instant),
        "path": format!("/v1/reviews/{}", review.id),
    })
}

fn last_event(last: &RecordedEvent) -> Value {
    json!({
        "kind": last.kind,
        "from": last.from_state,
        "to": last.to_state,
        "actor": last.actor,
        "at": rfc3339(last.at),
        "cause": event::cause(&last.kind, &last.cause),
    })
}

fn instant(at: UnixMillis) -> Option<String> {
    DateTime::from_timestamp_millis(at.0).map(rfc3339)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::payment::tests::{intent, view};
    use domain::state_page;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_700_000_000_000).expect("valid")
    }

    fn rules(shown: &Value, act: &str) -> Option<String> {
        let all = shown["may_not"].as_array().expect("a list");
        let found = all.iter().find(|entry| entry["act"] == act)?;
        found["rule"].as_str().map(str::to_owned)
    }

    #[test]
    fn without_a_row_and_without_a_word_nobody_may_pay_again() {
        let shown = render_without_row(&intent(), None, None, true, now());
        assert_eq!((&shown["state"], &shown["source"]), (&json!("Unknown"), &json!("workflow")));
        assert_eq!(rules(&shown, "charge_again").as_deref(), Some("no_repeat_without_proof"));
        let held = rules(&shown, "pay_with_another_intent");
        assert_eq!(held.as_deref(), Some("one_live_payment_per_order"));
        assert!(shown["message"].as_str().expect("text").contains("do not charge again"));
    }

    #[test]
    fn what_the_workflow_knows_is_told_for_every_state() {
        for (name, state) in state_page::states() {
            let mut known = view(state.clone());
            known.order_state = OrderState::AwaitingPayment;
            let waiting = Waiting { details: "Waiting.".to_owned(), until_ms: None };
            let shown = render_without_row(&intent(), Some(&known), Some(&waiting), true, now());
            assert_eq!(
                (&shown["state"], &shown["workflow_says"]),
                (&json!(state.name()), &json!("Waiting."))
            );
            let ended = matches!(state, PaymentState::Failed { .. } | PaymentState::Closed);
            let held = rules(&shown, "pay_with_another_intent");
            assert_eq!(held.is_none(), ended, "{name}");
            let acts =
                [&shown["may"], &shown["may_not"]].map(|list| list.as_array().map_or(0, Vec::len));
            assert_eq!(acts.iter().sum::<usize>(), Act::ALL.len(), "{name}");
        }
    }
}
