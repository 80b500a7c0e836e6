//! Everything that is on record about one order. No lock, no write; everything is of one instant.

use crate::Store;
use crate::error::{Doing, StoreError};
use crate::explained::RecordedEvent;
use crate::reads::{OrderRecord, order_in};
use chrono::{DateTime, Utc};
use domain::OrderId;
use serde_json::Value;
use sqlx::PgTransaction;

/// Most payments of one order that a trace has.
pub const MAX_PAYMENTS: i64 = 100;
/// Most records of each kind that a trace has; the oldest come first. A payment that ran its
/// course has fewer than twenty of any kind; one that waits for a person adds a lookup a day.
pub const MAX_RECORDS: i64 = 1_000;

/// An order with all that happened to it.
#[derive(Clone, Debug)]
pub struct OrderTrace {
    pub order: OrderRecord,
    pub payments: Vec<TracedPayment>,
    /// What happened to the order itself.
    pub order_events: Vec<OrderEvent>,
    pub events: Vec<RecordedEvent>,
    pub exchanges: Vec<TracedExchange>,
    pub facts: Vec<TracedFact>,
    pub reviews: Vec<TracedReview>,
    pub outbox: Vec<TracedOutbox>,
    /// Whether a limit left something out.
    pub truncated: bool,
}

/// A change of the order's state.
#[derive(Clone, Debug)]
pub struct OrderEvent {
    /// The order's version after it.
    pub sequence: i64,
    pub from_state: String,
    pub to_state: String,
    pub actor: String,
    pub payment: Option<String>,
    pub cause: Value,
    pub at: DateTime<Utc>,
}

/// A payment's row.
#[derive(Clone, Debug)]
pub struct TracedPayment {
    pub id: String,
    pub merchant: String,
    pub key: String,
    pub amount: i64,
    pub currency: String,
    pub channel: String,
    pub account: String,
    pub reference: String,
    pub state: String,
    pub live: bool,
    pub version: i64,
    pub start_before: DateTime<Utc>,
    pub first_sent_at: Option<DateTime<Utc>>,
    pub send_before: Option<DateTime<Utc>>,
    pub permits_used: i16,
    pub not_found_at: Option<DateTime<Utc>>,
    pub pay_before: Option<DateTime<Utc>>,
    pub transaction: Option<String>,
    pub effect: Option<String>,
    pub failure: Option<String>,
    pub review_reason: Option<String>,
    pub attend_by: Option<DateTime<Utc>>,
    pub rebuilt: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// A request to a channel.
#[derive(Clone, Debug)]
pub struct TracedExchange {
    pub payment: String,
    pub operation: String,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i64,
    pub outcome: String,
    pub transaction: Option<String>,
}

/// A movement of money.
#[derive(Clone, Debug)]
pub struct TracedFact {
    pub payment: String,
    pub transaction: String,
    pub amount: i64,
    pub currency: String,
    pub disposition: String,
    pub source: String,
    pub recorded_at: DateTime<Utc>,
}

/// A question to a person, with its answer.
#[derive(Clone, Debug)]
pub struct TracedReview {
    pub id: String,
    pub payment: String,
    pub reason: String,
    pub state: String,
    pub version: i64,
    pub opened_at: DateTime<Utc>,
    pub remind_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub choice: Option<Value>,
    pub decided_by: Option<String>,
    pub decision_reason: Option<String>,
}

/// An event for others.
#[derive(Clone, Debug)]
pub struct TracedOutbox {
    pub payment: String,
    pub sequence: i64,
    pub kind: String,
    pub created_at: DateTime<Utc>,
}

impl Store {
    /// # Errors
    /// [`StoreError`]. An order that is not there is `None`.
    pub async fn read_trace(&self, id: &OrderId) -> Result<Option<OrderTrace>, StoreError> {
        let mut tx = self.begin_reading().await?;
        let Some(order) = order_in(&mut tx, id).await? else { return Ok(None) };
        let mut trace = OrderTrace {
            order,
            payments: payments(&mut tx, id).await?,
            order_events: order_events(&mut tx, id).await?,
            events: events(&mut tx, id).await?,
            exchanges: exchanges(&mut tx, id).await?,
            facts: facts(&mut tx, id).await?,
            reviews: reviews(&mut tx, id).await?,
            outbox: outbox(&mut tx, id).await?,
            truncated: false,
        };
        // Each query asks for one more than it may give.
        trace.truncated = cut(&mut trace.payments, MAX_PAYMENTS)
            | cut(&mut trace.order_events, MAX_RECORDS)
            | cut(&mut trace.events, MAX_RECORDS)
            | cut(&mut trace.exchanges, MAX_RECORDS)
            | cut(&mut trace.facts, MAX_RECORDS)
            | cut(&mut trace.reviews, MAX_RECORDS)
            | cut(&mut trace.outbox, MAX_RECORDS);
        Ok(Some(trace))
    }
}

/// Cuts a list to its limit and says whether it was longer.
fn cut<T>(list: &mut Vec<T>, limit: i64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let longer = list.len() > limit;
    list.truncate(limit);
    longer
}

async fn payments(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<TracedPayment>, StoreError> {
    sqlx::query_as!(
        TracedPayment,
        r#"-- trace.payments
        SELECT id, merchant_id AS merchant, idempotency_key AS key, amount, currency, channel,
               account, reference, state, live, version, start_before, first_sent_at, send_before,
               permits_used, not_found_at, pay_before, transaction_id AS transaction, effect,
               failure_class AS failure, review_reason, attend_by, rebuilt, created_at, updated_at
        FROM payment WHERE order_id = $1
        ORDER BY created_at, id LIMIT $2"#,
        order.as_str(),
        MAX_PAYMENTS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's payments")
}

async fn order_events(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<OrderEvent>, StoreError> {
    sqlx::query_as!(
        OrderEvent,
        r#"-- trace.order_events
        SELECT sequence, from_state, to_state, actor, payment_id AS payment, cause, at
        FROM order_event WHERE order_id = $1
        ORDER BY sequence LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's own events")
}

async fn events(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<RecordedEvent>, StoreError> {
    sqlx::query_as!(
        RecordedEvent,
        r#"-- trace.events
        SELECT e.payment_id AS payment, e.sequence, e.kind, e.from_state, e.to_state, e.actor,
               e.cause, e.at
        FROM payment_event e JOIN payment p ON p.id = e.payment_id
        WHERE p.order_id = $1
        ORDER BY e.at, e.payment_id, e.sequence LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's events")
}

async fn exchanges(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<TracedExchange>, StoreError> {
    sqlx::query_as!(
        TracedExchange,
        r#"-- trace.exchanges
        SELECT x.payment_id AS payment, x.operation, x.started_at, x.duration_ms, x.outcome,
               x.transaction_id AS transaction
        FROM channel_exchange x JOIN payment p ON p.id = x.payment_id
        WHERE p.order_id = $1
        ORDER BY x.started_at, x.id LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's exchanges with the channel")
}

async fn facts(tx: &mut PgTransaction<'_>, order: &OrderId) -> Result<Vec<TracedFact>, StoreError> {
    sqlx::query_as!(
        TracedFact,
        r#"-- trace.facts
        SELECT f.payment_id AS payment, f.transaction_id AS transaction, f.amount, f.currency,
               f.disposition, f.source, f.recorded_at
        FROM money_fact f JOIN payment p ON p.id = f.payment_id
        WHERE p.order_id = $1
        ORDER BY f.recorded_at, f.transaction_id LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's money")
}

async fn reviews(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<TracedReview>, StoreError> {
    sqlx::query_as!(
        TracedReview,
        r#"-- trace.reviews
        SELECT r.id, r.payment_id AS payment, r.reason, r.state, r.version, r.opened_at,
               r.remind_at, r.ended_at, r.choice, r.decided_by, r.decision_reason
        FROM review r JOIN payment p ON p.id = r.payment_id
        WHERE p.order_id = $1
        ORDER BY r.opened_at, r.id LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's reviews")
}

async fn outbox(
    tx: &mut PgTransaction<'_>,
    order: &OrderId,
) -> Result<Vec<TracedOutbox>, StoreError> {
    sqlx::query_as!(
        TracedOutbox,
        r#"-- trace.outbox
        SELECT b.payment_id AS payment, b.sequence, b.kind, b.created_at
        FROM outbox b JOIN payment p ON p.id = b.payment_id
        WHERE p.order_id = $1
        ORDER BY b.id LIMIT $2"#,
        order.as_str(),
        MAX_RECORDS + 1,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("tracing an order's events for others")
}
