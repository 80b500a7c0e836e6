//! Records with everything in them, as the store would read them.

use chrono::{DateTime, Utc};
use domain::{ChoiceKind, OperatorName, WhyNot};
use serde_json::json;
use store::explained::RecordedEvent;
use store::reads::{OrderItem, OrderPayment, OrderRecord, ReviewRecord};
use store::reviews::{ProposalRecord, ReviewDetail};
use store::trace::{
    OrderEvent, OrderTrace, TracedExchange, TracedFact, TracedOutbox, TracedPayment, TracedReview,
};

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_700_000_000_123).expect("valid")
}

fn id(prefix: &str) -> String {
    format!("{prefix}{}", "a".repeat(26))
}

fn own(text: &str) -> String {
    text.to_owned()
}

pub(super) fn order() -> OrderRecord {
    OrderRecord {
        id: id("ord_"),
        merchant: own("acme"),
        state: own("AwaitingPayment"),
        currency: own("CNY"),
        goods_total: 1_999,
        discount: 0,
        freight: 0,
        payable: 1_999,
        coupon: Some(own("TEN")),
        paid_by: Some(id("pay_")),
        close_at: at(),
        created_at: at(),
        items: vec![OrderItem {
            sku: own("tea"),
            name: own("Tea"),
            quantity: 1,
            unit_price: 1_999,
            line_total: 1_999,
        }],
        payments: vec![OrderPayment { id: id("pay_"), state: own("Unknown"), created_at: at() }],
    }
}

pub(super) fn review() -> (ReviewRecord, ReviewDetail) {
    let review = ReviewRecord {
        id: id("rev_"),
        payment: id("pay_"),
        merchant: own("acme"),
        key: own("k1"),
        order: id("ord_"),
        amount: 1_999,
        currency: own("CNY"),
        channel: own("sandbox"),
        account: own("main"),
        reference: id(""),
        payment_state: own("ManualReview"),
        reason: own("outcome_unknown"),
        state: own("Open"),
        version: 1,
        opened_at: at(),
        remind_at: at(),
        ended_at: Some(at()),
        choice: Some(json!({ "kind": "confirm_not_paid" })),
        decided_by: Some(own("alice")),
        decision_reason: Some(own("seen")),
        proposed_by: vec![own("bob")],
        money_transaction: Some(own("sbx_1")),
        money_amount: Some(1_999),
        money_currency: Some(own("CNY")),
    };
    let detail = ReviewDetail {
        choices: vec![
            (ChoiceKind::ConfirmPaid, Ok(())),
            (ChoiceKind::ResubmitSameKey, Err(WhyNot::NotLive)),
        ],
        proposals: vec![ProposalRecord {
            decision: own("d-1"),
            operator: own("bob"),
            choice: json!({ "kind": "confirm_paid" }),
            reason: own("seen"),
            at: at(),
        }],
        started_by: OperatorName::parse("carol").ok(),
        authenticated: Some(true),
    };
    (review, detail)
}

pub(super) fn trace() -> OrderTrace {
    let payment = id("pay_");
    OrderTrace {
        order: order(),
        payments: vec![traced_payment()],
        order_events: vec![OrderEvent {
            sequence: 2,
            from_state: own("AwaitingPayment"),
            to_state: own("Paid"),
            actor: own("lookup"),
            payment: Some(payment.clone()),
            cause: json!({ "event": "evt" }),
            at: at(),
        }],
        events: vec![RecordedEvent {
            payment: payment.clone(),
            sequence: 1,
            kind: own("answer_lost"),
            from_state: own("Processing"),
            to_state: own("Unknown"),
            actor: own("charge"),
            cause: json!({ "why": "timed_out" }),
            at: at(),
        }],
        exchanges: vec![TracedExchange {
            payment: payment.clone(),
            operation: own("charge"),
            started_at: at(),
            duration_ms: 5,
            outcome: own("timed_out"),
            transaction: Some(own("sbx_1")),
        }],
        facts: vec![TracedFact {
            payment: payment.clone(),
            transaction: own("sbx_1"),
            amount: 1_999,
            currency: own("CNY"),
            disposition: own("Applied"),
            source: own("lookup"),
            recorded_at: at(),
        }],
        reviews: vec![TracedReview {
            id: id("rev_"),
            payment: payment.clone(),
            reason: own("outcome_unknown"),
            state: own("Decided"),
            version: 2,
            opened_at: at(),
            remind_at: at(),
            ended_at: Some(at()),
            choice: Some(json!({ "kind": "confirm_not_paid" })),
            decided_by: Some(own("alice")),
            decision_reason: Some(own("seen")),
        }],
        outbox: vec![TracedOutbox {
            payment,
            sequence: 1,
            kind: own("payment.Unknown"),
            created_at: at(),
        }],
        truncated: false,
    }
}

fn traced_payment() -> TracedPayment {
    TracedPayment {
        id: id("pay_"),
        merchant: own("acme"),
        key: own("k1"),
        amount: 1_999,
        currency: own("CNY"),
        channel: own("sandbox"),
        account: own("main"),
        reference: id(""),
        state: own("Unknown"),
        live: true,
        version: 3,
        start_before: at(),
        first_sent_at: Some(at()),
        send_before: Some(at()),
        permits_used: 1,
        not_found_at: None,
        pay_before: None,
        transaction: Some(own("sbx_1")),
        effect: None,
        failure: None,
        review_reason: None,
        attend_by: Some(at()),
        rebuilt: false,
        created_at: at(),
        updated_at: at(),
    }
}
