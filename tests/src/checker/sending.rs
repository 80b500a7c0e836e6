//! What may be sent to a channel, and when.

use super::{Evidence, field, text};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::collections::BTreeMap;

fn at(row: &PgRow, column: &str) -> DateTime<Utc> {
    row.get(column)
}

/// When the channel received a request.
fn received(request: &Value) -> DateTime<Utc> {
    let at = DateTime::parse_from_rfc3339(field(request, "at"));
    at.expect("the sandbox writes times").to_utc()
}

impl Evidence {
    /// The charge requests that the channel received, in order, by our reference.
    fn sent(&self) -> BTreeMap<&str, Vec<&Value>> {
        let mut sent: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for request in self.truth.requests() {
            if field(request, "operation") == "charge" {
                sent.entry(field(request, "reference")).or_default().push(request);
            }
        }
        sent
    }

    fn payment_of(&self, reference: &str) -> Option<&PgRow> {
        self.payments.iter().find(|payment| text(payment, "reference") == reference)
    }

    fn events_of(&self, payment: &str) -> impl Iterator<Item = &PgRow> {
        self.events.iter().filter(move |event| text(event, "payment_id") == payment)
    }

    /// L2, L3: before the n-th charge request arrived, the n-th claim stood in the row. A row that
    /// was made again after a loss has lost the record of one claim.
    pub(super) fn nothing_was_sent_without_a_claim(&self, broken: &mut Vec<String>) {
        for (reference, requests) in self.sent() {
            let Some(payment) = self.payment_of(reference) else {
                broken.push(format!("L3: {reference} was charged without a row"));
                continue;
            };
            let id = text(payment, "id");
            let lost = usize::from(payment.get::<bool, _>("rebuilt"));
            let claims: Vec<_> = self
                .events_of(&id)
                .filter(|event| text(event, "kind") == "claimed")
                .map(|event| at(event, "at"))
                .collect();
            if requests.len() > claims.len() + lost {
                let (sent, claims) = (requests.len(), claims.len());
                broken.push(format!("L2: {id} was sent {sent} times under {claims} claims"));
            }
            for (request, claim) in requests.iter().zip(claims.iter().filter(|_| lost == 0)) {
                if received(request) < *claim {
                    broken.push(format!("L3: {id} was sent before its claim was written"));
                }
            }
        }
    }

    /// L2: every claim but the first names one of the three grounds, and the ground is true.
    pub(super) fn repeats_have_a_ground(&self, broken: &mut Vec<String>) {
        for payment in &self.payments {
            let id = text(payment, "id");
            let mut before: Option<&PgRow> = None;
            let mut repeats = 0i16;
            for claim in self.events_of(&id).filter(|event| text(event, "kind") == "claimed") {
                let cause: Value = claim.get("cause");
                let ground = cause["permit"].as_str();
                repeats += i16::from(ground.is_some());
                if let Some(ground) = ground
                    && !self.is_true(payment, before, claim, ground)
                {
                    broken.push(format!("L2: {id} was sent again on {ground}, which is not so"));
                }
                if before.is_some() && ground.is_none() {
                    broken.push(format!("L2: {id} was claimed again without a permit"));
                }
                before = Some(claim);
            }
            if repeats > payment.get::<i16, _>("permits_used") {
                broken.push(format!("L2: {id} has used more permits than its row says"));
            }
        }
    }

    fn is_true(
        &self,
        payment: &PgRow,
        before: Option<&PgRow>,
        claim: &PgRow,
        ground: &str,
    ) -> bool {
        let name = text(payment, "account");
        let accounts = self.accounts.as_array().map_or(&[][..], Vec::as_slice);
        let account = accounts.iter().find(|account| account["account"] == name.as_str());
        let offers = |what: &str| account.is_some_and(|account| account[what] == true);
        match ground {
            "channel_idempotent" => offers("idempotent"),
            "proven_not_executed" => {
                let cause: Option<Value> = before.map(|claim| claim.get("cause"));
                let token = cause.as_ref().map_or("", |cause| field(cause, "token"));
                let id = text(payment, "id");
                let reference = text(payment, "reference");
                let asked = self.truth.requests().iter().any(|request| {
                    field(request, "reference") == reference
                        && field(request, "operation") == "lookup"
                        && received(request) <= at(claim, "at")
                });
                let proof = self.exchanges.iter().any(|exchange| {
                    text(exchange, "payment_id") == id
                        && text(exchange, "operation") == "lookup"
                        && text(exchange, "outcome") == "not_found"
                        && (before.is_none() || text(exchange, "claim_token") == token)
                        && at(exchange, "recorded_at") <= at(claim, "at")
                });
                asked && proof && offers("refuses_known_reference")
            }
            "risk_accepted" => self.reviews.iter().any(|review| {
                text(review, "payment_id") == text(payment, "id")
                    && text(review, "state") == "Decided"
            }),
            _ => false,
        }
    }

    /// L3, L4: after a payment has failed or was closed, the channel got no charge request for it.
    pub(super) fn nothing_was_sent_after_the_end(&self, broken: &mut Vec<String>) {
        let sent = self.sent();
        for payment in &self.payments {
            let (id, reference) = (text(payment, "id"), text(payment, "reference"));
            let ends = |event: &&PgRow| {
                let to = text(event, "to_state");
                matches!(to.as_str(), "Failed" | "Closed") && text(event, "from_state") != to
            };
            let end = self.events_of(&id).find(ends).map(|event| at(event, "at"));
            let requests = sent.get(reference.as_str()).into_iter().flatten();
            if end.is_some_and(|end| requests.into_iter().any(|request| received(request) > end)) {
                broken.push(format!("L3: {id} was sent after it had ended"));
            }
        }
    }
}
