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
    }
}

fn facts(policy: &Policy, rungs_done: u32) -> Facts<'_> {
    Facts { policy, rungs_done, proven: None, now: UnixMillis(10_000) }
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
fn no_state_but_created_and_unknown_ever_charges() {
    for policy in [policy(true, true, true), policy(false, true, false)] {
        for (name, state) in crate::state_page::states() {
            for rungs_done in 0..30 {
                let action = view(state.clone()).next_action(&facts(&policy, rungs_done));
                let charges = matches!(action, Action::Charge { .. });
                assert!(!charges || matches!(name, "Created" | "Unknown"), "{name} charges");
            }
        }
    }
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
