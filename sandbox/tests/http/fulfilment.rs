//! The merchant's side: the same key is the same goods, handed over once.

use serde_json::{Value, json};

use crate::client::{Heard, Request};
use crate::process::Sandbox;

fn fulfil(sandbox: &Sandbox, amount: u64) -> Request {
    let body = json!({ "merchant": "tea-shop", "order": "ord_1", "payment": "pay_1",
        "amount": amount, "currency": "CNY" });
    let request = Request::plain(&sandbox.fulfilment, "POST", "/fulfilments", &body);
    request.header("Idempotency-Key", "pay_1")
}

fn set(sandbox: &Sandbox, fault: &Value) {
    let wanted = json!({ "match": { "order": "ord_1" }, "operation": "fulfil", "fault": fault });
    assert_eq!(sandbox.admin("POST", "/admin/faults", &wanted).status, 201);
}

#[test]
fn a_repeat_is_answered_like_the_first_and_counted() {
    let sandbox = Sandbox::start();
    let first = fulfil(&sandbox, 1999).reply().json();
    let second = fulfil(&sandbox, 1999).reply().json();
    assert_eq!(first["fulfilment"], second["fulfilment"]);
    assert_eq!((&first["replayed"], &second["replayed"]), (&json!(false), &json!(true)));
    assert_eq!(fulfil(&sandbox, 2000).reply().status, 422);
    let fulfilments = &sandbox.truth()["fulfilments"];
    assert_eq!(fulfilments.as_array().unwrap().len(), 1);
    assert_eq!(
        (&fulfilments[0]["times_received"], &fulfilments[0]["key"]),
        (&json!(2), &json!("pay_1"))
    );
    let mut without_key = fulfil(&sandbox, 1999);
    without_key.headers.clear();
    assert_eq!(without_key.reply().status, 400);
}

#[test]
fn faults_strike_here_too() {
    let sandbox = Sandbox::start();
    set(&sandbox, &json!({ "kind": "refused" }));
    let reply = fulfil(&sandbox, 1999).reply();
    assert_eq!((reply.status, &reply.json()["error"]), (409, &json!("cannot_fulfil")));
    set(&sandbox, &json!({ "kind": "error_before_commit" }));
    assert_eq!(fulfil(&sandbox, 1999).reply().status, 500);
    set(&sandbox, &json!({ "kind": "timeout_before_commit" }));
    assert!(matches!(fulfil(&sandbox, 1999).patience(100).send(), Heard::Silence));
    assert_eq!(sandbox.truth()["fulfilments"], json!([]));
    set(&sandbox, &json!({ "kind": "timeout_after_commit" }));
    assert!(matches!(fulfil(&sandbox, 1999).patience(300).send(), Heard::Silence));
    set(&sandbox, &json!({ "kind": "error_after_commit", "status": 503 }));
    assert_eq!(fulfil(&sandbox, 1999).reply().status, 503);
    set(&sandbox, &json!({ "kind": "delay", "ms": 10 }));
    assert_eq!(fulfil(&sandbox, 1999).reply().json()["replayed"], true);
    assert_eq!(sandbox.truth()["fulfilments"][0]["times_received"], 3);
}
