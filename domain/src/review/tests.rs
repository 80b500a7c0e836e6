use super::*;
use crate::audit::Evidence;
use crate::ids::ChannelTransactionId;
use crate::payment::{ConfirmedMoney, Effect};

fn yuan(amount: u64) -> Money {
    Money::new(amount, Currency::parse("CNY").expect("known")).expect("small")
}

fn evidence() -> Evidence {
    Evidence::parse("line 4").expect("valid")
}

fn paid(transaction: &str) -> Choice {
    Choice::ConfirmPaid {
        transaction: number(transaction),
        money: yuan(1999),
        evidence: evidence(),
    }
}

fn number(text: &str) -> ChannelTransactionId {
    ChannelTransactionId::parse(text).expect("valid")
}

fn name(text: &str) -> OperatorName {
    OperatorName::parse(text).expect("valid")
}

/// A lost answer, everything else as it should be.
fn lost() -> ReviewFacts {
    ReviewFacts {
        reason: ReviewReason::OutcomeUnknown,
        open: true,
        payment: PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown },
        money: yuan(1999),
        live: true,
        order: OrderState::AwaitingPayment,
        permits_used: 0,
        claim_is_running: false,
        money_is_known: false,
    }
}

/// A payment that holds `t1`, with a review of this reason.
fn holding(reason: ReviewReason) -> ReviewFacts {
    let money = ConfirmedMoney { transaction: number("t1"), amount: yuan(1999) };
    ReviewFacts {
        reason,
        payment: PaymentState::Persisted { money, effect: Effect::Applied },
        money_is_known: true,
        order: OrderState::Fulfilled,
        ..lost()
    }
}

/// Kind by kind, in the order of [`ChoiceKind::ALL`].
fn said(facts: &ReviewFacts) -> Vec<&'static str> {
    choices(facts).into_iter().map(|(_, may)| may.map_or_else(WhyNot::as_str, |()| "ok")).collect()
}

#[test]
fn a_lost_answer_may_be_decided_each_way() {
    assert_eq!(said(&lost()), ["ok", "ok", "ok"]);
}

#[test]
fn each_fact_forbids_what_it_must() {
    let table = [
        (ReviewFacts { open: false, ..lost() }, ["review_ended"; 3]),
        (
            ReviewFacts { order: OrderState::Paid, ..lost() },
            ["ok", "ok", "order_not_awaiting_payment"],
        ),
        (ReviewFacts { live: false, ..lost() }, ["ok", "ok", "not_live"]),
        (ReviewFacts { permits_used: MAX_PERMITS, ..lost() }, ["ok", "ok", "permits_used_up"]),
        (ReviewFacts { claim_is_running: true, ..lost() }, ["ok", "ok", "request_under_way"]),
        (
            ReviewFacts { money_is_known: true, ..lost() },
            ["needs_refund", "money_known", "money_known"],
        ),
        (
            ReviewFacts {
                payment: PaymentState::ManualReview { reason: ReviewReason::AmountMismatch },
                ..lost()
            },
            ["ok", "money_known", "money_known"],
        ),
        (
            ReviewFacts { reason: ReviewReason::PayerActionAfterEnd, ..lost() },
            ["not_in_question"; 3],
        ),
        (ReviewFacts { payment: PaymentState::Closed, ..lost() }, ["not_in_question"; 3]),
    ];
    for (facts, expected) in table {
        assert_eq!(said(&facts), expected, "{facts:?}");
    }
}

#[test]
fn what_needs_a_refund_has_no_choice_yet_and_says_so() {
    use ReviewReason as R;
    for reason in [R::SurplusMoney, R::LateMoney, R::SecondTransaction, R::AmountMismatch] {
        assert_eq!(said(&holding(reason)), ["needs_refund"; 3], "{reason:?}");
    }
}

#[test]
fn money_that_the_channel_denied_is_confirmed_by_its_own_number_only() {
    for reason in [ReviewReason::DeclinedAfterMoney, ReviewReason::ClosedAfterMoney] {
        let facts = holding(reason);
        assert_eq!(said(&facts), ["ok", "money_known", "money_known"]);
        assert_eq!(check(&paid("t1"), &facts, true), Ok(()));
        assert_eq!(check(&paid("t2"), &facts, false), Err(WhyNot::OtherTransaction));
    }
}

#[test]
fn an_earlier_request_took_other_money_or_none() {
    let facts = holding(ReviewReason::EarlierRequestUnknown);
    assert_eq!(said(&facts), ["ok", "ok", "money_known"]);
    assert_eq!(check(&paid("t2"), &facts, false), Ok(()));
    assert_eq!(check(&paid("t1"), &facts, true), Err(WhyNot::TransactionKnown));
}

#[test]
fn paid_means_the_payments_amount_under_a_number_that_nobody_has() {
    assert_eq!(check(&paid("t1"), &lost(), false), Ok(()));
    assert_eq!(check(&paid("t1"), &lost(), true), Err(WhyNot::TransactionKnown));
    let other = ReviewFacts { money: yuan(2000), ..lost() };
    assert_eq!(check(&paid("t1"), &other, false), Err(WhyNot::AmountDiffers));
}

#[test]
fn above_the_limit_two_people_choose_the_same() {
    let four_eyes: FourEyes = "CNY:1000".parse().expect("limits");
    let (alice, bob) = (name("alice"), name("bob"));
    let by = |name| Decider { name, proof: Proof::Proved, started_by: None };
    let proposed = |by: &OperatorName, choice| Proposal { by: by.clone(), choice };
    let weigh = |choice: &Choice, who, money, proposals: &[Proposal]| {
        weigh(choice, &by(who), &four_eyes, yuan(money), proposals)
    };
    let choice = paid("t1");
    assert_eq!(weigh(&choice, &alice, 1000, &[]), Ok(Weight::Decides));
    assert_eq!(weigh(&choice, &alice, 1001, &[]), Ok(Weight::Proposes));
    let own = [proposed(&alice, choice.clone())];
    assert_eq!(weigh(&choice, &alice, 1001, &own), Ok(Weight::Proposes), "once is not twice");
    assert_eq!(weigh(&choice, &bob, 1001, &own), Ok(Weight::Decides));
    assert_eq!(weigh(&paid("t2"), &bob, 1001, &own), Ok(Weight::Proposes), "another number");
    let not_paid = Choice::ConfirmNotPaid { evidence: evidence() };
    assert_eq!(weigh(&not_paid, &bob, 1001, &own), Ok(Weight::Proposes), "another choice");
    let other_words = Choice::ConfirmNotPaid { evidence: Evidence::parse("b").expect("valid") };
    let own = [proposed(&alice, other_words)];
    assert_eq!(weigh(&not_paid, &bob, 1001, &own), Ok(Weight::Decides), "evidence may differ");
}

#[test]
fn an_unproved_name_only_confirms_money_below_the_limit() {
    let four_eyes: FourEyes = "CNY:1000".parse().expect("limits");
    let alice = name("alice");
    let typed = Decider { name: &alice, proof: Proof::Unproved, started_by: None };
    let weigh = |choice: &Choice, money| weigh(choice, &typed, &four_eyes, yuan(money), &[]);
    assert_eq!(weigh(&paid("t1"), 1000), Ok(Weight::Decides));
    assert_eq!(weigh(&paid("t1"), 1001), Err(WhyNot::Unauthenticated));
    for choice in [
        Choice::ConfirmNotPaid { evidence: evidence() },
        Choice::ResubmitSameKey { risk: evidence() },
    ] {
        assert_eq!(weigh(&choice, 1), Err(WhyNot::Unauthenticated));
    }
}

#[test]
fn whoever_started_a_payment_does_not_decide_about_it_whether_proved_or_not() {
    let four_eyes: FourEyes = "CNY:1000".parse().expect("limits");
    let (alice, bob) = (name("alice"), name("bob"));
    for proof in [Proof::Proved, Proof::Unproved] {
        let by = |name| Decider { name, proof, started_by: Some(&alice) };
        let weigh = |who| weigh(&paid("t1"), &by(who), &four_eyes, yuan(1), &[]);
        assert_eq!(weigh(&alice), Err(WhyNot::OwnPayment));
        assert_eq!(weigh(&bob), Ok(Weight::Decides));
    }
}

#[test]
fn a_currency_without_a_limit_always_needs_two() {
    let four_eyes: FourEyes = "CNY:100000, JPY:0".parse().expect("limits");
    let of = |amount, code| {
        four_eyes
            .apply_to(Money::new(amount, Currency::parse(code).expect("known")).expect("small"))
    };
    assert!(!of(100_000, "CNY"));
    assert!(of(100_001, "CNY"));
    assert!(of(1, "JPY"));
    assert!(of(1, "USD"));
    for bad in ["", "CNY", "CNY:", "CNY:-1", "cny:1", "CNY:1,CNY:2", "CNY:1.5"] {
        assert!(bad.parse::<FourEyes>().is_err(), "{bad:?} was taken");
    }
}

#[test]
fn what_may_never_be_chosen_is_never_among_the_choices() {
    for (_, payment) in crate::state_page::states() {
        for reason in ReviewReason::ALL {
            let payment = match payment {
                PaymentState::ManualReview { .. } => PaymentState::ManualReview { reason },
                ref other => other.clone(),
            };
            let never = any_choice(&payment, reason).is_err();
            let facts = |money_is_known| ReviewFacts {
                reason,
                payment: payment.clone(),
                money_is_known: money_is_known || reason == ReviewReason::AmountMismatch,
                ..lost()
            };
            let some = |facts: ReviewFacts| choices(&facts).iter().any(|(_, may)| may.is_ok());
            let ever = some(facts(false)) || some(facts(true));
            assert_eq!(never, !ever, "{payment:?} {reason:?}");
        }
    }
}
