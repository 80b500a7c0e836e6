//! Everything about one order: its records by payment, and all of them in one timeline.

use super::{event, order, rfc3339};
use crate::web_ui::WebUi;
use chrono::{DateTime, Utc};
use domain::{IdempotencyKey, MerchantId};
use serde_json::{Value, json};
use store::trace::{
    OrderEvent, OrderTrace, TracedExchange, TracedFact, TracedPayment, TracedReview,
};

/// One line of the timeline. The order of the variants is that of one instant: a cause stands
/// before what it caused.
struct Entry {
    at: DateTime<Utc>,
    rank: u8,
    what: &'static str,
    payment: Option<String>,
    text: String,
}

/// The JSON of a trace.
#[must_use]
pub(crate) fn render(trace: &OrderTrace, web_ui: Option<&WebUi>) -> Value {
    let payments: Vec<_> =
        trace.payments.iter().map(|payment| of_payment(trace, payment, web_ui)).collect();
    json!({
        "object": "trace",
        "order": order::render(&trace.order),
        "order_events": trace.order_events.iter().map(order_event).collect::<Vec<_>>(),
        "payments": payments,
        "timeline": timeline(trace).iter().map(line).collect::<Vec<_>>(),
        "truncated": trace.truncated,
    })
}

fn order_event(event: &OrderEvent) -> Value {
    json!({
        "sequence": event.sequence, "from": event.from_state, "to": event.to_state,
        "actor": event.actor, "payment": event.payment, "cause": event.cause,
        "at": rfc3339(event.at),
    })
}

fn of_payment(trace: &OrderTrace, payment: &TracedPayment, web_ui: Option<&WebUi>) -> Value {
    let id = &payment.id;
    let merchant = MerchantId::parse(payment.merchant.clone()).ok();
    let key = IdempotencyKey::parse(payment.key.clone()).ok();
    let workflow_id =
        merchant.zip(key).map(|(merchant, key)| workflows::ids::payment(&merchant, &key));
    let page = web_ui.zip(workflow_id.as_deref()).map(|(ui, id)| ui.workflow_page(id));
    let events = trace.events.iter().filter(|event| event.payment == *id).map(|event| {
        json!({
            "sequence": event.sequence, "kind": event.kind, "from": event.from_state,
            "to": event.to_state, "actor": event.actor, "cause": event.cause,
            "at": rfc3339(event.at),
        })
    });
    let exchanges = trace.exchanges.iter().filter(|one| one.payment == *id).map(|one| {
        json!({
            "operation": one.operation, "started_at": rfc3339(one.started_at),
            "duration_ms": one.duration_ms, "outcome": one.outcome,
            "transaction": one.transaction,
        })
    });
    let facts = trace.facts.iter().filter(|fact| fact.payment == *id).map(|fact| {
        json!({
            "transaction": fact.transaction, "amount": fact.amount, "currency": fact.currency,
            "disposition": fact.disposition, "source": fact.source,
            "recorded_at": rfc3339(fact.recorded_at),
        })
    });
    let reviews = trace.reviews.iter().filter(|review| review.payment == *id).map(review);
    let outbox = trace.outbox.iter().filter(|told| told.payment == *id).map(|told| {
        json!({
            "kind": told.kind, "sequence": told.sequence,
            "created_at": rfc3339(told.created_at),
        })
    });
    let mut shown = row(payment);
    shown["workflow_id"] = json!(workflow_id);
    shown["web_ui"] = json!(page);
    shown["events"] = events.collect();
    shown["exchanges"] = exchanges.collect();
    shown["money"] = facts.collect();
    shown["reviews"] = reviews.collect();
    shown["outbox"] = outbox.collect();
    shown
}

fn row(payment: &TracedPayment) -> Value {
    json!({
        "id": payment.id,
        "merchant": payment.merchant,
        "key": payment.key,
        "amount": payment.amount,
        "currency": payment.currency,
        "channel": payment.channel,
        "account": payment.account,
        "reference": payment.reference,
        "state": payment.state,
        "live": payment.live,
        "version": payment.version,
        "permits_used": payment.permits_used,
        "transaction": payment.transaction,
        "effect": payment.effect,
        "failure": payment.failure,
        "review_reason": payment.review_reason,
        "rebuilt": payment.rebuilt,
        "start_before": rfc3339(payment.start_before),
        "first_sent_at": payment.first_sent_at.map(rfc3339),
        "send_before": payment.send_before.map(rfc3339),
        "not_found_at": payment.not_found_at.map(rfc3339),
        "pay_before": payment.pay_before.map(rfc3339),
        "attend_by": payment.attend_by.map(rfc3339),
        "created_at": rfc3339(payment.created_at),
        "updated_at": rfc3339(payment.updated_at),
    })
}

fn review(review: &TracedReview) -> Value {
    json!({
        "id": review.id,
        "reason": review.reason,
        "state": review.state,
        "version": review.version,
        "opened_at": rfc3339(review.opened_at),
        "remind_at": rfc3339(review.remind_at),
        "ended_at": review.ended_at.map(rfc3339),
        "choice": review.choice,
        "decided_by": review.decided_by,
        "decision_reason": review.decision_reason,
    })
}

fn line(entry: &Entry) -> Value {
    json!({
        "at": rfc3339(entry.at), "what": entry.what, "payment": entry.payment, "text": entry.text,
    })
}

/// Every record as a line, by time.
fn timeline(trace: &OrderTrace) -> Vec<Entry> {
    let order = &trace.order;
    let mut lines = vec![Entry {
        at: order.created_at,
        rank: 0,
        what: "order_made",
        payment: None,
        text: format!("{} for {}", order.id, money(order.payable, &order.currency)),
    }];
    lines.extend(trace.payments.iter().map(recorded));
    lines.extend(trace.exchanges.iter().map(exchanged));
    lines.extend(trace.events.iter().map(|event| Entry {
        at: event.at,
        rank: 3,
        what: "payment_event",
        payment: Some(event.payment.clone()),
        text: format!("{} (by {})", event::sentence(event), event.actor),
    }));
    lines.extend(trace.order_events.iter().map(order_moved));
    lines.extend(trace.facts.iter().map(moved));
    lines.extend(trace.reviews.iter().map(opened));
    lines.extend(trace.reviews.iter().filter_map(ended));
    lines.extend(trace.outbox.iter().map(|told| Entry {
        at: told.created_at,
        rank: 8,
        what: "outbox_event",
        payment: Some(told.payment.clone()),
        text: format!("{}, sequence {}, for others to read", told.kind, told.sequence),
    }));
    lines.sort_by_key(|entry| (entry.at, entry.rank));
    lines
}

fn recorded(payment: &TracedPayment) -> Entry {
    let amount = money(payment.amount, &payment.currency);
    let (channel, account) = (&payment.channel, &payment.account);
    let again = if payment.rebuilt { "; made again after a loss" } else { "" };
    Entry {
        at: payment.created_at,
        rank: 1,
        what: "intent_recorded",
        payment: Some(payment.id.clone()),
        text: format!("{amount} at {channel}/{account} under key {:?}{again}", payment.key),
    }
}

fn exchanged(exchange: &TracedExchange) -> Entry {
    let outcome = exchange.outcome.replace('_', " ");
    Entry {
        at: exchange.started_at,
        rank: 2,
        what: "channel_exchange",
        payment: Some(exchange.payment.clone()),
        text: format!("{}: {outcome} after {} ms", exchange.operation, exchange.duration_ms),
    }
}

fn moved(fact: &TracedFact) -> Entry {
    Entry {
        at: fact.recorded_at,
        rank: 4,
        what: "money_fact",
        payment: Some(fact.payment.clone()),
        text: format!(
            "{} under {}: {} (from {})",
            money(fact.amount, &fact.currency),
            fact.transaction,
            fact.disposition,
            fact.source,
        ),
    }
}

fn order_moved(event: &OrderEvent) -> Entry {
    let why = event.cause["code"].as_str().map_or_else(String::new, |code| format!(": {code}"));
    Entry {
        at: event.at,
        rank: 5,
        what: "order_event",
        payment: event.payment.clone(),
        text: format!("{} becomes {}{why} (by {})", event.from_state, event.to_state, event.actor),
    }
}

fn opened(review: &TracedReview) -> Entry {
    Entry {
        at: review.opened_at,
        rank: 6,
        what: "review_opened",
        payment: Some(review.payment.clone()),
        text: format!("{}: {}", review.id, review.reason.replace('_', " ")),
    }
}

fn ended(review: &TracedReview) -> Option<Entry> {
    let choice = review.choice.as_ref().and_then(|choice| choice["kind"].as_str());
    let how = match (choice, &review.decided_by) {
        (Some(choice), Some(operator)) => {
            let reason = review.decision_reason.as_deref().unwrap_or("-");
            format!("{operator} chose {}: {reason}", choice.replace('_', " "))
        }
        _ => "overtaken by the truth".to_owned(),
    };
    Some(Entry {
        at: review.ended_at?,
        rank: 7,
        what: "review_ended",
        payment: Some(review.payment.clone()),
        text: format!("{}: {how}", review.id),
    })
}

/// `CNY 19.99`.
fn money(amount: i64, currency: &str) -> String {
    let known = u64::try_from(amount).ok().zip(domain::Currency::parse(currency).ok());
    let money = known.and_then(|(amount, currency)| domain::Money::new(amount, currency).ok());
    money.map_or_else(|| format!("{amount} {currency}"), |money| money.to_string())
}
