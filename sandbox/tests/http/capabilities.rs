//! What each class of account promises, and what a payment method decides.

use serde_json::{Value, json};

use crate::client::{REFERENCE, Request, content};
use crate::process::{Sandbox, until};

#[test]
fn the_payment_method_decides() {
    let sandbox = Sandbox::start();
    for (index, (method, status, code, last)) in [
        ("pm_card", "succeeded", Value::Null, Value::Null),
        ("pm_decline_final_1", "declined", json!("do_not_honor"), json!(true)),
        ("pm_decline_1", "declined", json!("insufficient_funds"), json!(false)),
        ("pm_action_1", "open", Value::Null, Value::Null),
        ("card_pm_decline", "succeeded", Value::Null, Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let mut content = content(method);
        content["reference"] = json!(format!("{index:026}"));
        let object = sandbox.charge_of("main", &content).reply().expect(200);
        assert_eq!(object["reference"], content["reference"]);
        assert_eq!(object["status"], status, "{method}");
        assert_eq!((&object["decline_code"], &object["decline_final"]), (&code, &last));
        assert_eq!((&object["amount"], &object["currency"]), (&json!(1999), &json!("CNY")));
        assert_eq!(object["action"]["kind"] == "redirect", status == "open");
        assert_eq!(object["action"]["url"].is_string(), status == "open");
        let transaction = object["transaction"].as_str().unwrap_or_default();
        assert_eq!(
            transaction.starts_with("sbx_") && transaction.len() == 28,
            status == "succeeded"
        );
        assert_eq!(object.get("charges"), None);
    }
    assert_eq!(sandbox.money(), 2);
    let objects = &sandbox.truth()["objects"];
    assert_eq!(objects.as_array().unwrap().len(), 5);
    assert_eq!(
        (&objects[1]["account"], &objects[1]["payment_method"]),
        (&json!("main"), &json!("pm_decline_final_1"))
    );
}

#[test]
fn an_idempotent_account_answers_again_whatever_became_of_the_charge() {
    let sandbox = Sandbox::start();
    for (index, method) in
        ["pm_card", "pm_decline", "pm_decline_final", "pm_action"].into_iter().enumerate()
    {
        let mut content = content(method);
        content["reference"] = json!(format!("{index:026}"));
        let first = sandbox.charge_of("main", &content).reply();
        assert_eq!(first.headers.get("x-sandbox-replayed"), None, "{method}");
        let second = sandbox.charge_of("main", &content).reply();
        assert_eq!(second.expect(200), first.expect(200));
        assert_eq!(second.headers["x-sandbox-replayed"], "true", "{method}");
    }
    assert_eq!(sandbox.money(), 1);
    assert_eq!(sandbox.truth()["objects"].as_array().unwrap().len(), 4);
}

#[test]
fn an_idempotent_account_refuses_other_content_in_any_field() {
    let sandbox = Sandbox::start();
    let first = sandbox.charge("main", "pm_card").reply().expect(200);
    for (field, value) in [
        ("amount", json!(2000)),
        ("currency", json!("USD")),
        ("payment_method", json!("pm_other")),
        ("description", json!("coffee")),
        ("pay_before", json!("2030-01-01T00:00:00Z")),
    ] {
        let mut other = content("pm_card");
        other[field] = value;
        let body = sandbox.charge_of("main", &other).reply().expect(422);
        let said = (&body["error"], &body["executed"]);
        assert_eq!(said, (&json!("reference_reused"), &Value::Null), "{field}");
    }
    assert_eq!(sandbox.money(), 1);
    assert_eq!(sandbox.lookup("main").reply().expect(200), first);
}

#[test]
fn after_its_window_a_reference_is_what_the_other_promises_make_it() {
    let sandbox = Sandbox::start();
    let charge = |account: &str| sandbox.charge(account, "pm_card").reply();
    let first = charge("brief").expect(200);
    let again = charge("brief");
    assert_eq!((again.expect(200), again.headers["x-sandbox-replayed"].as_str()), (first, "true"));
    until("the window is over", || charge("brief").status == 409);
    assert_eq!(charge("brief").expect(409)["error"], "reference_known");
    assert_eq!(sandbox.money(), 1);

    let first = charge("brief-again").expect(200);
    let mut again = first.clone();
    until("it is charged again", || {
        again = charge("brief-again").expect(200);
        again["transaction"] != first["transaction"]
    });
    assert_eq!((sandbox.money(), &again["charges"]), (3, &json!(2)));
    // The second charge has a window of its own.
    let replay = charge("brief-again");
    assert_eq!(
        (replay.expect(200), replay.headers.contains_key("x-sandbox-replayed")),
        (again, true)
    );
}

#[test]
fn what_is_closed_stays_closed_after_the_window() {
    let sandbox = Sandbox::start();
    sandbox.close("brief-again").reply().expect(200);
    let charge = || sandbox.charge("brief-again", "pm_card").reply();
    assert!(charge().headers.contains_key("x-sandbox-replayed"));
    until("the window is over", || !charge().headers.contains_key("x-sandbox-replayed"));
    assert_eq!(charge().expect(200)["status"], "closed");
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn an_account_without_close_refuses_it_and_closes_nothing() {
    let sandbox = Sandbox::start();
    sandbox.add_fault(&json!({ "operation": "close", "fault": { "kind": "refused" } }));
    for request in [sandbox.close("no-close"), sandbox.close("no-close")] {
        let body = request.reply().expect(405);
        let said = (&body["error"], &body["executed"]);
        assert_eq!(said, (&json!("close_not_offered"), &Value::Null));
    }
    let faults = sandbox.admin("GET", "/admin/faults", &Value::Null).json();
    assert_eq!(faults["faults"].as_array().unwrap().len(), 1, "a refusal uses no fault up");
    sandbox.charge("no-close", "pm_action").reply().expect(200);
    sandbox.close("no-close").reply().expect(405);
    assert_eq!(sandbox.lookup("no-close").reply().expect(200)["status"], "open");
    assert_eq!(sandbox.pay("no-close").status, 200);
}

#[test]
fn a_refusing_account_answers_409_and_does_not_charge() {
    let sandbox = Sandbox::start();
    let first = sandbox.charge("refusing", "pm_card").reply().expect(200);
    for method in ["pm_card", "pm_other"] {
        let reply = sandbox.charge("refusing", method).reply();
        let body = reply.expect(409);
        assert_eq!((&body["error"], &body["executed"]), (&json!("reference_known"), &Value::Null));
        assert_eq!(reply.headers.get("x-sandbox-replayed"), None);
    }
    assert_eq!(sandbox.money(), 1);
    assert_eq!(sandbox.lookup("refusing").reply().expect(200), first);
}

#[test]
fn an_account_without_promises_charges_twice_and_the_truth_shows_it() {
    let sandbox = Sandbox::start();
    for account in ["again", "blind"] {
        let first = sandbox.charge(account, "pm_card").reply().expect(200);
        let second = sandbox.charge(account, "pm_card").reply().expect(200);
        assert_ne!(first["transaction"], second["transaction"]);
        assert_eq!((first.get("charges"), &second["charges"]), (None, &json!(2)));
    }
    assert_eq!(sandbox.money(), 4);
    let shown = sandbox.lookup("again").reply().expect(200);
    assert_eq!((&shown["charges"], &shown["status"]), (&json!(2), &json!("succeeded")));
    let path = format!("/truth?account=blind&reference={REFERENCE}");
    let truth = sandbox.admin("GET", &path, &Value::Null).json();
    let charges = truth["charges"].as_array().unwrap();
    assert_eq!((charges.len(), truth["requests"].as_array().unwrap().len()), (2, 2));
    assert_ne!(charges[0]["transaction"], charges[1]["transaction"]);
    assert!(charges.iter().all(|charge| charge["amount"] == 1999 && charge["account"] == "blind"));
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
fn a_lookup_shows_what_is_known_where_it_is_offered() {
    let sandbox = Sandbox::start();
    let body = sandbox.lookup("main").reply().expect(404);
    assert_eq!((&body["error"], &body["executed"]), (&json!("not_found"), &Value::Null));
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    assert_eq!(sandbox.lookup("main").reply().expect(200), charged);
    // Not offered is not offered, whether or not anything is known.
    for method in [None, Some("pm_card")] {
        if let Some(method) = method {
            sandbox.charge("blind", method).reply().expect(200);
        }
        let body = sandbox.lookup("blind").reply().expect(405);
        let said = (&body["error"], &body["executed"]);
        assert_eq!(said, (&json!("lookup_not_offered"), &Value::Null));
    }
}

#[test]
fn a_charge_is_not_known_to_another_account() {
    let sandbox = Sandbox::start();
    sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.lookup("refusing").reply().expect(404);
    assert_eq!(sandbox.charge("refusing", "pm_other").reply().expect(200)["status"], "succeeded");
    assert_eq!(sandbox.money(), 2);
    let other = Request::plain(&sandbox.channel, "GET", "/v1/charges/short", &Value::Null);
    assert_eq!(other.reply().status, 401);
}
