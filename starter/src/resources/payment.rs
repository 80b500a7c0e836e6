//! A payment as its caller may see it, with a sentence that says what to do and what not to do.

use super::rfc3339;
use chrono::DateTime;
use domain::{
    Effect, FailureClass, OrderState, PaymentIntent, PaymentState, PaymentView, ReviewId,
    ReviewReason, UnixMillis,
};
use serde_json::{Value, json};

/// What is known about a payment besides its intent.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub state: PaymentState,
    /// Absent until the row was seen.
    row: Option<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    version: i64,
    permits_used: u8,
    start_before: UnixMillis,
    order_state: OrderState,
    review: Option<ReviewId>,
}

impl Known {
    /// A payment that was accepted and has no row yet.
    #[must_use]
    pub(crate) fn accepted() -> Self {
        Self { state: PaymentState::Created, row: None }
    }
}

impl From<PaymentView> for Known {
    fn from(view: PaymentView) -> Self {
        let row = Row {
            version: view.version,
            permits_used: view.permits_used,
            start_before: view.start_before,
            order_state: view.order_state,
            review: view.review,
        };
        Self { state: view.state, row: Some(row) }
    }
}

/// The JSON of a payment.
#[must_use]
pub(crate) fn render(intent: &PaymentIntent, known: &Known) -> Value {
    let (mut effect, mut failure) = (None, None);
    let (mut action, mut pay_before) = (None, None);
    match &known.state {
        PaymentState::Persisted { effect: what, .. } => effect = Some(*what),
        PaymentState::Failed { class } => failure = Some(*class),
        PaymentState::AwaitingPayer { action: what, pay_before: until } => {
            action = Some(what);
            pay_before = instant(*until);
        }
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::Unknown
        | PaymentState::Succeeded { .. }
        | PaymentState::Closed
        | PaymentState::ManualReview { .. } => {}
    }
    let row = known.row.as_ref();
    json!({
        "object": "payment_intent",
        "id": intent.payment_id(),
        "workflow_id": workflows::ids::payment(&intent.merchant, &intent.key),
        "merchant": intent.merchant,
        "key": intent.key,
        "order": intent.order,
        "amount": intent.money.minor_units(),
        "currency": intent.money.currency(),
        "channel": intent.channel,
        "account": intent.account,
        "payment_method": intent.payment_method,
        "started_by": intent.started_by,
        "state": known.state.name(),
        "effect": effect,
        "failure": failure,
        "transaction": known.state.money().map(|money| &money.transaction),
        "action": action,
        "pay_before": pay_before,
        "order_state": row.map(|row| row.order_state),
        "review": row.and_then(|row| row.review.as_ref()),
        "permits_used": row.map_or(0, |row| row.permits_used),
        "version": row.map_or(0, |row| row.version),
        "start_before": row.and_then(|row| instant(row.start_before)),
        "message": message(&known.state),
    })
}

/// While PostgreSQL is away: what the workflow knows, in words for that hour. Where it does not
/// say, the state is Unknown: a charge may have been sent.
#[must_use]
pub(crate) fn render_without_row(intent: &PaymentIntent, view: Option<PaymentView>) -> Value {
    let Some(view) = view else {
        let mut shown = render(intent, &Known { state: PaymentState::Unknown, row: None });
        shown["message"] = json!(NOT_READABLE);
        return shown;
    };
    let known = Known::from(view);
    let mut shown = render(intent, &known);
    shown["message"] = if known.state.money().is_some() {
        json!(PAID_BEING_WRITTEN)
    } else {
        json!(format!("{}; {AS_LAST_KNOWN}", message(&known.state)))
    };
    shown
}

const PAID: &str = "paid";
const PAID_BEING_WRITTEN: &str = "paid; the order is being updated; do not charge again";
const NOT_READABLE: &str =
    "the payment was accepted and its present state cannot be read; do not charge again";
const AS_LAST_KNOWN: &str = "as its workflow last knew; the database does not answer";

fn instant(at: UnixMillis) -> Option<String> {
    DateTime::from_timestamp_millis(at.0).map(rfc3339)
}

/// A plain sentence for the caller.
#[must_use]
pub(crate) fn message(state: &PaymentState) -> &'static str {
    match state {
        PaymentState::Created => "accepted; nothing has been sent to the channel yet",
        PaymentState::Processing { .. } => {
            "the charge is being sent or has been sent; do not charge again"
        }
        PaymentState::AwaitingPayer { .. } => "waiting for the payer to act",
        PaymentState::Unknown => "the outcome is not known yet; do not charge again",
        PaymentState::Succeeded { .. } => PAID_BEING_WRITTEN,
        PaymentState::Persisted { effect: Effect::Applied, .. } => PAID,
        PaymentState::Persisted { effect: Effect::Surplus, .. } => {
            "money arrived, but the order was paid by other money; it will be given back or \
             reviewed; do not charge again"
        }
        PaymentState::Persisted { effect: Effect::Late, .. } => {
            "money arrived after the order had ended; it will be given back or reviewed; do not \
             charge again"
        }
        PaymentState::Failed { class } => failure_message(*class),
        PaymentState::Closed => "closed at the channel before anyone paid; no money moved",
        PaymentState::ManualReview { reason: ReviewReason::AmountMismatch } => {
            "money moved in another amount; a person decides; do not charge again"
        }
        PaymentState::ManualReview { .. } => {
            "the outcome is not known and a person decides; do not charge again"
        }
    }
}

fn failure_message(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Declined => {
            "declined; no money moved; the payer may try again under a new key"
        }
        FailureClass::DeclinedFinally => {
            "declined, and the channel says not to try again; no money moved"
        }
        FailureClass::NotExecuted => {
            "not charged: the channel did not execute the request; a new key may be used"
        }
        FailureClass::NotStarted => {
            "not charged: it was too late to send the charge; a new key may be used"
        }
        FailureClass::ConfirmedNotPaid => {
            "not charged: a person confirmed that no money moved; a new key may be used"
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use domain::state_page;

    pub(crate) fn intent() -> PaymentIntent {
        PaymentIntent::from_json(&json!({
            "merchant": "acme", "key": "k1", "order": format!("ord_{}", "a".repeat(26)),
            "amount": 1999, "currency": "CNY", "channel": "sandbox", "account": "main",
            "payment_method": "pm_ok",
        }))
        .expect("valid")
    }

    pub(crate) fn view(state: PaymentState) -> PaymentView {
        PaymentView {
            payment: intent().payment_id(),
            state,
            version: 3,
            permits_used: 1,
            start_before: UnixMillis(1_700_000_000_000),
            order_state: OrderState::Paid,
            review: None,
            claim: None,
            goods_held: false,
            rebuilt_at: None,
            risk_accepted: false,
        }
    }

    #[test]
    fn every_state_is_shown_with_its_facts_and_no_others() {
        for (_, state) in state_page::states() {
            let shown = render(&intent(), &view(state.clone()).into());
            assert_eq!(shown["state"], state.name());
            let has_money = state.money().is_some();
            assert_eq!(shown["transaction"].is_string(), has_money, "{state:?}");
            let persisted = matches!(state, PaymentState::Persisted { .. });
            assert_eq!(shown["effect"].is_string(), persisted, "{state:?}");
            let failed = matches!(state, PaymentState::Failed { .. });
            assert_eq!(shown["failure"].is_string(), failed, "{state:?}");
            let awaiting = matches!(state, PaymentState::AwaitingPayer { .. });
            assert_eq!(shown["action"].is_object(), awaiting, "{state:?}");
            assert_eq!(shown["pay_before"].is_string(), awaiting, "{state:?}");
            assert_eq!(shown["start_before"], "2023-11-14T22:13:20.000Z");
            assert_eq!(shown["workflow_id"], "payment/acme/k1");
            assert_eq!((&shown["version"], &shown["order_state"]), (&json!(3), &json!("Paid")));
        }
    }

    #[test]
    fn whenever_money_may_have_moved_the_caller_is_told_not_to_charge_again() {
        for (name, state) in state_page::states() {
            let safe = matches!(
                state,
                PaymentState::Created
                    | PaymentState::AwaitingPayer { .. }
                    | PaymentState::Persisted { effect: Effect::Applied, .. }
                    | PaymentState::Failed { .. }
                    | PaymentState::Closed
            );
            assert!(safe || message(&state).contains("do not charge again"), "{name}");
        }
        for class in [
            FailureClass::Declined,
            FailureClass::DeclinedFinally,
            FailureClass::NotExecuted,
            FailureClass::NotStarted,
            FailureClass::ConfirmedNotPaid,
        ] {
            assert!(!failure_message(class).starts_with(PAID), "{class:?}");
        }
    }

    #[test]
    fn an_accepted_payment_without_a_row_is_created() {
        let shown = render(&intent(), &Known::accepted());
        assert_eq!(shown["state"], "Created");
        assert_eq!(shown["version"], 0);
        assert!(shown["order_state"].is_null() && shown["start_before"].is_null());
    }

    #[test]
    fn without_a_row_confirmed_money_is_still_called_paid() {
        for (_, state) in state_page::states() {
            let (paid, usual) = (state.money().is_some(), message(&state));
            let shown = render_without_row(&intent(), Some(view(state)));
            let told = shown["message"].as_str().expect("text").to_owned();
            assert_eq!(told == PAID_BEING_WRITTEN, paid, "{told}");
            assert!(paid || told.starts_with(usual), "{told}");
        }
        let shown = render_without_row(&intent(), None);
        assert_eq!((&shown["message"], &shown["state"]), (&json!(NOT_READABLE), &json!("Unknown")));
    }
}
