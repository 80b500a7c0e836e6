//! How a payment may end, and who must be left waiting by nobody.

use super::{Evidence, field, text};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// Words of the channel in our own records that are a cause for an end without money.
fn words_for(kind: &str) -> &'static [&'static str] {
    match kind {
        // "closed": what was refused stayed payable, and was made unpayable.
        "declined" => &["declined", "closed"],
        "not_executed" => &["not_executed", "not_found", "closed"],
        "closed_at_channel" => &["closed", "not_found"],
        _ => &[],
    }
}

impl Evidence {
    /// L4: a payment ends without money by the channel's word, which is on record, by a person's,
    /// or because nothing was ever sent. Never by time.
    pub(super) fn ends_have_a_cause(&self, broken: &mut Vec<String>) {
        for event in &self.events {
            let (id, to) = (text(event, "payment_id"), text(event, "to_state"));
            let ends = matches!(to.as_str(), "Failed" | "Closed");
            if !ends || text(event, "from_state") == to {
                continue;
            }
            let kind = text(event, "kind");
            let actor = text(event, "actor");
            let by_word = || {
                self.exchanges.iter().any(|exchange| {
                    text(exchange, "payment_id") == id
                        && words_for(&kind).contains(&text(exchange, "outcome").as_str())
                })
            };
            let caused = match kind.as_str() {
                "start_expired" => !self.was_sent(&id),
                "decided" => actor.starts_with("operator:"),
                // What the channel says by itself comes without a request of ours.
                _ => actor == "channel" || by_word(),
            };
            if !caused {
                broken.push(format!("L4: {id} became {to} by {kind} without a cause on record"));
            }
        }
    }

    fn was_sent(&self, payment: &str) -> bool {
        let row = self.payments.iter().find(|row| text(row, "id") == payment);
        let reference = row.map(|row| text(row, "reference")).unwrap_or_default();
        self.truth.requests().iter().any(|request| {
            field(request, "operation") == "charge" && field(request, "reference") == reference
        })
    }

    /// Nobody waits for ever: what is not finished says by when somebody must look at it, or a
    /// person is asked.
    pub(super) fn nobody_waits_for_ever(&self, broken: &mut Vec<String>) {
        for payment in &self.payments {
            let (id, state) = (text(payment, "id"), text(payment, "state"));
            let order = self.orders.iter().find(|o| text(o, "id") == text(payment, "order_id"));
            let order = order.map(|order| text(order, "state")).unwrap_or_default();
            let handed_over = matches!(order.as_str(), "Fulfilled" | "Cancelled" | "Refunded");
            let finished = match state.as_str() {
                "Failed" | "Closed" => true,
                "Persisted" => text(payment, "effect") == "Applied" && handed_over,
                _ => false,
            };
            let attended = payment.get::<Option<DateTime<Utc>>, _>("attend_by").is_some();
            if !finished && !attended && !self.has_open_review(&id) {
                broken.push(format!("L6: {id} is {state} and nobody will look at it"));
            }
        }
    }

    /// L12: an order is where its record says, with no change left out.
    pub(super) fn orders_move_on_record(&self, broken: &mut Vec<String>) {
        for order in &self.orders {
            let id = text(order, "id");
            let (mut state, mut version) = ("AwaitingPayment".to_owned(), 1);
            for event in self.order_events.iter().filter(|e| text(e, "order_id") == id) {
                version += 1;
                let (from, sequence): (_, i64) = (text(event, "from_state"), event.get("sequence"));
                if from != state || sequence != version {
                    broken.push(format!("L12: {id} has a gap before its event {sequence}"));
                }
                state = text(event, "to_state");
            }
            if text(order, "state") != state || order.get::<i64, _>("version") != version {
                broken.push(format!("L12: {id} is not where its last event ended"));
            }
        }
    }

    /// L12: what a person decided about the money is an event with their name.
    pub(super) fn decisions_are_on_record(&self, broken: &mut Vec<String>) {
        let decided = |review: &&PgRow| text(review, "state") == "Decided";
        for review in self.reviews.iter().filter(decided) {
            let choice: Value = review.get("choice");
            let about_money = matches!(field(&choice, "kind"), "confirm_paid" | "confirm_not_paid");
            let (id, who) = (text(review, "payment_id"), text(review, "decided_by"));
            let on_record = self.events.iter().any(|event| {
                let actor = text(event, "actor");
                text(event, "payment_id") == id && actor.ends_with(&format!(":{who}"))
            });
            if about_money && !on_record {
                broken.push(format!("L12: {who} decided about {id}, and no event says so"));
            }
        }
    }
}
