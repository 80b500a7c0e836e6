//! What an operator reads in the Temporal UI while a payment waits. Plain words, no payer data.

use domain::{Action, PaymentState, PaymentView, UnixMillis};

/// Before anything is known; a run that is being recorded and charged.
pub(crate) const BEGINNING: &str = "The charge is being recorded and sent.";
pub(crate) const PAID_NOT_YET_WRITTEN: &str =
    "Paid. The order is being updated; do not charge again.";
pub(crate) const PAID_FULFILLING: &str = "Paid. The merchant has not yet confirmed fulfilment.";

/// What to do with a payment that had ended when the run began: only fulfilment can be left.
pub(crate) fn without_policy(view: &PaymentView) -> Action {
    if view.awaits_fulfilment() { Action::Fulfil } else { Action::Done }
}

/// The current details for an action that waits; `None` for one that does not.
pub(crate) fn details(action: &Action, now: UnixMillis) -> Option<String> {
    match action {
        Action::Lookup { wait, number, of: Some(of) } => Some(format!(
            "The channel's answer was lost. Waiting for lookup {number} of {of}, next {}; \
             do not charge again.",
            clock(now.after(*wait)),
        )),
        Action::Lookup { wait, number, of: None } => Some(format!(
            "Waiting for the payer. Lookup {number}, next {}.",
            clock(now.after(*wait)),
        )),
        Action::Charge { wait } if !wait.is_zero() => Some(format!(
            "The channel's answer was lost. The same request is sent again at {} under its \
             idempotency; do not charge again.",
            clock(now.after(*wait)),
        )),
        Action::Close { wait } => Some(format!(
            "To be closed at the channel at {}, which then says whether it was paid before.",
            clock(now.after(*wait)),
        )),
        Action::AskPerson { .. } => Some(
            "**A person must decide.** The outcome at the channel is not known; do not charge \
             again. Use `oncepay review list`."
                .to_owned(),
        ),
        Action::Charge { .. } | Action::Settle { .. } | Action::Fulfil | Action::Done => None,
    }
}

/// When an action that waits goes on by itself.
pub(crate) fn until(action: &Action, now: UnixMillis) -> Option<UnixMillis> {
    match action {
        Action::Lookup { wait, .. } | Action::Charge { wait } | Action::Close { wait } => {
            Some(now.after(*wait))
        }
        Action::AskPerson { look_after } => Some(now.after(*look_after)),
        Action::Settle { .. } | Action::Fulfil | Action::Done => None,
    }
}

/// The current details of a run that has ended.
pub(crate) fn outcome(view: &PaymentView) -> String {
    match &view.state {
        PaymentState::Persisted { effect: domain::Effect::Applied, .. } if view.goods_held => {
            "Paid. **A review holds the goods back.** Use `oncepay review list`.".to_owned()
        }
        PaymentState::Persisted { effect: domain::Effect::Applied, .. } => {
            format!("Paid. The order is {}.", view.order_state.as_str())
        }
        PaymentState::Persisted { .. } => {
            "Money was taken that the order does not need; a review is open.".to_owned()
        }
        PaymentState::Failed { .. } | PaymentState::Closed => "Ended without money.".to_owned(),
        state => format!("Ended while the payment was {}.", state.name()),
    }
}

/// The time of day in UTC, to the second.
fn clock(at: UnixMillis) -> String {
    let second = at.0.div_euclid(1_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02} UTC", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_operator_reads_what_is_waited_for_and_what_not_to_do() {
        let wait = Duration::from_secs(10);
        let action = Action::Lookup { wait, number: 3, of: Some(6) };
        let ten_five_twenty = UnixMillis((10 * 3_600 + 5 * 60 + 20) * 1_000);
        let text = details(&action, ten_five_twenty).expect("waits");
        assert!(text.contains("lookup 3 of 6, next 10:05:30 UTC"), "{text}");
        assert!(text.contains("do not charge again"), "{text}");
        assert_eq!(until(&action, ten_five_twenty), Some(ten_five_twenty.after(wait)));
    }
}
