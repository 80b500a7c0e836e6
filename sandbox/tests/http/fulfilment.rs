//! The merchant's side: the same key is the same goods, handed over once.

use serde_json::{Value, json};

use crate::client::{Heard, Request};
use crate::process::{Sandbox, until};

fn goods() -> Value {
    json!({ "merchant": "tea-shop", "order": "ord_1", "payment": "pay_1", "amount": 1999,
        "currency": "CNY" })
}

fn fulfil_of(sandbox: &Sandbox, key: &str, goods: &Value) -> Request {
    let request = Request::plain(&sandbox.fulfilment, "POST", "/fulfilments", goods);
    request.header("Idempotency-Key", key)
}

fn fulfil(sandbox: &Sandbox) -> Request {
    fulfil_of(sandbox, "pay_1", &goods())
}

fn set(sandbox: &Sandbox, fault: &Value) {
    let matches = json!({ "order": "ord_1" });
    sandbox.add_fault(&json!({ "match": matches, "operation": "fulfil", "fault": fault }));
}

/// How often the goods were asked for and handed over.
fn received(sandbox: &Sandbox) -> u64 {
    sandbox.truth()["fulfilments"][0]["times_received"].as_u64().unwrap_or_default()
}

#[test]
fn a_repeat_is_answered_like_the_first_and_counted() {
    let sandbox = Sandbox::start();
    let first = fulfil(&sandbox).reply();
    assert_eq!((first.status, first.is_signed()), (200, false));
    assert_eq!(sandbox.last_request()["outcome"], "fulfilled");
    let second = fulfil(&sandbox).reply().json();
    assert_eq!(sandbox.last_request()["outcome"], "replayed");
    let first = first.json();
    assert!(first["fulfilment"].as_str().unwrap().starts_with("ful_"));
    assert_eq!(first["fulfilment"], second["fulfilment"]);
    assert_eq!((&first["replayed"], &second["replayed"]), (&json!(false), &json!(true)));
    let truth = sandbox.truth();
    let fulfilments = truth["fulfilments"].as_array().unwrap();
    assert_eq!(fulfilments.len(), 1);
    let mut expected = goods();
    expected["fulfilment"] = first["fulfilment"].clone();
    expected["key"] = json!("pay_1");
    expected["times_received"] = json!(2);
    expected["first_at"] = fulfilments[0]["first_at"].clone();
    assert_eq!(fulfilments[0], expected);
    let last = sandbox.last_request();
    let listed = (&last["operation"], &last["account"], &last["reference"]);
    assert_eq!(listed, (&json!("fulfil"), &Value::Null, &json!("pay_1")));
}

#[test]
fn a_key_stands_for_its_goods_in_every_field() {
    let sandbox = Sandbox::start();
    assert_eq!(fulfil(&sandbox).reply().status, 200);
    for (field, value) in [
        ("merchant", json!("other")),
        ("order", json!("other")),
        ("payment", json!("other")),
        ("amount", json!(2000)),
        ("currency", json!("USD")),
    ] {
        let mut other = goods();
        other[field] = value;
        let reply = fulfil_of(&sandbox, "pay_1", &other).reply();
        assert_eq!((reply.status, &reply.json()["error"]), (422, &json!("key_reused")), "{field}");
    }
    assert_eq!(received(&sandbox), 1);
    // Another key is another handing over.
    let reply = fulfil_of(&sandbox, "pay_2", &goods()).reply().json();
    assert_eq!(reply["replayed"], false);
    assert_eq!(sandbox.truth()["fulfilments"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_that_come_together_hand_over_once() {
    let sandbox = Sandbox::start();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert_eq!(fulfil(&sandbox).reply().status, 200));
        }
    });
    assert_eq!(sandbox.truth()["fulfilments"].as_array().unwrap().len(), 1);
    assert_eq!(received(&sandbox), 10);
}

#[test]
fn a_request_that_breaks_a_rule_is_refused() {
    let sandbox = Sandbox::start();
    let long = "k".repeat(255);
    assert_eq!(fulfil_of(&sandbox, &long, &goods()).reply().status, 200);
    assert_eq!(sandbox.last_request()["reference"], "k".repeat(64));
    let mut without_amount = goods();
    without_amount.as_object_mut().unwrap().remove("amount");
    let mut surprise = goods();
    surprise["surprise"] = json!(1);
    let mut text = goods();
    text["amount"] = json!("1999");
    for request in [
        fulfil(&sandbox).without("Idempotency-Key"),
        fulfil_of(&sandbox, "", &goods()),
        fulfil_of(&sandbox, &"k".repeat(256), &goods()),
        fulfil_of(&sandbox, "k", &without_amount),
        fulfil_of(&sandbox, "k", &surprise),
        fulfil_of(&sandbox, "k", &text),
        fulfil_of(&sandbox, "k", &Value::Null),
    ] {
        let reply = request.reply();
        assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("invalid_request")));
    }
    let huge = json!("x".repeat(65_536));
    assert_eq!(fulfil_of(&sandbox, "k", &huge).reply().status, 413);
    assert_eq!(sandbox.truth()["fulfilments"].as_array().unwrap().len(), 1);
}

#[test]
fn faults_that_answer_strike_here_too() {
    let sandbox = Sandbox::start();
    set(&sandbox, &json!({ "kind": "refused" }));
    let mut other = goods();
    other["order"] = json!("ord_2");
    assert_eq!(fulfil_of(&sandbox, "pay_2", &other).reply().status, 200, "not matched");
    let reply = fulfil(&sandbox).reply();
    assert_eq!((reply.status, &reply.json()["error"]), (409, &json!("cannot_fulfil")));
    set(&sandbox, &json!({ "kind": "error_before_commit" }));
    let reply = fulfil(&sandbox).reply();
    assert_eq!(reply.status, 500);
    assert!(reply.headers["content-type"].starts_with("text/html"));
    assert_eq!(sandbox.truth()["fulfilments"].as_array().unwrap().len(), 1);
    let json = json!({ "kind": "error_after_commit", "status": 503, "body": "json" });
    set(&sandbox, &json);
    let reply = fulfil(&sandbox).reply();
    assert_eq!((reply.status, &reply.json()["error"]), (503, &json!("internal_error")));
    assert_eq!(fulfil(&sandbox).reply().json()["replayed"], true, "it was executed");
    // A header sets no fault here.
    let own = fulfil(&sandbox).fault(&json!({ "kind": "refused" }));
    assert_eq!(own.reply().status, 200);
}

#[test]
fn faults_of_silence_strike_here_too() {
    let sandbox = Sandbox::start();
    for (after, outcome) in [(false, "not_executed"), (true, "fulfilled")] {
        let kind = if after { "timeout_after_commit" } else { "timeout_before_commit" };
        set(&sandbox, &json!({ "kind": kind }));
        let line = fulfil(&sandbox).patience(100).open();
        sandbox.until_fault(kind);
        sandbox.until_outcome(outcome);
        assert!(matches!(line.hear(), Heard::Silence));
        assert_eq!(received(&sandbox), u64::from(after));
    }
    for (after_commit, times) in [(false, 1), (true, 2)] {
        set(&sandbox, &json!({ "kind": "drop_connection", "after_commit": after_commit }));
        assert!(matches!(fulfil(&sandbox).send(), Heard::Closed));
        assert_eq!(received(&sandbox), times);
    }
}

#[test]
fn faults_of_time_strike_here_too() {
    let sandbox = Sandbox::start();
    set(&sandbox, &json!({ "kind": "pause_before_commit", "ms": 1_000 }));
    let line = fulfil(&sandbox).open();
    sandbox.until_fault("pause_before_commit");
    drop(line);
    until("it is executed without its client", || received(&sandbox) == 1);
    set(&sandbox, &json!({ "kind": "delay", "ms": 10 }));
    assert_eq!(fulfil(&sandbox).reply().json()["replayed"], true);
    assert_eq!(received(&sandbox), 2);
}
