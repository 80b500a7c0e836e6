//! Money that comes although the channel has said that it will not.

use serde_json::{Value, json};

use crate::client::REFERENCE;
use crate::process::{Sandbox, fresh_folder};

fn transactions(sandbox: &Sandbox) -> Vec<Value> {
    let truth = sandbox.truth();
    let charges = truth["charges"].as_array().unwrap();
    charges.iter().map(|charge| charge["transaction"].clone()).collect()
}

#[test]
fn it_comes_after_a_decline_and_after_a_close_and_a_lookup_tells_it() {
    for (method, close) in [("pm_decline", false), ("pm_decline_final", false), ("pm_action", true)]
    {
        let sandbox = Sandbox::start();
        let object = sandbox.charge("refusing", method).reply().expect(200);
        if close {
            sandbox.close("refusing").reply().expect(200);
        }
        assert_eq!(sandbox.pay("refusing").status, 409, "the payer was told no");
        let paid = sandbox.pay_anyway("refusing");
        assert_eq!((paid.status, &paid.json()["status"]), (200, &json!("succeeded")), "{method}");
        assert_eq!(paid.json()["created_at"], object["created_at"]);
        assert_eq!(sandbox.lookup("refusing").reply().expect(200), paid.json());
        assert_eq!(sandbox.close("refusing").reply().expect(409)["charge"], paid.json());
        let charge = &sandbox.truth()["charges"][0];
        assert_eq!((&charge["amount"], &charge["payment_method"]), (&json!(1999), &json!(method)));
        assert_eq!(transactions(&sandbox), [paid.json()["transaction"].clone()]);
        assert_eq!(sandbox.truth()["objects"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn money_that_moved_already_moves_a_second_time() {
    let sandbox = Sandbox::start();
    let first = sandbox.charge("main", "pm_card").reply().expect(200);
    let second = sandbox.pay_anyway("main").json();
    assert_ne!(first["transaction"], second["transaction"]);
    assert_eq!((&second["status"], &second["charges"]), (&json!("succeeded"), &json!(2)));
    let known = [first["transaction"].clone(), second["transaction"].clone()];
    assert_eq!(transactions(&sandbox), known);
    let shown = sandbox.lookup("main").reply().expect(200);
    assert_eq!((&shown["transaction"], &shown["charges"]), (&first["transaction"], &json!(2)));
}

#[test]
fn an_open_charge_is_paid_as_ever_and_nothing_comes_for_what_nobody_asked() {
    let sandbox = Sandbox::start();
    assert_eq!(sandbox.pay_anyway("main").status, 404);
    sandbox.charge("main", "pm_action").reply().expect(200);
    assert_eq!(sandbox.pay_anyway("main").json().get("charges"), None);
    // A tombstone has no amount.
    sandbox.close("refusing").reply().expect(200);
    let body = sandbox.pay_anyway("refusing").json();
    assert_eq!((&body["error"], &body["charge"]["status"]), (&json!("not_open"), &json!("closed")));
    assert_eq!(sandbox.money(), 1);
    let path = format!("/admin/pay/main/{REFERENCE}?force=perhaps");
    assert_eq!(sandbox.admin("POST", &path, &Value::Null).status, 400);
}

#[test]
fn it_is_true_after_a_kill_too() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    sandbox.charge("main", "pm_decline").reply().expect(200);
    sandbox.charge("refusing", "pm_card").reply().expect(200);
    let fault = json!({ "kind": "stays_payable" });
    let open = sandbox.charge("again", "pm_card").fault(&fault).reply().expect(200);
    assert_eq!(sandbox.pay_anyway("main").status, 200);
    assert_eq!(sandbox.pay_anyway("refusing").status, 200);
    let before = sandbox.truth();
    sandbox.kill();
    let sandbox = Sandbox::start_on(&folder);
    let after = sandbox.truth();
    assert_eq!((&before["charges"], &before["objects"]), (&after["charges"], &after["objects"]));
    assert_eq!(sandbox.lookup("again").reply().expect(200), open);
    assert_eq!(sandbox.money(), 3);
    drop(sandbox);
    std::fs::remove_dir_all(folder).unwrap();
}
