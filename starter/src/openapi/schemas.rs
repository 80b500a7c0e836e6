//! The schemas of what the API reads and shows. A test holds each against what is really rendered.

use super::schema::{
    any_object, body, boolean, constant, count, extended, instant, instant_or_null, list, object,
    or_null, pattern, reference, text, text_or_null, words,
};
use super::{distinct, records};
use crate::api::code::Code;
use crate::api::limits::{DEFAULT_PAGE, MAX_COUPON_LEN, MAX_PAGE};
use domain::audit::MAX_EVIDENCE_LEN;
use domain::ids::{MAX_FOREIGN_ID_LEN, MAX_KEY_LEN, MAX_MERCHANT_LEN, MAX_OPERATOR_LEN};
use domain::money::MAX_MINOR_UNITS;
use domain::order::{MAX_ORDER_LINES, MAX_QUANTITY};
use domain::{ChoiceKind, OrderState, ReviewReason};
use serde_json::{Map, Value, json};
use store::reads::ReviewState;

pub(super) const PAYMENT_STATES: [&str; 9] = [
    "Created",
    "Processing",
    "AwaitingPayer",
    "Unknown",
    "Succeeded",
    "Persisted",
    "Failed",
    "Closed",
    "ManualReview",
];
const FAILURES: [&str; 5] =
    ["declined", "declined_finally", "not_executed", "not_started", "confirmed_not_paid"];

/// The schema of the id in a path.
pub(super) fn id_of(path: &str) -> &'static str {
    match path.split('/').nth(2) {
        Some("orders") => "OrderId",
        Some("reviews") => "ReviewId",
        _ => "PaymentId",
    }
}

/// Every schema by its name.
pub(super) fn all() -> Map<String, Value> {
    let mut all = Map::new();
    for (name, schema) in values().into_iter().chain(bodies()).chain(resources()) {
        all.insert(name.to_owned(), schema);
    }
    for (name, schema) in records::all() {
        all.insert(name.to_owned(), schema);
    }
    all
}

fn values() -> Vec<(&'static str, Value)> {
    let foreign = || pattern(&format!("^[!-~]{{1,{MAX_FOREIGN_ID_LEN}}}$"));
    let method = format!("^(?=.*[A-Za-z_])[A-Za-z0-9_-]{{1,{MAX_FOREIGN_ID_LEN}}}$");
    let evidence = json!({
        "type": "string", "minLength": 1, "maxLength": MAX_EVIDENCE_LEN,
        "description": format!("At most {MAX_EVIDENCE_LEN} bytes, without control characters."),
    });
    let states = ReviewState::ALL.map(ReviewState::as_str);
    let wanted = states.map(str::to_ascii_lowercase);
    vec![
        ("OrderId", pattern("^ord_[a-z2-7]{26}$")),
        ("PaymentId", pattern("^pay_[a-z2-7]{26}$")),
        ("ReviewId", pattern("^rev_[a-z2-7]{26}$")),
        ("Merchant", pattern(&format!("^[a-z0-9-]{{1,{MAX_MERCHANT_LEN}}}$"))),
        ("Operator", pattern(&format!("^[a-z0-9._-]{{1,{MAX_OPERATOR_LEN}}}$"))),
        ("IdempotencyKey", key()),
        ("DecisionKey", pattern(&format!("^[!#-~][!-~]{{0,{}}}$", MAX_FOREIGN_ID_LEN - 1))),
        ("Sku", foreign()),
        ("Account", foreign()),
        ("Transaction", foreign()),
        ("PaymentMethod", pattern(&method)),
        ("Currency", pattern("^[A-Z]{3}$")),
        ("Amount", json!({ "type": "integer", "minimum": 0, "maximum": MAX_MINOR_UNITS })),
        ("Channel", words(&["sandbox"])),
        ("PaymentState", words(&PAYMENT_STATES)),
        ("OrderState", words(&OrderState::ALL.map(OrderState::as_str))),
        ("ReviewState", words(&states)),
        ("ReviewStateWanted", json!({ "type": "string", "enum": wanted })),
        ("ReviewReason", words(&ReviewReason::ALL.map(ReviewReason::as_str))),
        ("ChoiceKind", words(&ChoiceKind::ALL.map(ChoiceKind::as_str))),
        ("Evidence", evidence),
        (
            "PageLimit",
            json!({
                "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE,
            }),
        ),
        ("Cursor", pattern("^[0-9a-f]+$")),
    ]
}

/// A plain key. The form of RFC 9651, in quotes, is read as well.
fn key() -> Value {
    let inner = MAX_KEY_LEN - 2;
    pattern(&format!("^[!#-~]([ -~]{{0,{inner}}}[!-~])?$"))
}

fn bodies() -> Vec<(&'static str, Value)> {
    let line = body(
        &[
            ("sku", reference("Sku")),
            ("quantity", json!({ "type": "integer", "minimum": 1, "maximum": MAX_QUANTITY })),
        ],
        &[],
    );
    let lines = json!({
        "type": "array", "minItems": 1, "maxItems": MAX_ORDER_LINES,
        "items": reference("NewOrderLine"),
    });
    let coupon = or_null(&pattern(&format!("^[!-~]{{1,{MAX_COUPON_LEN}}}$")));
    let new_order =
        body(&[("merchant", reference("Merchant")), ("items", lines)], &[("coupon", coupon)]);
    let amount = json!({ "type": "integer", "minimum": 1, "maximum": MAX_MINOR_UNITS });
    let new_payment = body(
        &[
            ("merchant", reference("Merchant")),
            ("order", reference("OrderId")),
            ("amount", amount),
            ("currency", reference("Currency")),
            ("channel", reference("Channel")),
            ("account", reference("Account")),
            ("payment_method", reference("PaymentMethod")),
        ],
        &[],
    );
    let new_decision = body(
        &[
            ("version", json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX })),
            ("choice", reference("Choice")),
            ("reason", reference("Evidence")),
        ],
        &[],
    );
    vec![
        ("NewOrder", new_order),
        ("NewOrderLine", line),
        ("NewPaymentIntent", new_payment),
        ("NewDecision", new_decision),
        ("Choice", choice()),
    ]
}

/// What a person chooses.
fn choice() -> Value {
    let paid = body(
        &[
            ("kind", constant("confirm_paid")),
            ("transaction", reference("Transaction")),
            ("amount", reference("Amount")),
            ("currency", reference("Currency")),
            ("evidence", reference("Evidence")),
        ],
        &[],
    );
    let not_paid =
        body(&[("kind", constant("confirm_not_paid")), ("evidence", reference("Evidence"))], &[]);
    let again =
        body(&[("kind", constant("resubmit_same_key")), ("risk", reference("Evidence"))], &[]);
    json!({ "oneOf": [paid, not_paid, again] })
}

fn resources() -> Vec<(&'static str, Value)> {
    let check = json!({
        "type": "object", "required": ["ok"],
        "properties": { "ok": boolean(), "problem": text() },
    });
    let checks = object(&[("database", check.clone()), ("temporal", check)]);
    let states = words(&["ready", "not_ready", "draining"]);
    vec![
        ("Health", object(&[("status", constant("ok"))])),
        ("Readiness", object(&[("status", states), ("checks", checks)])),
        ("Document", any_object()),
        ("Problem", problem()),
        ("Money", object(&[("amount", reference("Amount")), ("currency", reference("Currency"))])),
        ("Order", order()),
        ("PaymentIntent", payment_intent()),
        ("Review", review()),
        ("ReviewDetail", review_detail()),
        (
            "ReviewList",
            object(&[
                ("object", constant("list")),
                ("data", list(&reference("Review"))),
                ("has_more", boolean()),
                ("next_cursor", or_null(&reference("Cursor"))),
            ]),
        ),
        (
            "Decision",
            object(&[
                ("object", constant("decision")),
                ("outcome", words(&["decided", "proposed", "accepted"])),
                ("message", text()),
                ("review", or_null(&reference("ReviewDetail"))),
                ("payment", or_null(&reference("PaymentIntent"))),
            ]),
        ),
    ]
}

/// RFC 9457. What more there is depends on the code.
fn problem() -> Value {
    let codes = distinct(Code::all());
    let mut problem = object(&[
        ("type", pattern("^urn:oncepay:problem:[a-z_]+$")),
        ("title", text()),
        ("status", json!({ "type": "integer", "minimum": 400, "maximum": 599 })),
        ("detail", text()),
        ("code", words(&codes)),
        ("request_id", text()),
    ]);
    problem["properties"]["field"] = text();
    problem["properties"]["payment"] = reference("PaymentId");
    problem["properties"]["sku"] = reference("Sku");
    problem
}

fn order() -> Value {
    let item = object(&[
        ("sku", reference("Sku")),
        ("name", text()),
        ("quantity", count()),
        ("unit_price", reference("Amount")),
        ("line_total", reference("Amount")),
    ]);
    let payment = object(&[("id", reference("PaymentId")), ("state", reference("PaymentState"))]);
    object(&[
        ("object", constant("order")),
        ("id", reference("OrderId")),
        ("merchant", reference("Merchant")),
        ("state", reference("OrderState")),
        ("currency", reference("Currency")),
        ("goods_total", reference("Amount")),
        ("discount", reference("Amount")),
        ("freight", reference("Amount")),
        ("payable", reference("Money")),
        ("coupon", text_or_null()),
        ("items", list(&item)),
        ("paid_by", or_null(&reference("PaymentId"))),
        ("payments", list(&payment)),
        ("close_at", instant()),
        ("created_at", instant()),
    ])
}

fn payment_intent() -> Value {
    let action = object(&[("kind", constant("redirect")), ("url", text())]);
    object(&[
        ("object", constant("payment_intent")),
        ("id", reference("PaymentId")),
        ("workflow_id", text()),
        ("merchant", reference("Merchant")),
        ("key", text()),
        ("order", reference("OrderId")),
        ("amount", reference("Amount")),
        ("currency", reference("Currency")),
        ("channel", reference("Channel")),
        ("account", reference("Account")),
        ("payment_method", reference("PaymentMethod")),
        ("started_by", or_null(&reference("Operator"))),
        ("state", reference("PaymentState")),
        ("effect", or_null(&words(&["Applied", "Surplus", "Late"]))),
        ("failure", or_null(&words(&FAILURES))),
        ("transaction", or_null(&reference("Transaction"))),
        ("action", or_null(&action)),
        ("pay_before", instant_or_null()),
        ("order_state", or_null(&reference("OrderState"))),
        ("review", or_null(&reference("ReviewId"))),
        ("permits_used", count()),
        ("version", count()),
        ("start_before", instant_or_null()),
        ("message", text()),
    ])
}

pub(super) fn review() -> Value {
    let money = object(&[
        ("transaction", text()),
        ("amount", reference("Amount")),
        ("currency", reference("Currency")),
    ]);
    object(&[
        ("object", constant("review")),
        ("id", reference("ReviewId")),
        ("state", reference("ReviewState")),
        ("version", count()),
        ("reason", reference("ReviewReason")),
        ("payment", reference("PaymentId")),
        ("payment_state", reference("PaymentState")),
        ("merchant", reference("Merchant")),
        ("key", text()),
        ("order", reference("OrderId")),
        ("amount", reference("Amount")),
        ("currency", reference("Currency")),
        ("channel", reference("Channel")),
        ("account", reference("Account")),
        ("reference", text()),
        ("money", or_null(&money)),
        ("opened_at", instant()),
        ("remind_at", instant()),
        ("ended_at", instant_or_null()),
        ("choice", or_null(&any_object())),
        ("decided_by", text_or_null()),
        ("proposed_by", list(&text())),
        ("decision_reason", text_or_null()),
    ])
}

fn review_detail() -> Value {
    let choice = object(&[
        ("kind", reference("ChoiceKind")),
        ("allowed", boolean()),
        ("rule", text_or_null()),
        ("why", text_or_null()),
    ]);
    let proposal = object(&[
        ("decision", text()),
        ("operator", text()),
        ("choice", any_object()),
        ("reason", text()),
        ("at", instant()),
    ]);
    extended(
        review(),
        &[
            ("authenticated", json!({ "type": ["boolean", "null"] })),
            ("started_by", or_null(&reference("Operator"))),
            ("choices", list(&choice)),
            ("proposals", list(&proposal)),
        ],
    )
}
