//! The schemas of the two views for people who look into something: the trace of an order and the
//! explanation of a payment.

use super::schema::{
    any_object, boolean, constant, count, instant, instant_or_null, list, object, or_null,
    reference, text, text_or_null, words,
};
use serde_json::Value;

pub(super) fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("Trace", trace()),
        ("TracedPayment", traced_payment()),
        ("TracedReview", traced_review()),
        ("Explanation", explanation()),
    ]
}

fn trace() -> Value {
    let line = object(&[
        ("at", instant()),
        ("what", text()),
        ("payment", or_null(&reference("PaymentId"))),
        ("text", text()),
    ]);
    let order_event = object(&[
        ("sequence", count()),
        ("from", reference("OrderState")),
        ("to", reference("OrderState")),
        ("actor", text()),
        ("payment", or_null(&reference("PaymentId"))),
        ("cause", any_object()),
        ("at", instant()),
    ]);
    object(&[
        ("object", constant("trace")),
        ("order", reference("Order")),
        ("order_events", list(&order_event)),
        ("payments", list(&reference("TracedPayment"))),
        ("timeline", list(&line)),
        ("truncated", boolean()),
    ])
}

fn traced_payment() -> Value {
    let event = object(&[
        ("sequence", count()),
        ("kind", text()),
        ("from", reference("PaymentState")),
        ("to", reference("PaymentState")),
        ("actor", text()),
        ("cause", any_object()),
        ("at", instant()),
    ]);
    let exchange = object(&[
        ("operation", text()),
        ("started_at", instant()),
        ("duration_ms", count()),
        ("outcome", text()),
        ("transaction", text_or_null()),
    ]);
    let money = object(&[
        ("transaction", text()),
        ("amount", reference("Amount")),
        ("currency", reference("Currency")),
        ("disposition", text()),
        ("source", text()),
        ("recorded_at", instant()),
    ]);
    let outbox = object(&[("kind", text()), ("sequence", count()), ("created_at", instant())]);
    object(&[
        ("id", reference("PaymentId")),
        ("merchant", reference("Merchant")),
        ("key", text()),
        ("amount", reference("Amount")),
        ("currency", reference("Currency")),
        ("channel", reference("Channel")),
        ("account", reference("Account")),
        ("reference", text()),
        ("state", reference("PaymentState")),
        ("live", boolean()),
        ("version", count()),
        ("permits_used", count()),
        ("transaction", text_or_null()),
        ("effect", text_or_null()),
        ("failure", text_or_null()),
        ("review_reason", text_or_null()),
        ("rebuilt", boolean()),
        ("start_before", instant()),
        ("first_sent_at", instant_or_null()),
        ("send_before", instant_or_null()),
        ("not_found_at", instant_or_null()),
        ("pay_before", instant_or_null()),
        ("attend_by", instant_or_null()),
        ("created_at", instant()),
        ("updated_at", instant()),
        ("workflow_id", text_or_null()),
        ("web_ui", text_or_null()),
        ("events", list(&event)),
        ("exchanges", list(&exchange)),
        ("money", list(&money)),
        ("reviews", list(&reference("TracedReview"))),
        ("outbox", list(&outbox)),
    ])
}

fn traced_review() -> Value {
    object(&[
        ("id", reference("ReviewId")),
        ("reason", reference("ReviewReason")),
        ("state", reference("ReviewState")),
        ("version", count()),
        ("opened_at", instant()),
        ("remind_at", instant()),
        ("ended_at", instant_or_null()),
        ("choice", or_null(&any_object())),
        ("decided_by", text_or_null()),
        ("decision_reason", text_or_null()),
    ])
}

/// How the newest run under a payment's id may be.
const WORKFLOW_STATUSES: [&str; 7] =
    ["running", "completed", "failed", "canceled", "terminated", "timed_out", "none"];

fn explanation() -> Value {
    let review = object(&[
        ("id", reference("ReviewId")),
        ("reason", or_null(&reference("ReviewReason"))),
        ("remind_at", instant_or_null()),
        ("path", text()),
    ]);
    let may = object(&[("act", text()), ("how", text())]);
    let may_not =
        object(&[("act", text()), ("rule", text()), ("why", text()), ("until", instant_or_null())]);
    let event = object(&[
        ("kind", text()),
        ("from", text()),
        ("to", text()),
        ("actor", text()),
        ("at", instant()),
        ("cause", text()),
    ]);
    object(&[
        ("object", constant("explanation")),
        ("payment", reference("PaymentId")),
        ("order", reference("OrderId")),
        ("workflow_id", text()),
        ("state", reference("PaymentState")),
        ("waits_for", text_or_null()),
        ("waits_until", instant_or_null()),
        ("workflow_says", text_or_null()),
        ("workflow_until", instant_or_null()),
        ("workflow_status", or_null(&words(&WORKFLOW_STATUSES))),
        ("reviews", list(&review)),
        ("may", list(&may)),
        ("may_not", list(&may_not)),
        ("source", words(&["row", "workflow"])),
        ("message", text()),
        ("order_state", or_null(&reference("OrderState"))),
        ("attend_by", instant_or_null()),
        ("last_event", or_null(&event)),
        ("web_ui", text_or_null()),
    ])
}
