//! Who may speak to the channel, and what it says to those who may not.

use serde_json::{Value, json};

use crate::client::{Request, content};
use crate::process::Sandbox;

#[test]
fn an_unknown_account_is_told_so_without_a_signature() {
    let sandbox = Sandbox::start();
    let reply = sandbox.charge("nobody", "pm_card").reply();
    assert_eq!(reply.status, 401);
    assert!(!reply.headers.contains_key("x-sandbox-signature"));
    assert_eq!(reply.json()["error"], "unknown_account");
    assert_eq!(reply.json()["executed"], Value::Null);
    assert_eq!(sandbox.last_request()["outcome"], "unknown_account");
}

#[test]
fn a_bad_or_old_signature_executes_nothing() {
    let sandbox = Sandbox::start();
    let mut altered = sandbox.charge("main", "pm_card");
    altered.body = altered.body.replace("1999", "1998");
    let old = Request::plain(&sandbox.channel, "POST", "/v1/charges", &content("pm_card"));
    for request in [altered, old.signed_at("main", 1_790_000_000)] {
        let body = request.reply().expect(401);
        assert_eq!((&body["error"], &body["executed"]), (&json!("bad_signature"), &json!(false)));
    }
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn a_request_that_breaks_a_rule_is_refused_for_good() {
    let sandbox = Sandbox::start();
    for (field, value) in [
        ("reference", json!("short")),
        ("amount", json!(0)),
        ("amount", json!("1999")),
        ("currency", json!("cny")),
        ("payment_method", json!("")),
        ("pay_before", json!("tomorrow")),
        ("surprise", json!(1)),
    ] {
        let mut content = content("pm_card");
        content[field] = value;
        let body = sandbox.charge_of("main", &content).reply().expect(400);
        assert_eq!((&body["error"], &body["executed"]), (&json!("invalid_request"), &json!(false)));
    }
    assert_eq!(sandbox.money(), 0);
    let mut huge = content("pm_card");
    huge["description"] = json!("x".repeat(65_536));
    assert_eq!(sandbox.charge_of("main", &huge).reply().status, 413);
}

#[test]
fn both_ports_are_healthy() {
    let sandbox = Sandbox::start();
    for address in [&sandbox.channel, &sandbox.fulfilment] {
        let reply = Request::plain(address, "GET", "/healthz", &Value::Null).reply();
        assert_eq!((reply.status, reply.body.as_slice()), (200, b"ok".as_slice()));
    }
}
