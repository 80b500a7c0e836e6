use super::*;
use domain::{DeclineClass, NotExecutedProof, UnixMillis};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use std::time::SystemTime;

const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn settings() -> wire::AccountSettings {
    serde_json::from_value(serde_json::json!({
        "account": "main", "secret": SECRET, "idempotent": true, "lookup": true,
        "refuses_known_reference": true, "grace_ms": 1000, "call_limit_ms": 1000,
    }))
    .expect("valid")
}

fn signer() -> Signer {
    let account = ChannelAccount::parse("main").expect("valid");
    Signer::new(&account, &settings().secret).expect("long enough")
}

fn reference() -> ChannelReference {
    ChannelReference::parse("a".repeat(26)).expect("valid")
}

/// Signs an answer as the sandbox's page says, from the words of that page.
fn signed(status: u16, body: &str) -> Answer {
    use aws_lc_rs::{digest, hmac};
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let timestamp = now.as_secs().to_string();
    let hash = hex::encode(digest::digest(&digest::SHA256, body.as_bytes()));
    let text = format!("{status}\n{timestamp}\nnonce\n{hash}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &hex::decode(SECRET).expect("hex"));
    let mut headers = HeaderMap::new();
    let value = |text: &str| HeaderValue::from_str(text).expect("ascii");
    headers.insert("X-Sandbox-Timestamp", value(&timestamp));
    let signature = hex::encode(hmac::sign(&key, text.as_bytes()));
    headers.insert("X-Sandbox-Signature", value(&signature));
    let status = StatusCode::from_u16(status).expect("a status");
    Answer { status, headers, body: body.as_bytes().to_vec() }
}

fn object(status: &str, more: &str) -> String {
    let reference = reference();
    format!(
        r#"{{"reference":"{reference}","status":"{status}","amount":1999,"currency":"CNY"{more}}}"#
    )
}

fn charged(answer: &Answer) -> Charged {
    map::charge(&signer(), answer, "nonce", &reference(), UnixMillis(0))
}

fn charge(answer: &Answer) -> ChargeAnswer {
    match charged(answer) {
        Charged::Answer(answer) => answer,
        Charged::RefusedAndPayable { .. } => panic!("refused and payable"),
    }
}

fn account(change: impl FnOnce(&mut wire::AccountSettings)) -> SandboxAccount {
    let mut settings = settings();
    change(&mut settings);
    let base = Url::parse("http://127.0.0.1:1").expect("valid");
    SandboxAccount::new(http::client().expect("built"), base, &settings).expect("valid")
}

#[test]
fn a_signed_success_is_money() {
    let answer = charge(&signed(200, &object("succeeded", r#","transaction":"sbx_1""#)));
    assert!(matches!(answer, ChargeAnswer::Succeeded { .. }), "{answer:?}");
}

#[test]
fn a_success_that_is_not_proved_is_unknown() {
    let good = object("succeeded", r#","transaction":"sbx_1""#);
    let mut unsigned = signed(200, &good);
    unsigned.headers.remove("X-Sandbox-Signature");
    let mut altered = signed(200, &good);
    altered.body = good.replace("1999", "2999").into_bytes();
    let mut other_status = signed(200, &good);
    other_status.status = StatusCode::CREATED;
    let mut stale = signed(200, &good);
    stale.headers.insert("X-Sandbox-Timestamp", HeaderValue::from_static("1000"));
    let other_reference = good.replace(reference().as_str(), &"b".repeat(26));
    let cases = [
        unsigned,
        altered,
        other_status,
        stale,
        signed(200, &other_reference),
        signed(200, &object("succeeded", "")),
        signed(200, &object("weird", r#","transaction":"sbx_1""#)),
        signed(200, "<html>maintenance</html>"),
        signed(200, &good.replace("CNY", "cny")),
    ];
    for answer in cases {
        let said = charge(&answer);
        assert!(matches!(said, ChargeAnswer::Unknown { .. }), "{said:?}");
    }
}

#[test]
fn only_the_channels_signed_word_proves_that_nothing_was_executed() {
    let word = r#"{"error":"not_accepted","message":"","executed":false}"#;
    let proof = ChargeAnswer::NotExecuted { proof: NotExecutedProof::ChannelSaidSo };
    assert_eq!(charge(&signed(503, word)), proof);
    let mut unsigned = signed(503, word);
    unsigned.headers.clear();
    let unknown = ChargeAnswer::Unknown { why: UnknownReason::ChannelError };
    assert_eq!(charge(&unsigned), unknown);
    for other in [
        r#"{"error":"internal"}"#,
        r#"{"error":"internal","executed":true}"#,
        r#"{"error":"reference_reused"}"#,
    ] {
        let said = charge(&signed(500, other));
        assert!(matches!(said, ChargeAnswer::Unknown { .. }), "{said:?}");
    }
    let known = charge(&signed(409, r#"{"error":"reference_known"}"#));
    assert_eq!(known, ChargeAnswer::Unknown { why: UnknownReason::ReferenceKnown });
}

#[test]
fn under_maintenance_a_charge_is_not_executed_and_no_other_request_learns_anything() {
    let window = r#"{"error":"maintenance","message":"","executed":false,"until":"2026-12-01"}"#;
    let proof = ChargeAnswer::NotExecuted { proof: NotExecutedProof::ChannelSaidSo };
    assert_eq!(charge(&signed(503, window)), proof);
    let why = UnknownReason::ChannelError;
    let lookup = map::lookup(&signer(), &signed(503, window), "nonce", &reference());
    assert_eq!(lookup, LookupAnswer::Unknown { why });
    let close = map::close(&signer(), &signed(503, window), "nonce", &reference());
    assert_eq!(close, CloseAnswer::Unknown { why });
    let not_offered = signed(405, r#"{"error":"close_not_offered"}"#);
    let close = map::close(&signer(), &not_offered, "nonce", &reference());
    assert_eq!(close, CloseAnswer::Unknown { why });
}

#[test]
fn a_refusal_that_leaves_the_charge_payable_is_no_decline_and_open_to_a_lookup() {
    let more = r#","decline_code":"insufficient_funds","decline_final":false,"action":null"#;
    let answer = signed(200, &object("open", more));
    let Charged::RefusedAndPayable { class, code } = charged(&answer) else {
        panic!("not seen as payable")
    };
    assert_eq!((class, code.as_str()), (DeclineClass::MayPayAgain, "insufficient_funds"));
    let lookup = map::lookup(&signer(), &answer, "nonce", &reference());
    assert_eq!(lookup, LookupAnswer::Open { action: None, pay_before: None });
    let bare = charge(&signed(200, &object("open", "")));
    assert_eq!(bare, ChargeAnswer::Unknown { why: UnknownReason::Unreadable });
}

#[test]
fn only_the_word_closed_makes_a_payable_refusal_a_decline() {
    let after =
        |closed| map::refused_and_payable(DeclineClass::MayPayAgain, "no_funds".to_owned(), closed);
    let close = |status, body: &str| {
        after(Some(map::close(&signer(), &signed(status, body), "nonce", &reference())))
    };
    let declined =
        ChargeAnswer::Declined { class: DeclineClass::MayPayAgain, code: "no_funds".to_owned() };
    assert_eq!(close(200, &object("closed", "")), declined);
    let paid = object("succeeded", r#","transaction":"sbx_1""#);
    let refusal = format!(r#"{{"error":"already_succeeded","charge":{paid}}}"#);
    assert!(matches!(close(409, &refusal), ChargeAnswer::Succeeded { .. }));
    for (status, body) in [
        (200, object("open", r#","decline_code":"no_funds""#)),
        (200, object("declined", r#","decline_code":"no_funds""#)),
        (404, r#"{"error":"not_found"}"#.to_owned()),
        (405, r#"{"error":"close_not_offered"}"#.to_owned()),
        (503, r#"{"error":"not_accepted","executed":false}"#.to_owned()),
    ] {
        let said = close(status, &body);
        assert!(matches!(said, ChargeAnswer::Unknown { .. }), "{body}: {said:?}");
    }
    let why = UnknownReason::TimedOut;
    assert_eq!(after(Some(CloseAnswer::Unknown { why })), ChargeAnswer::Unknown { why });
    assert_eq!(after(None), ChargeAnswer::Unknown { why: UnknownReason::StillPayable });
}

#[test]
fn a_payer_is_waited_for_only_where_something_can_tell_that_they_paid() {
    let action = r#","action":{"kind":"redirect","url":"https://pay.example/1"}"#;
    let waiting = charge(&signed(200, &object("open", action)));
    assert!(matches!(waiting, ChargeAnswer::AwaitingPayer { .. }), "{waiting:?}");
    let none = |settings: &mut wire::AccountSettings| {
        (settings.idempotent, settings.lookup, settings.close) = (false, false, false);
    };
    let answer = |change: &dyn Fn(&mut wire::AccountSettings)| {
        let capabilities = account(|settings| {
            none(settings);
            change(settings);
        })
        .capabilities();
        map::observable(waiting.clone(), &capabilities)
    };
    assert_eq!(answer(&|_| ()), ChargeAnswer::Unknown { why: UnknownReason::NotObservable });
    assert_eq!(answer(&|settings| settings.idempotent = true), waiting);
    assert_eq!(answer(&|settings| settings.lookup = true), waiting);
    assert_eq!(answer(&|settings| settings.close = true), waiting);
    let capabilities = account(none).capabilities();
    let paid = charge(&signed(200, &object("succeeded", r#","transaction":"sbx_1""#)));
    assert_eq!(map::observable(paid.clone(), &capabilities), paid);
}

#[test]
fn an_account_promises_what_its_settings_say() {
    let old = account(|_| ()).capabilities();
    assert!(old.close, "as before the setting was there");
    assert_eq!(old.idempotent_for, Some(Duration::from_secs(86_400)));
    let new = account(|settings| (settings.close, settings.idempotency_window_s) = (false, 60));
    let new = new.capabilities();
    assert_eq!((new.close, new.idempotent_for), (false, Some(Duration::from_secs(60))));
    let never = account(|settings| settings.idempotent = false).capabilities();
    assert_eq!(never.idempotent_for, None);
}

#[test]
fn a_decline_keeps_the_channels_code_and_none_of_its_text() {
    let more = r#","decline_code":"no funds <b>4111111111111111</b>","decline_final":true"#;
    let ChargeAnswer::Declined { class, code } = charge(&signed(200, &object("declined", more)))
    else {
        panic!("not declined")
    };
    assert_eq!(class, DeclineClass::Final);
    assert!(!code.contains(' ') && code.len() <= 40, "{code}");
}

#[test]
fn not_found_is_not_found_only_when_the_channel_says_so() {
    let lookup = |answer| map::lookup(&signer(), &answer, "nonce", &reference());
    let said = lookup(signed(404, r#"{"error":"not_found"}"#));
    assert_eq!(said, LookupAnswer::NotFound);
    let mut unsigned = signed(404, r#"{"error":"not_found"}"#);
    unsigned.headers.clear();
    assert!(matches!(lookup(unsigned), LookupAnswer::Unknown { .. }));
    let other = lookup(signed(404, r#"{"error":"no_such_path"}"#));
    assert!(matches!(other, LookupAnswer::Unknown { .. }));
}

#[test]
fn instants_are_written_as_the_channel_reads_them() {
    for (millis, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (1_709_210_096_999, "2024-02-29T12:34:56Z"),
        (1_796_119_530_000, "2026-12-01T10:05:30Z"),
        (4_107_542_399_000, "2100-02-28T23:59:59Z"),
    ] {
        assert_eq!(wire::rfc3339(UnixMillis(millis)), text);
    }
}

#[test]
fn settings_name_what_is_wrong() {
    for (field, value) in [
        ("secret", serde_json::json!("abcd")),
        ("call_limit_ms", serde_json::json!(0)),
        ("grace_ms", serde_json::json!(99_999_999)),
        ("account", serde_json::json!("")),
        ("idempotency_window_s", serde_json::json!(0)),
        ("idempotency_window_s", serde_json::json!(31_622_401)),
    ] {
        let mut one = serde_json::json!({
            "account": "main", "secret": SECRET, "idempotent": true, "lookup": true,
            "refuses_known_reference": true, "grace_ms": 1000, "call_limit_ms": 1000,
        });
        one[field] = value;
        let list = serde_json::Value::Array(vec![one]).to_string();
        let error = accounts("http://127.0.0.1:1", &list).expect_err("refused").to_string();
        assert!(error.contains(field), "{error}");
    }
    assert!(accounts("ftp://x", "[]").is_err());
}

#[test]
fn a_secret_is_never_shown() {
    let account = accounts(
        "http://127.0.0.1:1",
        &serde_json::json!([{
            "account": "main", "secret": SECRET, "idempotent": true, "lookup": true,
            "refuses_known_reference": true, "grace_ms": 1000, "call_limit_ms": 1000,
        }])
        .to_string(),
    );
    assert!(!format!("{account:?}").contains("0001020304"));
}
