//! Faults that wait for a request: which request they hit, how often, and their limits.

use serde_json::{Value, json};

use crate::client::{REFERENCE, Request, content};
use crate::process::Sandbox;

const OTHER: &str = "00000000000000000000000000";
const OPERATIONS: [&str; 4] = ["charge", "lookup", "close", "fulfil"];

fn refusal(matches: &Value, operation: &str, times: u64) -> Value {
    json!({ "match": matches, "operation": operation, "times": times,
        "fault": { "kind": "refused" } })
}

fn list(sandbox: &Sandbox) -> Value {
    sandbox.admin("GET", "/admin/faults", &Value::Null).json()["faults"].clone()
}

fn charge(sandbox: &Sandbox, account: &str, reference: &str, method: &str) -> u16 {
    let mut content = content(method);
    content["reference"] = json!(reference);
    sandbox.charge_of(account, &content).reply().status
}

#[test]
fn a_fault_counts_down_and_is_gone() {
    let sandbox = Sandbox::start();
    sandbox.add_fault(&refusal(&json!({ "payment_method": "pm_card" }), "charge", 3));
    for remaining in [3, 2, 1] {
        assert_eq!(list(&sandbox)[0]["remaining"], remaining);
        assert_eq!(charge(&sandbox, "again", REFERENCE, "pm_other"), 200, "not matched");
        assert_eq!(charge(&sandbox, "again", REFERENCE, "pm_card"), 503);
    }
    assert_eq!(list(&sandbox), json!([]));
    assert_eq!(charge(&sandbox, "again", REFERENCE, "pm_card"), 200);
    assert_eq!(sandbox.money(), 4);
}

#[test]
fn a_fault_hits_what_agrees_in_every_field() {
    for (matches, hits) in [
        (json!({ "account": "main" }), [true, true, true, false]),
        (json!({ "reference": REFERENCE }), [true, true, false, true]),
        (json!({ "payment_method": "pm_a" }), [true, false, true, true]),
        (json!({ "account": "main", "payment_method": "pm_a" }), [true, false, true, false]),
        (
            json!({ "account": "main", "reference": REFERENCE, "payment_method": "pm_a" }),
            [true, false, false, false],
        ),
        (json!({}), [true; 4]),
    ] {
        let sandbox = Sandbox::start();
        sandbox.add_fault(&refusal(&matches, "charge", 100));
        let requests = [
            ("main", REFERENCE, "pm_a"),
            ("main", REFERENCE, "pm_b"),
            ("main", OTHER, "pm_a"),
            ("blind", REFERENCE, "pm_a"),
        ];
        let hit = requests.map(|(account, reference, method)| {
            charge(&sandbox, account, reference, method) == 503
        });
        // A reference that was charged refuses other content with 422, which is no hit either.
        assert_eq!(hit, hits, "{matches}");
    }
}

#[test]
fn a_lookup_or_close_knows_a_payment_method_through_its_charge() {
    let sandbox = Sandbox::start();
    for operation in ["lookup", "close"] {
        sandbox.add_fault(&refusal(&json!({ "payment_method": "pm_action" }), operation, 1));
    }
    sandbox.lookup("main").reply().expect(404);
    sandbox.charge("main", "pm_action").reply().expect(200);
    sandbox.lookup("main").reply().expect(503);
    sandbox.close("main").reply().expect(503);
    assert_eq!(list(&sandbox), json!([]));
    assert_eq!(sandbox.close("main").reply().expect(200)["status"], "closed");
}

#[test]
fn the_oldest_goes_first_and_a_requests_own_fault_before_all() {
    let sandbox = Sandbox::start();
    for status in [501, 502] {
        sandbox.add_fault(&json!({ "operation": "charge",
            "fault": { "kind": "error_before_commit", "status": status, "body": "json" } }));
    }
    let own = json!({ "kind": "refused" });
    sandbox.charge("main", "pm_card").fault(&own).reply().expect(503);
    assert_eq!(list(&sandbox).as_array().unwrap().len(), 2);
    sandbox.charge("main", "pm_card").reply().expect(501);
    sandbox.charge("main", "pm_card").reply().expect(502);
    sandbox.charge("main", "pm_card").reply().expect(200);
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_request_that_is_refused_uses_no_fault_up() {
    let sandbox = Sandbox::start();
    for operation in ["charge", "lookup"] {
        sandbox.add_fault(&refusal(&json!({}), operation, 1));
    }
    let mut nonsense = content("pm_card");
    nonsense["amount"] = json!(0);
    sandbox.charge_of("main", &nonsense).reply().expect(400);
    sandbox.lookup("blind").reply().expect(405);
    let bad = sandbox.charge("main", "pm_card").header("X-Sandbox-Nonce", "other");
    assert_eq!(bad.reply().status, 401);
    assert_eq!(sandbox.charge("nobody", "pm_card").reply().status, 401);
    assert_eq!(list(&sandbox).as_array().unwrap().len(), 2);
}

#[test]
fn faults_are_listed_as_they_were_set_and_cleared_without_the_truth() {
    let sandbox = Sandbox::start();
    sandbox.charge("main", "pm_card").reply().expect(200);
    for (method, path) in [("DELETE", "/admin/faults"), ("POST", "/admin/reset")] {
        let wanted = json!({ "match": { "account": "main" }, "operation": "lookup", "times": 7,
            "fault": { "kind": "error_after_commit", "status": 503, "body": "json" } });
        let id = sandbox.admin("POST", "/admin/faults", &wanted).json()["id"].clone();
        let listed = list(&sandbox);
        let mut expected = wanted;
        expected.as_object_mut().unwrap().remove("times");
        (expected["id"], expected["remaining"]) = (id, json!(7));
        assert_eq!(listed, json!([expected]));
        assert_eq!(sandbox.admin(method, path, &Value::Null).status, 204);
        assert_eq!(list(&sandbox), json!([]));
        assert_eq!(sandbox.lookup("main").reply().expect(200)["status"], "succeeded");
    }
    assert_eq!(sandbox.money(), 1);
}

/// A fault of each kind, and the operations that it is for.
fn kinds() -> Vec<(Value, &'static [&'static str])> {
    let channel = &OPERATIONS[..3];
    vec![
        (json!({ "kind": "delay", "ms": 0 }), &OPERATIONS),
        (json!({ "kind": "pause_before_commit", "ms": 0 }), &OPERATIONS),
        (json!({ "kind": "timeout_before_commit" }), &OPERATIONS),
        (json!({ "kind": "timeout_after_commit" }), &OPERATIONS),
        (json!({ "kind": "error_before_commit" }), &OPERATIONS),
        (json!({ "kind": "error_after_commit" }), &OPERATIONS),
        (json!({ "kind": "drop_connection", "after_commit": false }), &OPERATIONS),
        (json!({ "kind": "refused" }), &OPERATIONS),
        (json!({ "kind": "not_found" }), &["lookup"]),
        (json!({ "kind": "wrong_amount", "amount": 1 }), &["charge", "lookup"]),
        (json!({ "kind": "wrong_amount", "currency": "USD" }), &["charge", "lookup"]),
        (json!({ "kind": "stays_payable" }), &["charge"]),
        (json!({ "kind": "unsigned" }), channel),
        (json!({ "kind": "unmapped_status", "status": "x" }), channel),
        (json!({ "kind": "maintenance_page" }), &OPERATIONS),
    ]
}

#[test]
fn each_kind_is_taken_for_its_operations_only() {
    let sandbox = Sandbox::start();
    for (fault, allowed) in kinds() {
        for operation in OPERATIONS {
            let wanted = json!({ "operation": operation, "fault": fault });
            let reply = sandbox.admin("POST", "/admin/faults", &wanted);
            let taken = allowed.contains(&operation);
            assert_eq!(reply.status, if taken { 201 } else { 400 }, "{fault} {operation}");
            if !taken {
                assert_eq!(reply.json()["error"], "invalid_fault");
            }
        }
    }
    sandbox.admin("POST", "/admin/reset", &Value::Null);
    // The same rules hold for a header; a fault that cannot be had stops the request.
    for request in [
        sandbox.charge("main", "pm_card").fault(&json!({ "kind": "not_found" })),
        sandbox.close("main").fault(&json!({ "kind": "wrong_amount", "amount": 1 })),
        sandbox.charge("main", "pm_card").fault(&json!({ "kind": "surprise" })),
        sandbox.charge("main", "pm_card").fault(&json!({ "kind": "delay", "ms": 600_001 })),
        sandbox.charge("main", "pm_card").header("X-Sandbox-Fault", "refused"),
    ] {
        let body = request.reply().expect(400);
        assert_eq!((&body["error"], &body["executed"]), (&json!("invalid_fault"), &json!(false)));
    }
    assert_eq!(sandbox.truth()["objects"], json!([]));
}

#[test]
fn a_fault_has_limits() {
    let sandbox = Sandbox::start();
    let with =
        |times: u64, fault: Value| json!({ "operation": "charge", "times": times, "fault": fault });
    let refused = || json!({ "kind": "refused" });
    let word = |len: usize| json!({ "kind": "unmapped_status", "status": "w".repeat(len) });
    let error = |status: u16| json!({ "kind": "error_before_commit", "status": status });
    for (taken, wanted) in [
        (true, with(1_000_000, refused())),
        (false, with(1_000_001, refused())),
        (false, with(0, refused())),
        (true, with(1, json!({ "kind": "delay", "ms": 600_000 }))),
        (false, with(1, json!({ "kind": "delay", "ms": 600_001 }))),
        (false, with(1, json!({ "kind": "pause_before_commit", "ms": 600_001 }))),
        (true, with(1, error(400))),
        (true, with(1, error(599))),
        (false, with(1, error(399))),
        (false, with(1, error(600))),
        (true, with(1, word(64))),
        (false, with(1, word(65))),
        (false, with(1, word(0))),
        (false, with(1, json!({ "kind": "wrong_amount" }))),
        (false, with(1, json!({ "kind": "wrong_amount", "currency": "usd" }))),
        (false, with(1, json!({ "kind": "wrong_amount", "currency": "EURO" }))),
        (false, with(1, json!({ "kind": "stays_payable", "surprise": 1 }))),
        (false, with(1, json!({ "kind": "delay" }))),
        (false, with(1, json!({ "kind": "delay", "ms": 1, "surprise": 1 }))),
        (false, with(1, json!({ "kind": "drop_connection" }))),
        (false, with(1, json!({ "kind": "refused", "status": 400 }))),
        (false, with(1, json!({ "kind": "timeout_after_commit", "ms": 1 }))),
        (false, json!({ "operation": "charge" })),
        (false, json!({ "fault": { "kind": "refused" } })),
        (false, refusal(&json!({ "order": "o" }), "charge", 1)),
        (false, refusal(&json!({ "account": "main" }), "fulfil", 1)),
        (false, refusal(&json!({ "surprise": "main" }), "charge", 1)),
        (false, json!([])),
    ] {
        let reply = sandbox.admin("POST", "/admin/faults", &wanted);
        assert_eq!(reply.status, if taken { 201 } else { 400 }, "{wanted}");
    }
    let waiting = list(&sandbox).as_array().unwrap().len();
    for _ in waiting..1_000 {
        sandbox.add_fault(&with(1, refused()));
    }
    let one_more = Request::plain(&sandbox.channel, "POST", "/admin/faults", &with(1, refused()));
    assert_eq!(one_more.reply().json()["message"], "1000 faults wait already");
}
