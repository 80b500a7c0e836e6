//! Faults of silence and of time: what the client hears, and what is true behind it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Heard, REFERENCE, Request};
use crate::process::{Sandbox, until};

/// Longer than anything takes that the tests do meanwhile.
const LONG_MS: u64 = 1_500;
/// How long silence is listened to, once the work is done.
const LISTEN_MS: u64 = 100;

/// A request of each operation that changes something, and the outcome of its work.
fn operations(sandbox: &Sandbox) -> [(Request, &'static str); 2] {
    [(sandbox.charge("main", "pm_card"), "succeeded"), (sandbox.close("refusing"), "closed")]
}

fn objects(sandbox: &Sandbox) -> usize {
    sandbox.truth()["objects"].as_array().unwrap().len()
}

#[track_caller]
fn assert_last(sandbox: &Sandbox, fault: &str, outcome: &str, status: &Value) {
    let last = sandbox.last_request();
    assert_eq!(
        (&last["fault"], &last["outcome"], &last["status"]),
        (&json!(fault), &json!(outcome), status)
    );
}

#[test]
fn a_timeout_is_silence_whether_or_not_it_was_executed() {
    let sandbox = Sandbox::start();
    let mut executed = 0;
    for (kind, after) in [("timeout_before_commit", false), ("timeout_after_commit", true)] {
        for (request, done) in operations(&sandbox) {
            let line = request.fault(&json!({ "kind": kind })).patience(LISTEN_MS).open();
            let outcome = if after { done } else { "not_executed" };
            sandbox.until_fault(kind);
            sandbox.until_outcome(outcome);
            let heard = line.hear();
            assert!(matches!(heard, Heard::Silence), "{heard:?}");
            assert_last(&sandbox, kind, outcome, &Value::Null);
            executed += usize::from(after);
            assert_eq!(objects(&sandbox), executed, "{kind}");
        }
    }
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_dropped_connection_is_closed_without_a_byte() {
    let sandbox = Sandbox::start();
    let mut executed = 0;
    for after_commit in [false, true] {
        for (request, done) in operations(&sandbox) {
            let fault = json!({ "kind": "drop_connection", "after_commit": after_commit });
            let heard = request.fault(&fault).send();
            assert!(matches!(heard, Heard::Closed), "{heard:?}");
            let outcome = if after_commit { done } else { "not_executed" };
            assert_last(&sandbox, "drop_connection", outcome, &Value::Null);
            executed += usize::from(after_commit);
            assert_eq!(objects(&sandbox), executed);
        }
    }
    assert_eq!(sandbox.money(), 1);
    // Only that connection was closed.
    sandbox.lookup("main").reply().expect(200);
}

#[test]
fn a_lookup_is_struck_too_and_what_is_known_stays() {
    let sandbox = Sandbox::start();
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    for after_commit in [false, true] {
        let fault = json!({ "kind": "drop_connection", "after_commit": after_commit });
        assert!(matches!(sandbox.lookup("main").fault(&fault).send(), Heard::Closed));
    }
    for kind in ["timeout_before_commit", "timeout_after_commit"] {
        let request = sandbox.lookup("main").fault(&json!({ "kind": kind })).patience(LISTEN_MS);
        let line = request.open();
        sandbox.until_fault(kind);
        assert!(matches!(line.hear(), Heard::Silence));
    }
    assert_eq!(sandbox.lookup("main").reply().expect(200), charged);
}

#[test]
fn an_error_says_nothing_about_what_was_executed() {
    let sandbox = Sandbox::start();
    let mut executed = 0;
    for after in [false, true] {
        let kind = if after { "error_after_commit" } else { "error_before_commit" };
        for (status, body, fault) in [
            (500, "html", json!({ "kind": kind })),
            (502, "html", json!({ "kind": kind, "status": 502, "body": "html" })),
            (599, "json", json!({ "kind": kind, "status": 599, "body": "json" })),
            (400, "json", json!({ "kind": kind, "status": 400, "body": "json" })),
        ] {
            let reply = sandbox.charge("again", "pm_card").fault(&fault).reply();
            if body == "json" {
                let body = reply.expect(status);
                let said = (&body["error"], &body["executed"]);
                assert_eq!(said, (&json!("internal_error"), &Value::Null));
            } else {
                assert_eq!((reply.status, reply.is_signed()), (status, false));
                assert!(!reply.headers.contains_key("x-sandbox-signature"));
                assert!(reply.headers["content-type"].starts_with("text/html"));
            }
            let outcome = if after { "succeeded" } else { "not_executed" };
            assert_last(&sandbox, kind, outcome, &json!(status));
            executed += usize::from(after);
            assert_eq!(sandbox.money(), executed, "{kind}");
        }
    }
}

#[test]
fn a_delay_comes_before_the_work_and_ends_with_its_client() {
    let sandbox = Sandbox::start();
    let delay = json!({ "kind": "delay", "ms": LONG_MS });
    let line = sandbox.charge("main", "pm_card").fault(&delay).open();
    sandbox.until_fault("delay");
    drop(line);
    // Begun after the first, so that the first would be executed when this one is.
    let begun = Instant::now();
    sandbox.charge("refusing", "pm_card").fault(&delay).reply().expect(200);
    assert!(begun.elapsed() >= Duration::from_millis(LONG_MS));
    let truth = sandbox.truth();
    assert_eq!(truth["charges"].as_array().unwrap().len(), 1);
    assert_eq!(truth["charges"][0]["account"], "refusing");
    let left = &truth["requests"][0];
    assert_eq!((&left["outcome"], &left["fault"]), (&json!("not_executed"), &json!("delay")));
    assert_eq!(left["status"], Value::Null);
}

#[test]
fn a_paused_charge_is_committed_after_its_client_left() {
    let sandbox = Sandbox::start();
    let pause = json!({ "kind": "pause_before_commit", "ms": LONG_MS });
    let line = sandbox.charge("refusing", "pm_card").fault(&pause).open();
    sandbox.until_fault("pause_before_commit");
    drop(line);
    assert_eq!(sandbox.money(), 0);
    sandbox.lookup("refusing").reply().expect(404);
    until("the paused charge is committed", || sandbox.money() == 1);
    assert_eq!(sandbox.lookup("refusing").reply().expect(200)["status"], "succeeded");
    until("its outcome is noted", || sandbox.truth()["requests"][0]["outcome"] == "succeeded");
    assert_eq!(sandbox.truth()["requests"][0]["status"], Value::Null);

    let pause = json!({ "kind": "pause_before_commit", "ms": 1 });
    let reply = sandbox.charge("main", "pm_card").fault(&pause).reply();
    assert_eq!(reply.expect(200)["status"], "succeeded");
}

#[test]
fn a_close_that_overtakes_a_paused_charge_leaves_no_money() {
    for account in ["main", "refusing", "again"] {
        let sandbox = Sandbox::start();
        let pause = json!({ "kind": "pause_before_commit", "ms": LONG_MS });
        let line = sandbox.charge(account, "pm_card").fault(&pause).open();
        sandbox.until_fault("pause_before_commit");
        sandbox.close(account).reply().expect(200);
        assert_eq!(line.hear().reply().expect(200)["status"], "closed", "{account}");
        assert_eq!(sandbox.money(), 0);
    }
}

#[test]
fn a_paused_charge_does_not_hold_its_reference() {
    let sandbox = Sandbox::start();
    let pause = json!({ "kind": "pause_before_commit", "ms": LONG_MS });
    let line = sandbox.charge("again", "pm_card").fault(&pause).open();
    sandbox.until_fault("pause_before_commit");
    sandbox.charge("again", "pm_card").reply().expect(200);
    assert_eq!(sandbox.money(), 1);
    assert_eq!(line.hear().reply().expect(200)["charges"], 2);
    let path = format!("/truth?reference={REFERENCE}");
    let truth = sandbox.admin("GET", &path, &Value::Null).json();
    assert_eq!(truth["charges"].as_array().unwrap().len(), 2);
}
