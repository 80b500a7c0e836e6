//! The channel says that it is under maintenance, and executes nothing.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::client::Reply;
use crate::process::{Sandbox, fresh_folder, until};

const PATH: &str = "/admin/maintenance";

fn begin(sandbox: &Sandbox, wanted: &Value) -> Reply {
    sandbox.admin("POST", PATH, wanted)
}

#[track_caller]
fn assert_under(reply: &Reply, window: &Value) {
    let body = reply.expect(503);
    assert_eq!((&body["error"], &body["executed"]), (&json!("maintenance"), &json!(false)));
    assert_eq!(body["until"], window["until"]);
}

#[test]
fn every_request_hears_until_when_and_nothing_is_executed() {
    let sandbox = Sandbox::start();
    let charged = sandbox.charge("refusing", "pm_card").reply().expect(200);
    sandbox.add_fault(&json!({ "operation": "charge", "fault": { "kind": "unsigned" } }));
    let begun = begin(&sandbox, &json!({ "seconds": 60 }));
    assert_eq!(begun.status, 201);
    let window = begun.json();
    let end: DateTime<Utc> = window["until"].as_str().unwrap().parse().unwrap();
    assert!((end - Utc::now() - TimeDelta::seconds(60)).abs() < TimeDelta::seconds(20));
    for request in [
        sandbox.charge("main", "pm_card"),
        sandbox.lookup("main"),
        sandbox.close("main"),
        sandbox.lookup("refusing"),
        sandbox.lookup("blind"),
    ] {
        assert_under(&request.reply(), &window);
        assert_eq!(sandbox.last_request()["outcome"], "maintenance");
    }
    // Who does not sign hears nothing of it.
    let bad = sandbox.charge("main", "pm_card").header("X-Sandbox-Nonce", "other");
    assert_eq!(bad.reply().status, 401);
    assert_eq!(sandbox.truth()["objects"].as_array().unwrap().len(), 1);
    let faults = sandbox.admin("GET", "/admin/faults", &Value::Null).json();
    assert_eq!(faults["faults"].as_array().unwrap().len(), 1, "a refusal uses no fault up");
    // The payer is not at the channel's door.
    assert_eq!(sandbox.pay_anyway("refusing").status, 200);
    assert_eq!(sandbox.admin("DELETE", PATH, &Value::Null).status, 204);
    let shown = sandbox.lookup("refusing").reply().expect(200);
    assert_eq!(shown["transaction"], charged["transaction"]);
}

#[test]
fn one_account_may_be_under_maintenance_alone() {
    let sandbox = Sandbox::start();
    let begun = begin(&sandbox, &json!({ "account": "main", "seconds": 86_400 }));
    assert_eq!((begun.status, &begun.json()["account"]), (201, &json!("main")));
    assert_under(&sandbox.charge("main", "pm_card").reply(), &begun.json());
    sandbox.charge("refusing", "pm_card").reply().expect(200);
    let listed = sandbox.admin("GET", PATH, &Value::Null).json();
    assert_eq!(listed, json!({ "windows": [begun.json()] }));
    assert_eq!(sandbox.admin("POST", "/admin/reset", &Value::Null).status, 204);
    let listed = sandbox.admin("GET", PATH, &Value::Null).json();
    assert_eq!(listed, json!({ "windows": [] }));
    sandbox.charge("main", "pm_card").reply().expect(200);
}

#[test]
fn a_window_ends_by_its_own_time_and_with_the_process() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    assert_eq!(begin(&sandbox, &json!({ "seconds": 1 })).status, 201);
    until("the window is over", || sandbox.charge("main", "pm_card").reply().status == 200);
    assert_eq!(begin(&sandbox, &json!({ "seconds": 600 })).status, 201);
    sandbox.lookup("main").reply().expect(503);
    sandbox.kill();
    let sandbox = Sandbox::start_on(&folder);
    assert_eq!(sandbox.lookup("main").reply().expect(200)["status"], "succeeded");
    drop(sandbox);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_window_that_cannot_be_is_refused() {
    let sandbox = Sandbox::start();
    for wanted in [
        json!({ "seconds": 0 }),
        json!({ "seconds": 86_401 }),
        json!({ "seconds": "60" }),
        json!({ "account": "main" }),
        json!({ "account": "nobody", "seconds": 60 }),
        json!({ "seconds": 60, "surprise": 1 }),
        Value::Null,
    ] {
        let reply = begin(&sandbox, &wanted);
        let said = (reply.status, &reply.json()["error"]);
        assert_eq!(said, (400, &json!("invalid_request")), "{wanted}");
    }
    sandbox.charge("main", "pm_card").reply().expect(200);
}
