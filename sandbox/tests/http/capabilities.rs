//! What each class of account promises, and what a payment method decides.

use serde_json::{Value, json};

use crate::client::{REFERENCE, Request, content};
use crate::process::Sandbox;

#[test]
fn the_payment_method_decides() {
    let sandbox = Sandbox::start();
    for (index, (method, status, code, last)) in [
        ("pm_card", "succeeded", Value::Null, Value::Null),
        ("pm_decline_final_1", "declined", json!("do_not_honor"), json!(true)),
        ("pm_decline_1", "declined", json!("insufficient_funds"), json!(false)),
        ("pm_action_1", "open", Value::Null, Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let mut content = content(method);
        content["reference"] = json!(format!("{index:026}"));
        let object = sandbox.charge_of("main", &content).reply().expect(200);
        assert_eq!(object["status"], status, "{method}");
        assert_eq!((&object["decline_code"], &object["decline_final"]), (&code, &last));
        assert_eq!((&object["amount"], &object["currency"]), (&json!(1999), &json!("CNY")));
        assert_eq!(object["action"].is_object(), status == "open");
        assert_eq!(object["transaction"].is_string(), status == "succeeded");
    }
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn an_idempotent_account_answers_again_and_refuses_other_content() {
    let sandbox = Sandbox::start();
    let first = sandbox.charge("main", "pm_card").reply().expect(200);
    let second = sandbox.charge("main", "pm_card").reply();
    assert_eq!(second.expect(200), first);
    assert_eq!(second.headers["x-sandbox-replayed"], "true");
    let body = sandbox.charge("main", "pm_other").reply().expect(422);
    assert_eq!((&body["error"], &body["executed"]), (&json!("reference_reused"), &Value::Null));
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_refusing_account_answers_409_and_does_not_charge() {
    let sandbox = Sandbox::start();
    sandbox.charge("refusing", "pm_card").reply().expect(200);
    let body = sandbox.charge("refusing", "pm_card").reply().expect(409);
    assert_eq!((&body["error"], &body["executed"]), (&json!("reference_known"), &Value::Null));
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn an_account_without_promises_charges_twice_and_cannot_be_asked() {
    let sandbox = Sandbox::start();
    for account in ["again", "blind"] {
        let first = sandbox.charge(account, "pm_card").reply().expect(200);
        let second = sandbox.charge(account, "pm_card").reply().expect(200);
        assert_ne!(first["transaction"], second["transaction"]);
    }
    assert_eq!(sandbox.money(), 4);
    let shown = sandbox.lookup("again").reply().expect(200);
    assert_eq!((&shown["charges"], &shown["status"]), (&json!(2), &json!("succeeded")));
    assert_eq!(sandbox.lookup("blind").reply().expect(405)["error"], "lookup_not_offered");
    let path = format!("/truth?account=blind&reference={REFERENCE}");
    let truth = sandbox.admin("GET", &path, &Value::Null).json();
    assert_eq!(truth["charges"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_that_come_together_make_one_charge() {
    let sandbox = Sandbox::start();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| sandbox.charge("main", "pm_card").reply().expect(200));
        }
    });
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_lookup_shows_what_is_known() {
    let sandbox = Sandbox::start();
    let body = sandbox.lookup("main").reply().expect(404);
    assert_eq!((&body["error"], &body["executed"]), (&json!("not_found"), &Value::Null));
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    assert_eq!(sandbox.lookup("main").reply().expect(200), charged);
}

#[test]
fn a_closed_reference_never_takes_money() {
    for (account, method) in
        [("main", "pm_action"), ("main", "pm_decline"), ("again", "pm_action"), ("blind", "")]
    {
        let sandbox = Sandbox::start();
        if !method.is_empty() {
            sandbox.charge(account, method).reply().expect(200);
        }
        for _ in 0..2 {
            assert_eq!(sandbox.close(account).reply().expect(200)["status"], "closed");
        }
        let method = if method.is_empty() { "pm_card" } else { method };
        let object = sandbox.charge(account, method).reply().expect(200);
        assert_eq!(object["status"], "closed", "{account}");
        let path = format!("/admin/pay/{account}/{REFERENCE}");
        assert_eq!(sandbox.admin("POST", &path, &Value::Null).status, 409);
        assert_eq!(sandbox.money(), 0);
    }
}

#[test]
fn a_close_after_money_moved_is_refused_with_the_charge() {
    let sandbox = Sandbox::start();
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    let body = sandbox.close("main").reply().expect(409);
    assert_eq!((&body["error"], &body["charge"]), (&json!("already_succeeded"), &charged));
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn an_open_charge_is_paid_by_its_payer_and_in_time_only() {
    let sandbox = Sandbox::start();
    let path = format!("/admin/pay/main/{REFERENCE}");
    assert_eq!(sandbox.admin("POST", &path, &Value::Null).status, 404);
    sandbox.charge("main", "pm_action").reply().expect(200);
    let paid = sandbox.admin("POST", &path, &Value::Null);
    assert_eq!((paid.status, &paid.json()["status"]), (200, &json!("succeeded")));
    assert_eq!(sandbox.lookup("main").reply().expect(200), paid.json());
    assert_eq!(sandbox.admin("POST", &path, &Value::Null).status, 409);
    assert_eq!(sandbox.money(), 1);

    let mut late = content("pm_action");
    late["pay_before"] = json!("2020-01-01T00:00:00Z");
    assert_eq!(sandbox.charge_of("again", &late).reply().expect(200)["status"], "closed");
    let path = format!("/admin/pay/again/{REFERENCE}");
    assert_eq!(sandbox.admin("POST", &path, &Value::Null).json()["error"], "not_open");
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_charge_is_not_looked_up_by_another_account() {
    let sandbox = Sandbox::start();
    sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.lookup("refusing").reply().expect(404);
    let other = Request::plain(&sandbox.channel, "GET", "/v1/charges/short", &Value::Null);
    assert_eq!(other.reply().status, 401);
}
