//! Every state, with every fact that can change an answer.

use super::*;
use crate::ids::{EventId, IdempotencyKey, MerchantId};
use crate::state_page;
use std::collections::BTreeSet;

const NOW: UnixMillis = UnixMillis(1_000_000);

/// All states with all their variants: those of the page, and the rest of the classes.
fn states() -> Vec<PaymentState> {
    let mut states: Vec<_> = state_page::states().into_iter().map(|(_, state)| state).collect();
    let money = states.iter().find_map(PaymentState::money).expect("one holds money").clone();
    for effect in [Effect::Surplus, Effect::Late] {
        states.push(PaymentState::Persisted { money: money.clone(), effect });
    }
    for class in [
        FailureClass::DeclinedFinally,
        FailureClass::NotExecuted,
        FailureClass::NotStarted,
        FailureClass::ConfirmedNotPaid,
    ] {
        states.push(PaymentState::Failed { class });
    }
    states
}

fn payment() -> PaymentId {
    let merchant = MerchantId::parse("acme").expect("valid");
    PaymentId::of(&merchant, &IdempotencyKey::parse("k2").expect("valid"))
}

fn review() -> OpenReview {
    OpenReview {
        id: ReviewId::of(&EventId::of(&["e"])),
        reason: Some(ReviewReason::OutcomeUnknown),
        remind_at: Some(UnixMillis(2_000_000)),
    }
}

/// Whether a payment in this state is live: the constraint `payment_ended_is_not_live`.
fn may_be_live(state: &PaymentState) -> bool {
    !matches!(
        state,
        PaymentState::Failed { .. }
            | PaymentState::Closed
            | PaymentState::Persisted { effect: Effect::Surplus | Effect::Late, .. }
    )
}

/// Looks at every combination that the rows allow.
fn each(mut look: impl FnMut(&ExplainFacts<'_>, &Explanation)) {
    let held = OpenReview { reason: Some(ReviewReason::FulfilmentRefused), ..review() };
    let (other, reviews) = (payment(), [review(), held]);
    for state in states() {
        for order_state in OrderState::ALL {
            for bits in 0_u8..32 {
                let bit = |n: u8| bits & (1 << n) != 0;
                let live = may_be_live(&state) && bit(0);
                let facts = ExplainFacts {
                    state: &state,
                    live,
                    start_before: UnixMillis(1_060_000),
                    send_before: Some(UnixMillis(if bit(1) { 1_005_000 } else { 900_000 })),
                    permits_used: if bit(1) { MAX_PERMITS } else { 0 },
                    attend_by: Some(UnixMillis(4_000_000)),
                    order_state,
                    other_live: (!live && bit(2)).then_some(&other),
                    declined_finally: bit(3),
                    // None, the first, or both: the second holds the goods back.
                    open_reviews: match (bit(4), bit(1)) {
                        (false, _) => &[],
                        (true, false) => &reviews[..1],
                        (true, true) => &reviews,
                    },
                    now: NOW,
                };
                look(&facts, &explain(&facts));
            }
        }
    }
}

fn of(explanation: &Explanation, wanted: Act) -> &Answer {
    let found: Vec<_> = explanation.acts.iter().filter(|(act, _)| *act == wanted).collect();
    assert_eq!(found.len(), 1, "{wanted:?} is answered once");
    &found[0].1
}

fn rule(answer: &Answer) -> Option<Rule> {
    match answer {
        Answer::May { .. } => None,
        Answer::MayNot { rule, .. } => Some(*rule),
    }
}

#[test]
fn nobody_is_ever_told_to_charge_again_or_to_close_as_failed() {
    each(|facts, told| {
        for act in [Act::ChargeAgain, Act::CloseAsFailed, Act::HandOverGoods] {
            assert!(rule(of(told, act)).is_some(), "{act:?} {facts:?}");
        }
    });
}

#[test]
fn a_request_that_may_have_been_executed_forbids_another_by_the_rule_of_proof() {
    each(|facts, told| {
        let open = matches!(
            facts.state,
            PaymentState::Processing { .. }
                | PaymentState::AwaitingPayer { .. }
                | PaymentState::Unknown
                | PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown }
        );
        let by_proof = rule(of(told, Act::ChargeAgain)) == Some(Rule::NoRepeatWithoutProof);
        assert_eq!(open, by_proof, "{facts:?}");
        let by_time = rule(of(told, Act::CloseAsFailed)) == Some(Rule::UnknownNeverFailsByTime);
        assert_eq!(open, by_time, "{facts:?}");
    });
}

#[test]
fn money_is_never_closed_failed_or_charged_again() {
    each(|facts, told| {
        if facts.state.money().is_none() {
            return;
        }
        assert_eq!(rule(of(told, Act::CloseAsFailed)), Some(Rule::MoneyNeverDisappears));
        assert_eq!(rule(of(told, Act::AskToClose)), Some(Rule::MoneyNeverDisappears));
        assert_eq!(rule(of(told, Act::ChargeAgain)), Some(Rule::PaidOnce));
    });
}

#[test]
fn another_intent_is_possible_exactly_where_its_record_would_be_taken() {
    each(|facts, told| {
        let this_finally =
            *facts.state == PaymentState::Failed { class: FailureClass::DeclinedFinally };
        let free = facts.order_state == OrderState::AwaitingPayment
            && !facts.live
            && facts.other_live.is_none()
            && !facts.declined_finally
            && !this_finally;
        let answer = of(told, Act::PayWithAnotherIntent);
        assert_eq!(rule(answer).is_none(), free, "{facts:?}");
    });
}

#[test]
fn a_review_is_decided_where_one_is_open_that_leaves_a_choice() {
    each(|facts, told| {
        let decide = rule(of(told, Act::DecideReview));
        let has_choice = |review: &OpenReview| {
            review.reason.is_none_or(|reason| any_choice(facts.state, reason).is_ok())
        };
        assert_eq!(decide.is_none(), facts.open_reviews.iter().any(has_choice), "{facts:?}");
    });
}

#[test]
fn whoever_is_not_finished_may_be_resumed() {
    each(|facts, told| {
        let money = facts.state.is_final() && facts.state.money().is_some();
        let forbidden = rule(of(told, Act::Resume)).is_some();
        let owed = of(told, Act::HandOverGoods);
        let waits = matches!(rule(owed), Some(Rule::OneOwner | Rule::GoodsHeldByReview));
        assert_eq!(forbidden, money && !waits, "{facts:?}");
    });
}

#[test]
fn whoever_is_not_finished_waits_for_something_until_a_time() {
    each(|facts, told| {
        let kept = matches!(facts.state, PaymentState::Persisted { effect: Effect::Applied, .. });
        let unfulfilled =
            kept && matches!(facts.order_state, OrderState::Paid | OrderState::Fulfilling);
        let finished = facts.state.is_final() && !unfulfilled && facts.open_reviews.is_empty();
        assert_eq!(told.waits_for.is_none(), finished, "{facts:?}");
        if let Some(wait) = &told.waits_for {
            assert!(wait.until.is_some_and(|until| until > NOW), "{facts:?} {wait:?}");
        }
    });
}

#[test]
fn every_rule_forbids_something_and_every_word_is_its_own() {
    let mut used = BTreeSet::new();
    each(|_, told| {
        used.extend(told.acts.iter().filter_map(|(_, answer)| rule(answer)));
    });
    assert_eq!(used, BTreeSet::from(Rule::ALL));
    let words: BTreeSet<_> = Rule::ALL.map(Rule::as_str).into();
    assert_eq!(words.len(), Rule::ALL.len());
    let acts: BTreeSet<_> = Act::ALL.map(Act::as_str).into();
    assert_eq!(acts.len(), Act::ALL.len());
}

#[test]
fn the_holder_of_an_order_is_named() {
    let other = payment();
    let facts = ExplainFacts {
        state: &PaymentState::Closed,
        live: false,
        start_before: NOW,
        send_before: None,
        permits_used: 0,
        attend_by: None,
        order_state: OrderState::AwaitingPayment,
        other_live: Some(&other),
        declined_finally: false,
        open_reviews: &[],
        now: NOW,
    };
    let told = format!("{:?}", of(&explain(&facts), Act::PayWithAnotherIntent));
    assert!(told.contains(other.as_str()), "{told}");
}
