use super::*;
use crate::channel::LookupKind;
use crate::ids::{ClaimToken, IdempotencyKey, MerchantId, PaymentId};
use crate::payment::FailureClass;

fn policy(lookup: bool, idempotent: bool, refuses: bool) -> Policy {
    Policy {
        capabilities: Capabilities {
            idempotent_for: idempotent.then_some(DAY),
            lookup: lookup.then_some(LookupKind::Complete),
            refuses_known_reference: refuses,
            close: true,
            grace: Duration::from_secs(2),
            call_limit: Duration::from_secs(5),
        },
        ladder_ms: DEFAULT_LADDER_MS.to_vec(),
        awaiting_payer_ms: DEFAULT_AWAITING_PAYER_MS.to_vec(),
    }
}

fn view(state: PaymentState) -> PaymentView {
    let merchant = MerchantId::parse("acme").expect("valid");
    let key = IdempotencyKey::parse("k").expect("valid");
    PaymentView {
        payment: PaymentId::of(&merchant, &key),
        state,
        version: 1,
        permits_used: 0,
        start_before: UnixMillis(60_000),
        order_state: OrderState::AwaitingPayment,
        review: None,
        claim: None,
        goods_held: false,
        rebuilt_at: None,
        risk_accepted: false,
    }
}

fn facts(policy: &Policy, rungs_done: u32) -> Facts<'_> {
    Facts {
        policy,
        rungs_done,
        proven: None,
        open: false,
        close_asked: false,
        closes_tried: 0,
        repeat_refused: false,
        now: UnixMillis(10_000),
    }
}

#[test]
fn an_unknown_outcome_is_looked_up_along_the_ladder_and_then_a_person_is_asked() {
    let policy = policy(true, true, true);
    let unknown = view(PaymentState::Unknown);
    for (done, wait) in DEFAULT_LADDER_MS.into_iter().enumerate() {
        let done = u32::try_from(done).expect("small");
        let expected =
            Action::Lookup { wait: Duration::from_millis(wait), number: done + 1, of: Some(6) };
        assert_eq!(unknown.next_action(&facts(&policy, done)), expected);
    }
    let ended = Action::Settle { event: PaymentEvent::LadderEnded, token: None };
    assert_eq!(unknown.next_action(&facts(&policy, 6)), ended);
}

#[test]
fn a_channel_that_can_neither_repeat_nor_look_up_asks_a_person_at_once() {
    let policy = policy(false, false, true);
    let action = view(PaymentState::Unknown).next_action(&facts(&policy, 0));
    assert_eq!(action, Action::Settle { event: PaymentEvent::LadderEnded, token: None });
}

#[test]
fn without_lookup_an_idempotent_channel_is_asked_by_the_same_request_at_most_three_times() {
    let policy = policy(false, true, false);
    let mut unknown = view(PaymentState::Unknown);
    let first = unknown.next_action(&facts(&policy, 0));
    assert_eq!(first, Action::Charge { wait: Duration::from_secs(1) });
    unknown.permits_used = MAX_PERMITS;
    let ended = Action::Settle { event: PaymentEvent::LadderEnded, token: None };
    assert_eq!(unknown.next_action(&facts(&policy, 3)), ended);
}

#[test]
fn a_proof_leads_to_another_charge_only_where_safe_and_in_time() {
    let token = ClaimToken::of("run", 1);
    let proven = Proven { proof: NotExecutedProof::LookupAfterGrace, token: token.clone() };
    let not_executed = Action::Settle {
        event: PaymentEvent::NotExecuted { proof: NotExecutedProof::LookupAfterGrace },
        token: Some(token),
    };
    let charge = Action::Charge { wait: Duration::ZERO };
    let (safe, unsafe_) = (policy(true, false, true), policy(true, false, false));
    let mut unknown = view(PaymentState::Unknown);
    let with =
        |policy, now| Facts { proven: Some(&proven), now: UnixMillis(now), ..facts(policy, 1) };
    assert_eq!(unknown.next_action(&with(&safe, 59_999)), charge);
    assert_eq!(unknown.next_action(&with(&safe, 60_000)), not_executed);
    assert_eq!(unknown.next_action(&with(&unsafe_, 0)), not_executed);
    let refused = Facts { repeat_refused: true, ..with(&safe, 0) };
    assert_eq!(unknown.next_action(&refused), not_executed);
    unknown.permits_used = MAX_PERMITS;
    assert_eq!(unknown.next_action(&with(&safe, 0)), not_executed);
}

#[test]
fn goods_leave_only_for_money_that_paid_the_order() {
    let policy = policy(true, true, true);
    let example = crate::state_page::states().into_iter().find_map(|(_, s)| s.money().cloned());
    let money = example.expect("an example holds money");
    let mut paid = view(PaymentState::Persisted { money: money.clone(), effect: Effect::Applied });
    paid.order_state = OrderState::Paid;
    assert_eq!(paid.next_action(&facts(&policy, 0)), Action::Fulfil);
    paid.order_state = OrderState::Fulfilled;
    assert_eq!(paid.next_action(&facts(&policy, 0)), Action::Done);
    for effect in [Effect::Surplus, Effect::Late] {
        let mut other = view(PaymentState::Persisted { money: money.clone(), effect });
        other.order_state = OrderState::Paid;
        assert_eq!(other.next_action(&facts(&policy, 0)), Action::Done);
    }
    let failed = view(PaymentState::Failed { class: FailureClass::Declined });
    assert_eq!(failed.next_action(&facts(&policy, 0)), Action::Done);
}

#[test]
fn no_state_but_created_and_unknown_ever_charges_where_the_channel_can_be_asked() {
    for lookup in [true, false] {
        let policy = policy(lookup, true, true);
        for (name, state) in crate::state_page::states() {
            for (rungs_done, open) in (0..30).flat_map(|done| [(done, true), (done, false)]) {
                let facts = Facts { open, now: UnixMillis(0), ..facts(&policy, rungs_done) };
                let charges =
                    matches!(view(state.clone()).next_action(&facts), Action::Charge { .. });
                let to_learn = name == "AwaitingPayer" && !lookup;
                let may = matches!(name, "Created" | "Unknown") || to_learn;
                assert!(!charges || may, "{name} charges");
            }
        }
    }
}

#[test]
fn an_accepted_risk_is_taken_while_the_outcome_is_in_question_and_nowhere_else() {
    let policy = policy(true, true, true);
    for (name, state) in crate::state_page::states() {
        let accepted = PaymentView { risk_accepted: true, ..view(state) };
        let charges = matches!(accepted.next_action(&facts(&policy, 0)), Action::Charge { .. });
        let may = name == "Created" || name.starts_with("ManualReview");
        assert_eq!(charges, may, "{name}");
    }
}

#[test]
fn what_somebody_asked_to_close_is_never_sent_again() {
    let token = ClaimToken::of("run", 1);
    let proven = Proven { proof: NotExecutedProof::LookupAfterGrace, token };
    for (lookup, idempotent) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut policy = policy(lookup, idempotent, true);
        for close in [true, false] {
            policy.capabilities.close = close;
            for (name, state) in crate::state_page::states() {
                for (open, proven) in [(true, None), (false, Some(&proven)), (false, None)] {
                    let base = facts(&policy, 0);
                    let facts = Facts { open, proven, close_asked: true, ..base };
                    let action = view(state.clone()).next_action(&facts);
                    let charges = matches!(action, Action::Charge { .. });
                    assert!(!charges || name == "Created", "{name}: {action:?}");
                }
            }
        }
    }
}

#[test]
fn an_open_object_after_a_lost_answer_is_sent_again_or_closed() {
    let unknown = view(PaymentState::Unknown);
    let open = |policy| Facts { open: true, ..facts(policy, 1) };
    let close = Action::Close { wait: Duration::ZERO };
    let (repeats, cannot) = (policy(true, true, true), policy(true, false, true));
    assert_eq!(unknown.next_action(&open(&repeats)), Action::Charge { wait: Duration::ZERO });
    assert_eq!(unknown.next_action(&open(&cannot)), close);
    // The payer has left: nothing new is shown to nobody.
    let late = Facts { now: UnixMillis(60_000), ..open(&repeats) };
    assert_eq!(unknown.next_action(&late), close);
    // The channel did not say that it is closed: looked up further.
    let tried = Facts { closes_tried: 1, ..open(&cannot) };
    assert!(matches!(unknown.next_action(&tried), Action::Lookup { number: 2, .. }));
}

#[test]
fn an_open_payment_is_looked_up_until_its_end_and_then_closed() {
    let action = crate::state_page::states().into_iter().find(|(name, _)| *name == "AwaitingPayer");
    let PaymentState::AwaitingPayer { action, .. } = action.expect("an example").1 else {
        panic!("an open payment")
    };
    let shown = view(PaymentState::AwaitingPayer { action, pay_before: UnixMillis(20_000) });
    let ms = Duration::from_millis;
    let lookup = |wait, number| Action::Lookup { wait: ms(wait), number, of: None };
    let asks = policy(true, true, true);
    // The end is at 20 s, the grace 2 s, the clocks 1 s.
    assert_eq!(shown.next_action(&facts(&asks, 0)), lookup(5_000, 1));
    assert_eq!(shown.next_action(&facts(&asks, 1)), lookup(13_000, 2));
    let late = |policy, done| Facts { now: UnixMillis(23_000), ..facts(policy, done) };
    assert_eq!(shown.next_action(&late(&asks, 1)), lookup(30_000, 2));
    let resend = policy(false, true, true);
    assert_eq!(shown.next_action(&facts(&resend, 0)), Action::Charge { wait: ms(5_000) });
    assert_eq!(shown.next_action(&facts(&resend, 1)), Action::Close { wait: ms(13_000) });
    assert_eq!(shown.next_action(&late(&resend, 0)), Action::Close { wait: ms(0) });
    let tried = Facts { closes_tried: 1, ..late(&resend, 0) };
    assert_eq!(shown.next_action(&tried), Action::Close { wait: ms(5_000) });
    let blind = policy(false, false, true);
    assert_eq!(shown.next_action(&facts(&blind, 0)), Action::Close { wait: ms(13_000) });
    // "Open" for ever, and it cannot be closed: a person.
    let mut for_ever = policy(true, true, true);
    for_ever.capabilities.close = false;
    let open = Facts { open: true, ..late(&for_ever, 5) };
    let ended = Action::Settle { event: PaymentEvent::LadderEnded, token: None };
    assert_eq!(shown.next_action(&open), ended);
    let asked = Facts { close_asked: true, ..facts(&asks, 0) };
    assert_eq!(shown.next_action(&asked), Action::Close { wait: ms(0) });
}

/// What the payer could do is over, and no lookup says what they did.
#[test]
fn an_open_payment_of_which_nothing_is_learned_after_its_end_goes_to_a_person() {
    let action = crate::state_page::states().into_iter().find(|(name, _)| *name == "AwaitingPayer");
    let PaymentState::AwaitingPayer { action, .. } = action.expect("an example").1 else {
        panic!("an open payment")
    };
    let shown = view(PaymentState::AwaitingPayer { action, pay_before: UnixMillis(20_000) });
    let ended = Action::Settle { event: PaymentEvent::LadderEnded, token: None };
    // The end is at 23 s; then as long as a lost answer is looked up: 2143 s.
    for (close, after) in [(true, Action::Close { wait: Duration::ZERO }), (false, ended.clone())] {
        let mut asks = policy(true, true, true);
        asks.capabilities.close = close;
        let at = |now, done| Facts { now: UnixMillis(now), ..facts(&asks, done) };
        let looks = |facts: Facts<'_>| matches!(shown.next_action(&facts), Action::Lookup { .. });
        assert!(looks(at(2_166_999, 9)));
        assert_eq!(shown.next_action(&at(2_167_000, 9)), after);
        let tried = Facts { closes_tried: 1, ..at(2_167_000, 10) };
        assert_eq!(shown.next_action(&tried), ended);
        // A run that has not looked yet looks first.
        assert!(looks(at(2_167_000, 0)));
    }
}

#[test]
fn goods_do_not_leave_while_a_review_holds_them() {
    let policy = policy(true, true, true);
    let example = crate::state_page::states().into_iter().find_map(|(_, s)| s.money().cloned());
    let money = example.expect("an example holds money");
    let mut paid = view(PaymentState::Persisted { money, effect: Effect::Applied });
    paid.order_state = OrderState::Paid;
    paid.goods_held = true;
    assert_eq!(paid.next_action(&facts(&policy, 0)), Action::Done);
}

#[test]
fn a_running_claim_of_another_sender_becomes_a_question() {
    let policy = policy(true, true, true);
    let state = PaymentState::Processing { token: ClaimToken::of("run", 1) };
    let action = view(state).next_action(&facts(&policy, 0));
    assert!(matches!(
        action,
        Action::Settle { event: PaymentEvent::AnswerLost { .. }, token: None }
    ));
}
