//! Faults that answer, but not with what is true.

use serde_json::{Value, json};

use crate::client::Heard;
use crate::process::Sandbox;

#[test]
fn a_refusal_and_a_maintenance_page_execute_nothing() {
    let sandbox = Sandbox::start();
    let all = || [sandbox.charge("main", "pm_card"), sandbox.lookup("main"), sandbox.close("main")];
    for request in all() {
        let body = request.fault(&json!({ "kind": "refused" })).reply().expect(503);
        assert_eq!((&body["error"], &body["executed"]), (&json!("not_accepted"), &json!(false)));
        assert_eq!(sandbox.last_request()["outcome"], "not_accepted");
    }
    for request in all() {
        let reply = request.fault(&json!({ "kind": "maintenance_page" })).reply();
        assert_eq!(reply.status, 200);
        assert!(!reply.headers.contains_key("x-sandbox-signature"));
        assert!(reply.headers["content-type"].starts_with("text/html"));
        assert!(reply.body.starts_with(b"<!doctype html>"));
        assert_eq!(sandbox.last_request()["outcome"], "not_executed");
    }
    assert_eq!(sandbox.truth()["objects"], json!([]));
}

#[test]
fn an_unsigned_answer_is_true_and_cannot_be_trusted() {
    let sandbox = Sandbox::start();
    let fault = json!({ "kind": "unsigned" });
    for (request, status, field) in [
        (sandbox.charge("main", "pm_action"), 200, json!("open")),
        (sandbox.lookup("main"), 200, json!("open")),
        (sandbox.close("main"), 200, json!("closed")),
        (sandbox.lookup("refusing"), 404, Value::Null),
    ] {
        let reply = request.fault(&fault).reply();
        assert_eq!((reply.status, reply.is_signed()), (status, false));
        assert_eq!(reply.headers["x-sandbox-signature"], "0".repeat(64));
        assert_eq!(reply.json()["status"], field);
    }
    assert_eq!(sandbox.lookup("main").reply().expect(200)["status"], "closed");
}

#[test]
fn a_wrong_amount_is_told_and_the_real_one_is_true() {
    let sandbox = Sandbox::start();
    let wrong = |amount: u64| json!({ "kind": "wrong_amount", "amount": amount });
    let body = sandbox.charge("main", "pm_card").fault(&wrong(1)).reply().expect(200);
    assert_eq!((&body["status"], &body["amount"]), (&json!("succeeded"), &json!(1)));
    let body = sandbox.lookup("main").fault(&wrong(0)).reply().expect(200);
    assert_eq!(body["amount"], 0);
    // An error has no amount to be wrong.
    let body = sandbox.lookup("refusing").fault(&wrong(1)).reply().expect(404);
    assert_eq!((&body["error"], body.get("amount")), (&json!("not_found"), None));
    assert_eq!(sandbox.lookup("main").reply().expect(200)["amount"], 1999);
    let truth = sandbox.truth();
    let charges = truth["charges"].as_array().unwrap();
    assert_eq!((charges.len(), &charges[0]["amount"]), (1, &json!(1999)));
    assert_eq!(truth["objects"][0]["amount"], 1999);
}

#[test]
fn a_wrong_currency_is_told_beside_or_without_a_wrong_amount() {
    let sandbox = Sandbox::start();
    let currency = json!({ "kind": "wrong_amount", "currency": "USD" });
    let both = json!({ "kind": "wrong_amount", "currency": "JPY", "amount": 5 });
    for (request, fault, told) in [
        (sandbox.charge("main", "pm_card"), &currency, (1999, "USD")),
        (sandbox.lookup("main"), &currency, (1999, "USD")),
        (sandbox.lookup("main"), &both, (5, "JPY")),
    ] {
        let body = request.fault(fault).reply().expect(200);
        assert_eq!((&body["amount"], &body["currency"]), (&json!(told.0), &json!(told.1)));
    }
    let body = sandbox.lookup("refusing").fault(&both).reply().expect(404);
    assert_eq!((body.get("amount"), body.get("currency")), (None, None));
    let charge = &sandbox.truth()["charges"][0];
    assert_eq!((&charge["amount"], &charge["currency"]), (&json!(1999), &json!("CNY")));
}

#[test]
fn a_refused_charge_may_stay_payable() {
    let fault = json!({ "kind": "stays_payable" });
    for method in ["pm_card", "pm_decline_final"] {
        let sandbox = Sandbox::start();
        let object = sandbox.charge("main", method).fault(&fault).reply().expect(200);
        assert_eq!((&object["status"], &object["action"]), (&json!("open"), &Value::Null));
        assert_eq!(
            (&object["decline_code"], &object["decline_final"]),
            (&json!("insufficient_funds"), &json!(false))
        );
        assert_eq!((sandbox.money(), &object["transaction"]), (0, &Value::Null));
        assert_eq!(sandbox.lookup("main").reply().expect(200), object);
        // A repeat is no second try.
        assert_eq!(sandbox.charge("main", method).reply().expect(200), object);
        let paid = sandbox.pay("main").json();
        assert_eq!((&paid["status"], &paid["decline_code"]), (&json!("succeeded"), &Value::Null));
        assert_eq!((sandbox.money(), sandbox.close("main").reply().status), (1, 409));
    }
}

#[test]
fn a_refused_charge_that_stays_payable_is_closed_by_a_close() {
    let sandbox = Sandbox::start();
    let fault = json!({ "kind": "stays_payable" });
    for account in ["main", "refusing", "again"] {
        let open = sandbox.charge(account, "pm_card").fault(&fault).reply().expect(200);
        assert_eq!(open["status"], "open");
        let closed = sandbox.close(account).reply().expect(200);
        assert_eq!((&closed["status"], &closed["decline_code"]), (&json!("closed"), &Value::Null));
        assert_eq!(sandbox.pay(account).status, 409);
    }
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn a_status_may_be_a_word_that_nobody_knows() {
    let sandbox = Sandbox::start();
    let word = json!({ "kind": "unmapped_status", "status": "weird" });
    for request in
        [sandbox.charge("main", "pm_action"), sandbox.lookup("main"), sandbox.close("main")]
    {
        assert_eq!(request.fault(&word).reply().expect(200)["status"], "weird");
    }
    // What was done is on the list, not what was said.
    assert_eq!(sandbox.last_request()["outcome"], "closed");
    assert_eq!(sandbox.truth()["objects"][0]["status"], "closed");
}

#[test]
fn a_lookup_may_deny_what_is_known() {
    let sandbox = Sandbox::start();
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    let body = sandbox.lookup("main").fault(&json!({ "kind": "not_found" })).reply().expect(404);
    assert_eq!((&body["error"], &body["executed"]), (&json!("not_found"), &Value::Null));
    assert_eq!(sandbox.lookup("main").reply().expect(200), charged);
}

#[test]
fn a_request_is_on_the_list_with_all_that_happened_to_it() {
    let sandbox = Sandbox::start();
    let drop = json!({ "kind": "drop_connection", "after_commit": true });
    assert!(matches!(sandbox.charge("main", "pm_card").fault(&drop).send(), Heard::Closed));
    sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.lookup("main").reply().expect(200);
    let truth = sandbox.truth();
    let list: Vec<Vec<&Value>> = truth["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| {
            ["operation", "account", "outcome", "fault", "status"]
                .map(|field| &request[field])
                .to_vec()
        })
        .collect();
    assert_eq!(
        json!(list),
        json!([
            ["charge", "main", "succeeded", "drop_connection", null],
            ["charge", "main", "succeeded", null, 200],
            ["lookup", "main", "succeeded", null, 200],
        ])
    );
    let none = sandbox.admin("GET", "/truth?account=nobody", &Value::Null).json();
    assert_eq!(none, json!({ "charges": [], "objects": [], "requests": [], "fulfilments": [] }));
}
