//! Reads the channel's truth, the rows and the histories after a scenario, and checks the laws.
//! Whatever it reports is a bug in the product, whichever scenario found it.

mod ends;
mod secrets;
mod sending;

use crate::truth::Truth;
use crate::world::{STOCK, World};
use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::collections::BTreeMap;
use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions};

/// Everything that the laws are checked against.
struct Evidence {
    truth: Truth,
    orders: Vec<PgRow>,
    order_events: Vec<PgRow>,
    payments: Vec<PgRow>,
    events: Vec<PgRow>,
    facts: Vec<PgRow>,
    reviews: Vec<PgRow>,
    open_reviews: Vec<PgRow>,
    decisions: Vec<PgRow>,
    exchanges: Vec<PgRow>,
    product: PgRow,
    /// The accounts as they are set up.
    accounts: Value,
    /// Everything that is written down anywhere: rows, histories, logs.
    texts: Vec<String>,
}

impl World {
    /// Checks every law that a machine can check here.
    ///
    /// # Panics
    /// With all the laws that do not hold.
    pub async fn check(&self) {
        let broken = self.broken_laws().await;
        assert!(broken.is_empty(), "laws that do not hold:\n{}", broken.join("\n"));
    }

    /// The laws that do not hold, each with its number and where.
    ///
    /// # Panics
    /// When something cannot be read.
    pub async fn broken_laws(&self) -> Vec<String> {
        let evidence = self.evidence().await;
        let mut broken = Vec::new();
        evidence.money_is_accounted_for(&mut broken);
        evidence.facts_are_true_and_disposed_of(&mut broken);
        evidence.nothing_was_sent_without_a_claim(&mut broken);
        evidence.repeats_have_a_ground(&mut broken);
        evidence.nothing_was_sent_after_the_end(&mut broken);
        evidence.ended_payments_hold_no_money(&mut broken);
        evidence.ends_have_a_cause(&mut broken);
        evidence.nobody_waits_for_ever(&mut broken);
        evidence.decisions_are_on_record(&mut broken);
        evidence.goods_left_once_for_kept_money(&mut broken);
        evidence.stock_is_constant(&mut broken);
        evidence.records_have_no_gap(&mut broken);
        evidence.orders_move_on_record(&mut broken);
        evidence.reviews_are_decided_on_record(&mut broken);
        evidence.no_secret_is_written_down(&mut broken);
        evidence.the_api_keeps_its_promise(&mut broken);
        broken
    }

    async fn rows(&self, sql: &'static str) -> Vec<PgRow> {
        sqlx::query(sql).fetch_all(&self.rows).await.expect("the checker reads the rows")
    }

    async fn evidence(&self) -> Evidence {
        let payments = self.rows("SELECT * FROM payment ORDER BY id").await;
        let mut texts = self.logs();
        texts.extend(self.written_rows().await);
        for payment in &payments {
            let key: String = payment.get("idempotency_key");
            let id = format!("payment/{}/{key}", self.merchant);
            let handle = self.client.get_workflow_handle::<UntypedWorkflow>(id);
            // A workflow that is gone has no history to look into.
            if let Ok(json) =
                handle.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await
            {
                texts.push(secrets::in_plain(&json));
            }
        }
        Evidence {
            truth: self.sandbox.truth().await,
            orders: self.rows("SELECT * FROM customer_order ORDER BY id").await,
            order_events: self.rows("SELECT * FROM order_event ORDER BY order_id, sequence").await,
            payments,
            events: self.rows("SELECT * FROM payment_event ORDER BY payment_id, sequence").await,
            facts: self.rows("SELECT * FROM money_fact").await,
            reviews: self.rows("SELECT * FROM review").await,
            open_reviews: self.rows("SELECT * FROM review WHERE state = 'Open'").await,
            decisions: self.rows("SELECT * FROM decision").await,
            exchanges: self.rows("SELECT * FROM channel_exchange ORDER BY id").await,
            product: self.rows("SELECT * FROM product").await.remove(0),
            accounts: self.setup.accounts(),
            texts,
        }
    }
}

fn text(row: &PgRow, column: &str) -> String {
    row.get::<Option<String>, _>(column).unwrap_or_default()
}

fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

impl Evidence {
    fn charges_of(&self, reference: &str) -> Vec<&Value> {
        self.truth.charges().iter().filter(|c| field(c, "reference") == reference).collect()
    }

    fn has_open_review(&self, payment: &str) -> bool {
        self.open_reviews.iter().any(|review| text(review, "payment_id") == payment)
    }

    /// L1: per order, what the channel really took is nothing or the order's amount; anything
    /// else is under an open review.
    fn money_is_accounted_for(&self, broken: &mut Vec<String>) {
        for order in &self.orders {
            let id = text(order, "id");
            let payments: Vec<_> =
                self.payments.iter().filter(|p| text(p, "order_id") == id).collect();
            let taken: u64 = payments
                .iter()
                .flat_map(|payment| self.charges_of(&text(payment, "reference")))
                .map(|charge| charge["amount"].as_u64().unwrap_or_default())
                .sum();
            let payable = u64::try_from(order.get::<i64, _>("payable")).unwrap_or_default();
            let reviewed = payments.iter().any(|p| self.has_open_review(&text(p, "id")));
            if taken != 0 && taken != payable && !reviewed {
                broken.push(format!("L1: {id} costs {payable} and {taken} was taken"));
            }
        }
    }

    /// L5, L6: what the channel took is a fact of ours with the same amount, every fact is true,
    /// and each paid its order or is under an open review.
    fn facts_are_true_and_disposed_of(&self, broken: &mut Vec<String>) {
        let facts: BTreeMap<_, _> =
            self.facts.iter().map(|fact| (text(fact, "transaction_id"), fact)).collect();
        for charge in self.truth.charges() {
            let transaction = field(charge, "transaction");
            let amount = charge["amount"].as_i64();
            match facts.get(transaction) {
                Some(fact) if Some(fact.get::<i64, _>("amount")) == amount => {}
                Some(_) => broken.push(format!("L5: {transaction} is kept with another amount")),
                None => {
                    let reference = field(charge, "reference");
                    let payment = self.payments.iter().find(|p| text(p, "reference") == reference);
                    let asked = payment.is_some_and(|p| self.has_open_review(&text(p, "id")));
                    if !asked {
                        broken.push(format!("L5: {transaction} was taken and is not known"));
                    }
                }
            }
        }
        for fact in &self.facts {
            let (transaction, payment) = (text(fact, "transaction_id"), text(fact, "payment_id"));
            let real = self.truth.charges().iter().any(|c| field(c, "transaction") == transaction);
            if !real {
                broken.push(format!("L5: {transaction} never moved money"));
            }
            let order = self.orders.iter().find(|o| text(o, "paid_by") == payment);
            let kept = order.is_some() && text(fact, "disposition") == "Applied";
            let fits = order.is_none_or(|o| {
                let same = |a: &str, b: &str| o.get::<i64, _>(a) == fact.get::<i64, _>(b);
                same("payable", "amount") && text(o, "currency") == text(fact, "currency")
            });
            if kept && !fits {
                broken.push(format!("L8: {transaction} paid an order that costs something else"));
            }
            if !kept && !self.has_open_review(&payment) {
                broken.push(format!("L6: {transaction} has no disposition"));
            }
        }
    }

    /// L4: a payment that ended without money really took none.
    fn ended_payments_hold_no_money(&self, broken: &mut Vec<String>) {
        for payment in &self.payments {
            let (id, state) = (text(payment, "id"), text(payment, "state"));
            let charges = self.charges_of(&text(payment, "reference"));
            if matches!(state.as_str(), "Failed" | "Closed") && !charges.is_empty() {
                broken.push(format!("L4: {id} is {state} and money was taken"));
            }
            let known = matches!(state.as_str(), "Persisted" | "Succeeded");
            if known && charges.is_empty() {
                broken.push(format!("L5: {id} is {state} and no money was taken"));
            }
        }
    }

    /// L9: goods leave once for each fulfilled order, and only for money that the order keeps.
    fn goods_left_once_for_kept_money(&self, broken: &mut Vec<String>) {
        for order in &self.orders {
            let (id, paid_by) = (text(order, "id"), text(order, "paid_by"));
            let left: Vec<_> =
                self.truth.fulfilments().iter().filter(|f| field(f, "order") == id).collect();
            if text(order, "state") == "Fulfilled" && left.len() != 1 {
                broken.push(format!("L9: {id} is Fulfilled and goods left {} times", left.len()));
            }
            let foreign = |f: &&Value| field(f, "payment") != paid_by || field(f, "key") != paid_by;
            if left.len() > 1 || left.iter().any(foreign) {
                broken.push(format!("L9: goods of {id} left for other money than {paid_by:?}"));
            }
        }
    }

    /// L10: nothing is lost from the shelf, and what is reserved is what unpaid orders hold.
    fn stock_is_constant(&self, broken: &mut Vec<String>) {
        let of = |column: &str| self.product.get::<i64, _>(column);
        if of("available") + of("reserved") + of("sold") != STOCK {
            broken.push("L10: available + reserved + sold changed".to_owned());
        }
        let paid = |order: &&PgRow| !text(order, "paid_by").is_empty();
        let sold = i64::try_from(self.orders.iter().filter(paid).count()).unwrap_or_default();
        if of("sold") != sold {
            broken.push(format!("L10: {sold} orders are paid and {} pieces sold", of("sold")));
        }
    }

    /// L12: the events of a payment are numbered without a gap, and each begins where the one
    /// before it ended; the row is where the last one ended.
    fn records_have_no_gap(&self, broken: &mut Vec<String>) {
        for payment in &self.payments {
            let id = text(payment, "id");
            let events: Vec<_> =
                self.events.iter().filter(|e| text(e, "payment_id") == id).collect();
            let mut state = "Created".to_owned();
            let rebuilt: bool = payment.get("rebuilt");
            for (number, event) in (1..).zip(&events) {
                let sequence: i64 = event.get("sequence");
                let from = text(event, "from_state");
                if sequence != number || (from != state && !(rebuilt && number == 1)) {
                    broken.push(format!("L12: {id} has a gap before event {sequence} ({from})"));
                }
                state = text(event, "to_state");
            }
            let version: i64 = payment.get("version");
            let last = i64::try_from(events.len()).unwrap_or_default();
            if version != last || text(payment, "state") != state {
                broken.push(format!("L12: {id} is not where its last event ended"));
            }
        }
    }

    /// L12: how each review was decided, and by whom, is on the append-only record.
    fn reviews_are_decided_on_record(&self, broken: &mut Vec<String>) {
        for review in self.reviews.iter().filter(|review| text(review, "state") == "Decided") {
            let id = text(review, "id");
            let recorded = self.decisions.iter().any(|decision| {
                text(decision, "id") == text(review, "decision_id")
                    && text(decision, "review_id") == id
                    && text(decision, "operator") == text(review, "decided_by")
                    && text(decision, "did") == "Decided"
                    && decision.get::<Value, _>("choice") == review.get::<Value, _>("choice")
            });
            if !recorded {
                broken.push(format!("L12: the decision of {id} is not on record"));
            }
        }
    }
}
