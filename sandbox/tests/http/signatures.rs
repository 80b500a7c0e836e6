//! Who may speak to the channel, and what it says to those who may not.

use serde_json::{Value, json};

use crate::client::{NONCE, REFERENCE, Request, content, now_seconds};
use crate::process::Sandbox;

/// Computed by another program from the words of the README.
const TAG: &str = "6a368392d748b0cad561c9b8fa13ea95462d2f4b11e303ae2694fb5e6d7192fa";

fn unsigned(sandbox: &Sandbox) -> Request {
    Request::plain(&sandbox.channel, "POST", "/v1/charges", &content("pm_card"))
}

/// Nothing is executed, and the channel says so.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, what: &str, request: &Request) {
    let reply = request.reply();
    let body = reply.json();
    assert_eq!((reply.status, &body["error"]), (401, &json!("bad_signature")), "{what}");
    assert_eq!(body["executed"], false, "{what}");
    let nonce = request.headers.iter().find(|(name, _)| name == "X-Sandbox-Nonce");
    let nonce = nonce.map_or("", |(_, nonce)| nonce);
    assert!(reply.is_signed_for(nonce), "{what}");
    assert_eq!(sandbox.last_request()["outcome"], "bad_signature", "{what}");
    assert_eq!(sandbox.truth()["objects"], json!([]), "{what}");
}

#[test]
fn the_client_signs_as_the_readme_says() {
    let body = "{\"reference\":\"abcdefghijklmnopqrstuvwxyz\",\"amount\":1999,\
        \"currency\":\"CNY\",\"payment_method\":\"pm_card\"}";
    let request = Request::plain("", "POST", "/v1/charges", &Value::Null);
    let request = Request { body: body.to_owned(), ..request };
    let request = request.signed_with("main", 1_790_000_000, "nonce-1");
    assert_eq!(request.value("X-Sandbox-Signature"), TAG);
}

#[test]
fn an_unknown_account_is_told_so_without_a_signature() {
    let sandbox = Sandbox::start();
    for request in [sandbox.charge("nobody", "pm_card"), unsigned(&sandbox)] {
        let reply = request.reply();
        assert_eq!(reply.status, 401);
        assert!(!reply.headers.contains_key("x-sandbox-signature"));
        assert_eq!(reply.json()["error"], "unknown_account");
        assert_eq!(reply.json()["executed"], Value::Null);
        assert_eq!(sandbox.last_request()["outcome"], "unknown_account");
    }
}

#[test]
fn each_part_of_a_request_is_covered_by_its_signature() {
    let sandbox = Sandbox::start();
    let good = || sandbox.charge("main", "pm_card");
    let other_method = Request { method: "PUT", ..unsigned(&sandbox) }.signed("main");
    let other_path = Request { path: "/v1/charge".to_owned(), ..unsigned(&sandbox) }.signed("main");
    let here = unsigned(&sandbox).path;
    let tag = good().value("X-Sandbox-Signature");
    let mut other_body = good();
    other_body.body = other_body.body.replace("1999", "1998");
    for (what, request) in [
        ("method", Request { method: "POST", ..other_method }),
        ("path", Request { path: here, ..other_path }),
        ("body", other_body),
        ("timestamp", good().header("X-Sandbox-Timestamp", &(now_seconds() + 9).to_string())),
        ("nonce", good().header("X-Sandbox-Nonce", "another")),
        ("account", good().header("X-Sandbox-Account", "stranger")),
        ("capitals", good().header("X-Sandbox-Signature", &tag.to_uppercase())),
        ("cut", good().header("X-Sandbox-Signature", &tag[..62])),
        ("not hex", good().header("X-Sandbox-Signature", "signed, yours truly")),
        ("no signature", good().without("X-Sandbox-Signature")),
        ("no timestamp", good().without("X-Sandbox-Timestamp")),
        ("no nonce", good().without("X-Sandbox-Nonce")),
    ] {
        if what == "account" {
            // Its answer is signed by the stranger, whose key this client does not have.
            assert_eq!(request.reply().json()["error"], "bad_signature");
        } else {
            assert_refused(&sandbox, what, &request);
        }
    }
    good().reply().expect(200);
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_lookup_and_a_close_of_another_reference_are_refused() {
    let sandbox = Sandbox::start();
    let other = "0".repeat(26);
    for request in [sandbox.lookup("main"), sandbox.close("main")] {
        let path = request.path.replace(REFERENCE, &other);
        assert_refused(&sandbox, &path.clone(), &Request { path, ..request });
    }
}

#[test]
fn a_timestamp_and_a_nonce_have_limits() {
    let sandbox = Sandbox::start();
    let sign = |seconds, nonce: &str| unsigned(&sandbox).signed_with("main", seconds, nonce);
    let now = now_seconds();
    assert_refused(&sandbox, "stale", &sign(now - 310, NONCE));
    assert_refused(&sandbox, "early", &sign(now + 400, NONCE));
    assert_refused(&sandbox, "milliseconds", &sign(now * 1000, NONCE));
    assert_refused(&sandbox, "long nonce", &sign(now, &"n".repeat(65)));
    let longest = "n".repeat(64);
    for (seconds, nonce) in [(now - 200, NONCE), (now + 290, NONCE), (now, longest.as_str())] {
        let reply = sign(seconds, nonce).reply();
        assert!(reply.status == 200 && reply.is_signed_for(nonce), "{seconds} {nonce}");
    }
    // A nonce is not remembered.
    sign(now, NONCE).reply().expect(200);
    assert_eq!(sandbox.money(), 1);
}

#[test]
fn a_query_is_not_covered_and_changes_nothing() {
    let sandbox = Sandbox::start();
    let request = sandbox.charge("main", "pm_card");
    let path = format!("{}?amount=1", request.path);
    assert_eq!(Request { path, ..request }.reply().expect(200)["amount"], 1999);
}

#[test]
fn each_part_of_an_answer_is_covered_by_its_signature() {
    let sandbox = Sandbox::start();
    let reply = || sandbox.lookup("main").reply();
    reply().expect(404);
    assert!(!reply().is_signed_for("another"));
    let mut status = reply();
    status.status = 200;
    let mut body = reply();
    body.body.push(b' ');
    let mut timestamp = reply();
    timestamp.headers.insert("x-sandbox-timestamp".to_owned(), "1790000000".to_owned());
    for altered in [status, body, timestamp] {
        assert!(!altered.is_signed(), "{altered:?}");
    }
    let at: u64 = reply().headers["x-sandbox-timestamp"].parse().unwrap();
    assert!(at.abs_diff(now_seconds()) < 60);
}

#[test]
fn a_request_that_breaks_a_rule_is_refused_for_good() {
    let sandbox = Sandbox::start();
    for (field, value) in [
        ("reference", json!("short")),
        ("reference", json!("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
        ("amount", json!(0)),
        ("amount", json!(-1)),
        ("amount", json!(19.99)),
        ("amount", json!("1999")),
        ("amount", json!(9_007_199_254_740_992_u64)),
        ("currency", json!("cny")),
        ("currency", json!("CNYX")),
        ("payment_method", json!("")),
        ("payment_method", json!("pm card")),
        ("payment_method", json!("p".repeat(65))),
        ("description", json!("d".repeat(256))),
        ("pay_before", json!("tomorrow")),
        ("surprise", json!(1)),
    ] {
        let mut content = content("pm_card");
        content[field] = value.clone();
        let body = sandbox.charge_of("main", &content).reply().expect(400);
        let said = (&body["error"], &body["executed"]);
        assert_eq!(said, (&json!("invalid_request"), &json!(false)), "{field} {value}");
    }
    for path in ["/v1/charges/short", "/v1/charges/short/close"] {
        let method = if path.ends_with("close") { "POST" } else { "GET" };
        let request = Request::plain(&sandbox.channel, method, path, &Value::Null).signed("main");
        assert_eq!(request.reply().expect(400)["error"], "invalid_request");
    }
    assert_eq!(sandbox.truth()["objects"], json!([]));
    let mut huge = content("pm_card");
    huge["description"] = json!("x".repeat(65_536));
    let reply = sandbox.charge_of("main", &huge).reply();
    assert_eq!((reply.status, reply.is_signed()), (413, false));
}

#[test]
fn the_largest_values_are_taken() {
    let sandbox = Sandbox::start();
    let most = json!({ "reference": REFERENCE, "amount": 9_007_199_254_740_991_u64,
        "currency": "XTS", "payment_method": "p".repeat(64), "description": "茶".repeat(255),
        "pay_before": "2030-01-01T08:00:00+08:00" });
    let object = sandbox.charge_of("main", &most).reply().expect(200);
    assert_eq!((&object["amount"], &object["currency"]), (&most["amount"], &json!("XTS")));
    // The same moment in other words is the same content.
    let mut same = most.clone();
    same["pay_before"] = json!("2030-01-01T00:00:00Z");
    assert_eq!(sandbox.charge_of("main", &same).reply().expect(200), object);
}

#[test]
fn both_ports_are_healthy() {
    let sandbox = Sandbox::start();
    for address in [&sandbox.channel, &sandbox.fulfilment] {
        let reply = Request::plain(address, "GET", "/healthz", &Value::Null).reply();
        assert_eq!((reply.status, reply.body.as_slice()), (200, b"ok".as_slice()));
    }
}
