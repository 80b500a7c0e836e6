//! What happened to a payment, in words for people. The record's own words stay beside them, for
//! programs.

use serde_json::Value;
use store::explained::RecordedEvent;

/// The event as one sentence.
#[must_use]
pub(crate) fn sentence(event: &RecordedEvent) -> String {
    let cause = cause(&event.kind, &event.cause);
    if event.from_state == event.to_state {
        format!("{cause}; stays {}", event.to_state)
    } else {
        format!("{cause}; {} becomes {}", event.from_state, event.to_state)
    }
}

/// Why, by the event's kind and its own words. What is not known here is shown as it is recorded.
#[must_use]
pub(crate) fn cause(kind: &str, cause: &Value) -> String {
    let word = |name: &str| cause[name].as_str().unwrap_or("-").replace('_', " ");
    match kind {
        "claimed" => match cause["permit"].as_str() {
            Some(ground) => format!(
                "the right to send the charge again was taken; ground: {}",
                ground.replace('_', " ")
            ),
            None => "the right to send the charge was taken".to_owned(),
        },
        "money_confirmed" => match cause["broken_rule"].as_str() {
            Some(rule) => format!("money moved and a rule of ours forbids its record: {rule}"),
            None => format!(
                "{} moved; the channel's number is {}",
                amount(&cause["money"]),
                cause["transaction"].as_str().unwrap_or("-")
            ),
        },
        "declined" => match cause["class"].as_str() {
            Some("final") => format!("declined, not to be tried again: {}", word("code")),
            _ => format!("declined: {}", word("code")),
        },
        "payer_action" => "the payer was shown how to pay".to_owned(),
        "answer_lost" => format!("the channel's answer was lost: {}", word("why")),
        "not_executed" => format!("proved not executed: {}", word("proof")),
        "closed_at_channel" => "closed at the channel".to_owned(),
        "start_expired" => "too late to send the charge: the payer has left".to_owned(),
        "ladder_ended" => "nothing is left to look up; a person is asked".to_owned(),
        "decided" => decided(&cause["choice"]),
        "resubmission_refused" => {
            "the order moved on before the request was sent again; a person is asked".to_owned()
        }
        "fulfilment_refused" => {
            format!("the merchant said that the goods cannot be handed over: {}", word("code"))
        }
        other => format!("{}: {cause}", other.replace('_', " ")),
    }
}

/// What a person chose, and what they saw.
fn decided(choice: &Value) -> String {
    let text = |name: &str| choice[name].as_str().unwrap_or("-");
    match text("kind") {
        "confirm_paid" => {
            format!("decided: paid under {}; {}", text("transaction"), text("evidence"))
        }
        "confirm_not_paid" => format!("decided: not paid; {}", text("evidence")),
        "resubmit_same_key" => format!("decided: send it once more; {}", text("risk")),
        other => format!("decided: {}", other.replace('_', " ")),
    }
}

/// `CNY 19.99`.
fn amount(money: &Value) -> String {
    serde_json::from_value::<domain::Money>(money.clone())
        .map_or_else(|_| "money".to_owned(), |money| money.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use serde_json::json;

    fn event(kind: &str, to: &str, cause: Value) -> RecordedEvent {
        RecordedEvent {
            payment: "pay_x".to_owned(),
            sequence: 2,
            kind: kind.to_owned(),
            from_state: "Processing".to_owned(),
            to_state: to.to_owned(),
            actor: "charge".to_owned(),
            cause,
            at: DateTime::from_timestamp_millis(1_700_000_000_123).expect("valid"),
        }
    }

    #[test]
    fn a_lost_answer_says_how_it_was_lost_and_where_that_leads() {
        let lost = event("answer_lost", "Unknown", json!({ "why": "timed_out" }));
        assert_eq!(
            sentence(&lost),
            "the channel's answer was lost: timed out; Processing becomes Unknown"
        );
    }

    #[test]
    fn money_is_told_with_its_number_and_exact_amount() {
        let cause =
            json!({ "transaction": "sbx_1", "money": { "amount": 1999, "currency": "CNY" } });
        let told = sentence(&event("money_confirmed", "Persisted", cause));
        assert!(told.starts_with("CNY 19.99 moved; the channel's number is sbx_1;"), "{told}");
    }

    #[test]
    fn a_decision_is_told_with_what_the_person_saw() {
        let choice =
            |choice: Value| cause("decided", &json!({ "choice": choice, "decision": "d" }));
        let not_paid = choice(json!({ "kind": "confirm_not_paid", "evidence": "line 7" }));
        assert_eq!(not_paid, "decided: not paid; line 7");
        let again = choice(json!({ "kind": "resubmit_same_key", "risk": "it is small" }));
        assert_eq!(again, "decided: send it once more; it is small");
    }

    #[test]
    fn what_is_not_known_here_is_shown_as_recorded() {
        let told = sentence(&event("moon_rose", "Processing", json!({ "over": "sea" })));
        assert_eq!(told, "moon rose: {\"over\":\"sea\"}; stays Processing");
    }
}
