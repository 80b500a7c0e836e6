//! Each fault: what the client hears, and what is true behind it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Heard, REFERENCE};
use crate::process::{Sandbox, until};

#[test]
fn a_delay_comes_before_the_work_and_ends_with_its_client() {
    let sandbox = Sandbox::start();
    let delay = json!({ "kind": "delay", "ms": 300 });
    let heard = sandbox.charge("main", "pm_card").fault(&delay).patience(50).send();
    assert!(matches!(heard, Heard::Silence), "{heard:?}");
    let begun = Instant::now();
    sandbox.charge("refusing", "pm_card").fault(&delay).reply().expect(200);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let truth = sandbox.truth();
    assert_eq!(truth["charges"].as_array().unwrap().len(), 1);
    let left = &truth["requests"][0];
    assert_eq!((&left["outcome"], &left["fault"]), (&json!("not_executed"), &json!("delay")));
    assert_eq!(left["status"], Value::Null);
}

#[test]
fn a_timeout_is_silence_whether_or_not_it_was_executed() {
    for (kind, executed, outcome) in
        [("timeout_before_commit", 0, "not_executed"), ("timeout_after_commit", 1, "succeeded")]
    {
        let sandbox = Sandbox::start();
        let fault = json!({ "kind": kind });
        let heard = sandbox.charge("main", "pm_card").fault(&fault).patience(200).send();
        assert!(matches!(heard, Heard::Silence), "{heard:?}");
        assert_eq!(sandbox.money(), executed, "{kind}");
        let request = sandbox.last_request();
        assert_eq!((&request["outcome"], &request["fault"]), (&json!(outcome), &json!(kind)));
        assert_eq!(request["status"], Value::Null);
    }
}

#[test]
fn a_dropped_connection_is_closed_without_a_byte() {
    for (after_commit, executed) in [(false, 0), (true, 1)] {
        let sandbox = Sandbox::start();
        let fault = json!({ "kind": "drop_connection", "after_commit": after_commit });
        let heard = sandbox.charge("main", "pm_card").fault(&fault).send();
        assert!(matches!(heard, Heard::Closed), "{heard:?}");
        assert_eq!(sandbox.money(), executed);
    }
}

#[test]
fn an_error_says_nothing_about_what_was_executed() {
    for (kind, body, executed) in [
        ("error_before_commit", "html", 0),
        ("error_before_commit", "json", 0),
        ("error_after_commit", "html", 1),
        ("error_after_commit", "json", 1),
    ] {
        let sandbox = Sandbox::start();
        let fault = json!({ "kind": kind, "status": 502, "body": body });
        let reply = sandbox.charge("main", "pm_card").fault(&fault).reply();
        if body == "json" {
            assert_eq!(reply.expect(502)["executed"], Value::Null);
        } else {
            assert_eq!((reply.status, reply.is_signed()), (502, false));
            assert!(reply.headers["content-type"].starts_with("text/html"));
        }
        assert_eq!(sandbox.money(), executed, "{kind}");
    }
}

#[test]
fn a_paused_charge_is_committed_after_its_client_left() {
    let sandbox = Sandbox::start();
    let pause = json!({ "kind": "pause_before_commit", "ms": 400 });
    let heard = sandbox.charge("refusing", "pm_card").fault(&pause).patience(50).send();
    assert!(matches!(heard, Heard::Silence), "{heard:?}");
    assert_eq!(sandbox.money(), 0);
    sandbox.lookup("refusing").reply().expect(404);
    until("the paused charge is committed", || sandbox.money() == 1);
    assert_eq!(sandbox.lookup("refusing").reply().expect(200)["status"], "succeeded");
    assert_eq!(sandbox.truth()["requests"][0]["status"], Value::Null);

    let heard = sandbox.charge("main", "pm_card").fault(&pause).reply();
    assert_eq!(heard.expect(200)["status"], "succeeded");
}

#[test]
fn a_close_that_overtakes_a_paused_charge_leaves_no_money() {
    let sandbox = Sandbox::start();
    let pause = json!({ "kind": "pause_before_commit", "ms": 300 });
    sandbox.charge("refusing", "pm_card").fault(&pause).patience(20).send();
    sandbox.close("refusing").reply().expect(200);
    until("the paused charge is done", || sandbox.truth()["requests"][0]["outcome"] == "closed");
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn a_refusal_and_a_maintenance_page_execute_nothing() {
    let sandbox = Sandbox::start();
    let refused = json!({ "kind": "refused" });
    let body = sandbox.charge("main", "pm_card").fault(&refused).reply().expect(503);
    assert_eq!((&body["error"], &body["executed"]), (&json!("not_accepted"), &json!(false)));
    let maintenance = json!({ "kind": "maintenance_page" });
    let reply = sandbox.charge("main", "pm_card").fault(&maintenance).reply();
    assert_eq!((reply.status, reply.is_signed()), (200, false));
    assert!(reply.headers["content-type"].starts_with("text/html"));
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn an_answer_may_lie_while_the_truth_does_not() {
    let sandbox = Sandbox::start();
    let wrong = json!({ "kind": "wrong_amount", "amount": 1 });
    let body = sandbox.charge("main", "pm_card").fault(&wrong).reply().expect(200);
    assert_eq!((&body["status"], &body["amount"]), (&json!("succeeded"), &json!(1)));
    let weird = json!({ "kind": "unmapped_status", "status": "weird" });
    assert_eq!(sandbox.lookup("main").fault(&weird).reply().expect(200)["status"], "weird");
    let unsigned = sandbox.lookup("main").fault(&json!({ "kind": "unsigned" })).reply();
    assert_eq!((unsigned.status, unsigned.is_signed()), (200, false));
    let not_found = json!({ "kind": "not_found" });
    sandbox.lookup("main").fault(&not_found).reply().expect(404);
    assert_eq!(sandbox.lookup("main").reply().expect(200)["amount"], 1999);
    let charges = &sandbox.truth()["charges"];
    assert_eq!((charges.as_array().unwrap().len(), &charges[0]["amount"]), (1, &json!(1999)));
}

#[test]
fn waiting_faults_are_listed_used_up_and_cleared() {
    let sandbox = Sandbox::start();
    let add = |matches: Value, operation: &str| {
        let fault = json!({ "match": matches, "operation": operation, "times": 2,
            "fault": { "kind": "refused" } });
        sandbox.admin("POST", "/admin/faults", &fault)
    };
    assert_eq!(add(json!({ "payment_method": "pm_card" }), "lookup").status, 201);
    assert_eq!(add(json!({ "reference": REFERENCE }), "close").status, 201);
    // Nothing is known under the reference yet, so the payment method cannot be known either.
    sandbox.lookup("main").reply().expect(404);
    sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.lookup("main").reply().expect(503);
    sandbox.close("main").reply().expect(503);
    let list = sandbox.admin("GET", "/admin/faults", &Value::Null).json();
    assert_eq!(
        (&list["faults"][0]["remaining"], &list["faults"][1]["remaining"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(sandbox.admin("POST", "/admin/reset", &Value::Null).status, 204);
    sandbox.lookup("main").reply().expect(200);
    assert_eq!(add(json!({}), "lookup").status, 201);
    assert_eq!(sandbox.admin("DELETE", "/admin/faults", &Value::Null).status, 204);
    sandbox.lookup("main").reply().expect(200);
    assert_eq!(add(json!({}), "nonsense").status, 400);
    let body = sandbox.charge("refusing", "pm_card").fault(&json!({ "kind": "x" })).reply();
    assert_eq!(body.expect(400)["error"], "invalid_fault");
    assert_eq!(sandbox.money(), 1);
}
