//! How an open charge ends: its payer pays, a client closes it, or its time is over.

use std::sync::atomic::{AtomicU32, Ordering};

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::client::{REFERENCE, Request, content};
use crate::process::{Sandbox, until};

/// Long enough to send a few requests before it is over.
const SOON_MS: i64 = 1_500;

/// An open charge whose time is soon over.
fn brief() -> Value {
    let mut content = content("pm_action");
    content["pay_before"] = json!(Utc::now() + TimeDelta::milliseconds(SOON_MS));
    content
}

fn until_over(sandbox: &Sandbox) {
    until("the first charge is over", || sandbox.truth()["objects"][0]["status"] == "closed");
}

#[test]
fn an_unknown_reference_is_closed_by_a_tombstone_that_no_charge_passes() {
    for account in ["main", "refusing", "again", "blind"] {
        let sandbox = Sandbox::start();
        let closed = sandbox.close(account).reply().expect(200);
        assert_eq!((&closed["status"], &closed["amount"]), (&json!("closed"), &json!(0)));
        assert_eq!((&closed["currency"], &closed["reference"]), (&json!("XXX"), &json!(REFERENCE)));
        assert_eq!(sandbox.close(account).reply().expect(200), closed);
        for method in ["pm_card", "pm_decline"] {
            let late = sandbox.charge(account, method).reply();
            assert_eq!(late.expect(200), closed, "{account}");
            assert_eq!(late.headers.contains_key("x-sandbox-replayed"), account == "main");
        }
        assert_eq!(sandbox.pay(account).json()["error"], "not_open");
        let truth = sandbox.truth();
        assert_eq!(
            (&truth["charges"], truth["objects"].as_array().unwrap().len()),
            (&json!([]), 1)
        );
    }
}

#[test]
fn a_closed_reference_never_takes_money() {
    for account in ["main", "refusing", "again", "blind"] {
        for method in ["pm_action", "pm_decline"] {
            let sandbox = Sandbox::start();
            sandbox.charge(account, method).reply().expect(200);
            for _ in 0..2 {
                let object = sandbox.close(account).reply().expect(200);
                assert_eq!(
                    (&object["status"], &object["amount"]),
                    (&json!("closed"), &json!(1999))
                );
                assert_eq!(
                    (&object["action"], &object["decline_code"]),
                    (&Value::Null, &Value::Null)
                );
            }
            let object = sandbox.charge(account, method).reply().expect(200);
            assert_eq!(object["status"], "closed", "{account}");
            assert_eq!(sandbox.pay(account).status, 409);
            assert_eq!(sandbox.money(), 0);
        }
    }
}

#[test]
fn a_close_after_money_moved_is_refused_with_the_charge() {
    let sandbox = Sandbox::start();
    for account in ["main", "refusing", "again"] {
        sandbox.charge(account, "pm_action").reply().expect(200);
        assert_eq!(sandbox.pay(account).status, 200);
        let body = sandbox.close(account).reply().expect(409);
        let said = (&body["error"], &body["executed"]);
        assert_eq!(said, (&json!("already_succeeded"), &Value::Null), "{account}");
        assert_eq!(body["charge"], sandbox.lookup(account).reply().expect(200));
        assert_eq!(
            (&body["charge"]["status"], &body["charge"]["amount"]),
            (&json!("succeeded"), &json!(1999))
        );
    }
    assert_eq!(sandbox.money(), 3);
}

#[test]
fn an_open_charge_is_paid_once_by_its_payer() {
    let sandbox = Sandbox::start();
    assert_eq!((sandbox.pay("main").status, sandbox.pay("nobody").status), (404, 404));
    sandbox.charge("main", "pm_action").reply().expect(200);
    assert_eq!(sandbox.money(), 0);
    let paid = sandbox.pay("main");
    assert_eq!((paid.status, &paid.json()["status"]), (200, &json!("succeeded")));
    assert!(!paid.headers.contains_key("x-sandbox-signature"));
    assert_eq!(sandbox.lookup("main").reply().expect(200), paid.json());
    // A repeat of the charge shows what became of it.
    let again = sandbox.charge("main", "pm_action").reply();
    assert_eq!(
        (again.expect(200), again.headers["x-sandbox-replayed"].as_str()),
        (paid.json(), "true")
    );
    let second = sandbox.pay("main");
    assert_eq!((second.status, &second.json()["charge"]), (409, &paid.json()));
    let charges = &sandbox.truth()["charges"];
    assert_eq!(
        (charges.as_array().unwrap().len(), &charges[0]["transaction"]),
        (1, &paid.json()["transaction"])
    );
    // What succeeded or was declined at once has nothing for a payer to pay.
    for method in ["pm_card", "pm_decline"] {
        let sandbox = Sandbox::start();
        let object = sandbox.charge("main", method).reply().expect(200);
        let body = sandbox.pay("main").json();
        assert_eq!((&body["error"], &body["charge"]), (&json!("not_open"), &object), "{method}");
    }
}

#[test]
fn payers_and_closers_that_come_together_agree_on_one_end() {
    let sandbox = Sandbox::start();
    sandbox.charge("main", "pm_action").reply().expect(200);
    let (paid, closed) = (AtomicU32::new(0), AtomicU32::new(0));
    let count = |status, ends: &AtomicU32| {
        ends.fetch_add(u32::from(status == 200), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| count(sandbox.pay("main").status, &paid));
            scope.spawn(|| count(sandbox.close("main").reply().status, &closed));
        }
    });
    let ended = (paid.into_inner(), closed.into_inner());
    assert_eq!(ended, if sandbox.money() == 1 { (1, 0) } else { (0, 5) });
}

#[test]
fn an_open_charge_is_closed_by_its_own_time() {
    let sandbox = Sandbox::start();
    let brief = brief();
    assert_eq!(sandbox.charge_of("main", &brief).reply().expect(200)["status"], "open");
    until_over(&sandbox);
    assert_eq!(sandbox.lookup("main").reply().expect(200)["status"], "closed");
    assert_eq!(sandbox.charge_of("main", &brief).reply().expect(200)["status"], "closed");
    let body = sandbox.pay("main").json();
    assert_eq!((&body["error"], &body["charge"]["status"]), (&json!("not_open"), &json!("closed")));
    assert_eq!(sandbox.close("main").reply().expect(200)["status"], "closed");

    let mut late = content("pm_action");
    late["pay_before"] = json!("2020-01-01T00:00:00Z");
    assert_eq!(sandbox.charge_of("again", &late).reply().expect(200)["status"], "closed");
    assert_eq!(sandbox.charge_of("again", &late).reply().expect(200)["status"], "closed");
    assert_eq!(sandbox.money(), 0);
    // The time binds an open charge only.
    late["payment_method"] = json!("pm_card");
    assert_eq!(sandbox.charge_of("refusing", &late).reply().expect(200)["status"], "succeeded");
}

#[test]
fn a_charge_whose_time_is_over_does_not_hide_one_that_can_still_be_paid() {
    let sandbox = Sandbox::start();
    sandbox.charge_of("again", &brief()).reply().expect(200);
    assert_eq!(sandbox.charge("again", "pm_action").reply().expect(200)["status"], "open");
    until_over(&sandbox);
    assert_eq!(sandbox.lookup("again").reply().expect(200)["status"], "open");
    let paid = sandbox.pay("again");
    assert_eq!((paid.status, &paid.json()["charges"]), (200, &json!(2)));
    assert_eq!(sandbox.lookup("again").reply().expect(200), paid.json());
    let objects = &sandbox.truth()["objects"];
    assert_eq!(
        (&objects[0]["status"], &objects[1]["status"]),
        (&json!("closed"), &json!("succeeded"))
    );
}

#[test]
fn a_reference_where_money_moved_is_not_called_closed() {
    let sandbox = Sandbox::start();
    sandbox.charge_of("again", &brief()).reply().expect(200);
    sandbox.charge("again", "pm_card").reply().expect(200);
    until_over(&sandbox);
    let third = sandbox.charge("again", "pm_card").reply().expect(200);
    assert_eq!((&third["status"], &third["charges"]), (&json!("succeeded"), &json!(3)));
    assert_eq!(sandbox.pay("again").json()["charge"]["status"], "succeeded");
    assert_eq!(sandbox.money(), 2);
}

#[test]
fn a_close_of_two_open_charges_leaves_none_for_a_payer() {
    let sandbox = Sandbox::start();
    for _ in 0..2 {
        sandbox.charge("again", "pm_action").reply().expect(200);
    }
    let closed = sandbox.close("again").reply().expect(200);
    assert_eq!((&closed["status"], &closed["charges"]), (&json!("closed"), &json!(2)));
    assert_eq!(sandbox.pay("again").status, 409);
    assert_eq!(sandbox.money(), 0);
}

#[test]
fn a_close_needs_no_body_and_a_path_of_its_own() {
    let sandbox = Sandbox::start();
    let path = format!("/v1/charges/{REFERENCE}/close");
    let with_body = Request::plain(&sandbox.channel, "POST", &path, &json!({ "why": "changed" }));
    assert_eq!(with_body.signed("main").reply().expect(200)["status"], "closed");
    let wrong = Request::plain(&sandbox.channel, "GET", &path, &Value::Null).signed("main");
    assert_eq!(wrong.reply().status, 405);
}
