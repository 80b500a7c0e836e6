use super::*;
use crate::state_page::{cell, events, states};
use proptest::prelude::*;

/// The binding table, written by hand: what the design says, not what the code does. Columns in
/// the order of [`events`].
const TABLE: &[(&str, &str)] = &[
    ("Created", "Processing|✗|✗|Succeeded|Succeeded|ManualReview|✗|✗|✗|·|Closed|Failed|✗|✗|✗|✗"),
    (
        "Processing",
        concat!(
            "·|✗|✗|Succeeded|Succeeded|ManualReview|Failed|AwaitingPayer|Unknown|Failed|Closed|",
            "·|✗|✗|✗|✗",
        ),
    ),
    (
        "AwaitingPayer",
        concat!(
            "✗|Processing|Processing|Succeeded|Succeeded|ManualReview|Failed|·|·|·|Closed|·|",
            "ManualReview|✗|✗|✗",
        ),
    ),
    (
        "Unknown",
        concat!(
            "✗|Processing|Processing|Succeeded|Succeeded|ManualReview|Failed|AwaitingPayer|·|",
            "Failed|Closed|·|ManualReview|✗|✗|✗",
        ),
    ),
    ("Succeeded", "✗|✗|✗|·|· +r|· +r|· +r|·|·|·|· +r|·|·|·|·|·"),
    ("Persisted", "✗|✗|✗|·|· +r|· +r|· +r|·|·|·|· +r|·|·|·|·|·"),
    ("Failed", "✗|✗|✗|Succeeded|Succeeded|ManualReview|·|· +r|·|·|·|·|·|·|·|·"),
    ("Closed", "✗|✗|✗|Succeeded|Succeeded|ManualReview|·|· +r|·|·|·|·|·|·|·|·"),
    (
        "ManualReview (answer lost)",
        "✗|✗|Processing|Succeeded|Succeeded|·|Failed|·|·|Failed|Closed|·|·|Succeeded|Failed|·",
    ),
    (
        "ManualReview (other reason)",
        "✗|✗|Processing|Succeeded|Succeeded|·|·|·|·|·|·|·|·|Succeeded|Failed|·",
    ),
];

#[test]
fn every_state_and_event_is_as_the_design_says() {
    let states = states();
    assert_eq!(states.len(), TABLE.len());
    for ((name, state), (expected_name, row)) in states.iter().zip(TABLE) {
        assert_eq!(name, expected_name);
        let cells: Vec<_> = row.split('|').collect();
        assert_eq!(cells.len(), events().len(), "{name}");
        for ((event_name, event), expected) in events().iter().zip(cells) {
            assert_eq!(cell(state, event), expected, "{name} on {event_name}");
        }
    }
}

#[test]
fn a_claim_of_another_sender_is_no_repeat() {
    let state = PaymentState::Processing { token: ClaimToken::of("run", 1) };
    let other = PaymentEvent::Claimed { token: ClaimToken::of("run", 2), permit: None };
    assert!(state.on(other).is_err());
}

#[test]
fn a_state_reads_back_from_its_json() {
    for (name, state) in states() {
        let text = serde_json::to_string(&state).expect("serializes");
        assert_eq!(serde_json::from_str::<PaymentState>(&text).expect(name), state);
    }
}

#[test]
fn neither_a_claim_nor_a_decision_can_be_forged_in_json() {
    for text in [
        r#"{"event":"claimed","token":"run#1","permit":null}"#,
        r#"{"event":"decided","verdict":"NotPaid"}"#,
    ] {
        assert!(serde_json::from_str::<PaymentEvent>(text).is_err(), "{text} was taken");
    }
}

#[test]
fn money_that_does_not_fit_is_denied_by_no_weaker_word() {
    let review = PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown };
    let money = match crate::state_page::events().remove(5).1 {
        PaymentEvent::MoneyMismatch { money } => money,
        other => panic!("the sixth example is a mismatch: {other:?}"),
    };
    let state = apply(review, &PaymentEvent::MoneyMismatch { money });
    for event in [
        PaymentEvent::ClosedAtChannel,
        PaymentEvent::NotExecuted { proof: NotExecutedProof::LookupAfterGrace },
        PaymentEvent::Declined { class: DeclineClass::MayPayAgain, code: String::new() },
    ] {
        assert_eq!(apply(state.clone(), &event).name(), "ManualReview", "{event:?}");
    }
}

fn apply(state: PaymentState, event: &PaymentEvent) -> PaymentState {
    match state.clone().on(event.clone()) {
        Ok(Step::Moved(next) | Step::Absorbed { state: next, .. }) => next,
        Err(_) => state,
    }
}

proptest! {
    /// L5: no order of events takes confirmed money away, whatever came before it.
    #[test]
    fn confirmed_money_is_never_forgotten(picks in prop::collection::vec(0..16usize, 0..40)) {
        let events = events();
        let mut state = PaymentState::Created;
        let mut held: Option<ConfirmedMoney> = None;
        for pick in picks {
            state = apply(state, &events[pick].1);
            if let Some(money) = &held {
                prop_assert_eq!(state.money(), Some(money));
            }
            held = held.or_else(|| state.money().cloned());
        }
    }

    /// L4: without a word from the channel or a person, an unknown outcome never becomes a failure.
    #[test]
    fn unknown_never_fails_by_itself(picks in prop::collection::vec(0..3usize, 0..40)) {
        let own = [
            PaymentEvent::AnswerLost { why: UnknownReason::TimedOut },
            PaymentEvent::StartExpired,
            PaymentEvent::LadderEnded,
        ];
        let mut state = PaymentState::Unknown;
        for pick in picks {
            state = apply(state, &own[pick]);
            let open = matches!(state, PaymentState::Unknown | PaymentState::ManualReview { .. });
            prop_assert!(open, "became {:?}", state);
        }
    }
}

#[test]
fn a_reasons_word_is_that_of_its_json() {
    for reason in ReviewReason::ALL {
        let json = serde_json::to_value(reason).expect("serializes");
        assert_eq!(json, reason.as_str());
    }
}
