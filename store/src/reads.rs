//! What others may see. No lock, no write.

use crate::Store;
use crate::error::{Doing, StoreError};
use crate::rows::{Payment, PaymentRow};
use chrono::{DateTime, Utc};
use domain::{ClaimToken, OrderId, OrderState, PaymentId, PaymentIntent, PaymentView, ReviewId};
use serde_json::Value;
use sqlx::PgConnection;

/// A payment with the intent that it fulfils.
#[derive(Clone, Debug)]
pub struct PaymentRecord {
    pub intent: PaymentIntent,
    pub view: PaymentView,
    pub claim_token: Option<ClaimToken>,
    /// The end of the last claim by PostgreSQL's clock, and that clock now, in milliseconds.
    pub send_before_ms: Option<i64>,
    pub now_ms: i64,
}

/// An order as its customer may see it.
#[derive(Clone, Debug)]
pub struct OrderRecord {
    pub id: String,
    pub merchant: String,
    pub state: String,
    pub currency: String,
    pub goods_total: i64,
    pub discount: i64,
    pub freight: i64,
    pub payable: i64,
    pub coupon: Option<String>,
    pub paid_by: Option<String>,
    pub close_at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub items: Vec<OrderItem>,
    pub payments: Vec<OrderPayment>,
}

/// A line of an order at the price that was agreed.
#[derive(Clone, Debug)]
pub struct OrderItem {
    pub sku: String,
    pub name: String,
    pub quantity: i32,
    pub unit_price: i64,
    pub line_total: i64,
}

/// One of the payments that were made for an order.
#[derive(Clone, Debug)]
pub struct OrderPayment {
    pub id: String,
    pub state: String,
    pub created_at: DateTime<Utc>,
}

/// A review with what a person needs to decide it.
#[derive(Clone, Debug)]
pub struct ReviewRecord {
    pub id: String,
    pub payment: String,
    pub merchant: String,
    pub key: String,
    pub order: String,
    pub amount: i64,
    pub currency: String,
    pub channel: String,
    pub account: String,
    pub reference: String,
    pub payment_state: String,
    pub reason: String,
    pub state: String,
    pub version: i64,
    pub opened_at: DateTime<Utc>,
    pub remind_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub choice: Option<Value>,
    pub decided_by: Option<String>,
    pub decision_reason: Option<String>,
    /// Who proposed a decision that needs two people.
    pub proposed_by: Vec<String>,
    /// The movement of money that the review is about, if it is about one.
    pub money_transaction: Option<String>,
    pub money_amount: Option<i64>,
    pub money_currency: Option<String>,
}

/// Where a review stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Open,
    Decided,
    Overtaken,
}

/// Which reviews are wanted; what is absent is not asked for.
#[derive(Clone, Copy, Debug)]
pub struct ReviewFilter<'a> {
    pub state: ReviewState,
    pub payment: Option<&'a PaymentId>,
    pub order: Option<&'a OrderId>,
}

/// The last review of the page before: reviews are listed by when they were opened, and by id.
#[derive(Clone, Copy, Debug)]
pub struct ReviewAfter<'a> {
    pub at: DateTime<Utc>,
    pub id: &'a str,
}

impl ReviewState {
    pub const ALL: [Self; 3] = [Self::Open, Self::Decided, Self::Overtaken];

    /// The word in the column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Decided => "Decided",
            Self::Overtaken => "Overtaken",
        }
    }
}

impl Store {
    /// # Errors
    /// [`StoreError`]. A payment that is not there is `None`.
    pub async fn read_payment(&self, id: &PaymentId) -> Result<Option<PaymentRecord>, StoreError> {
        let mut tx = self.pool.begin().await.doing("reading a payment")?;
        let Some(payment) = payment_in(&mut tx, id).await? else { return Ok(None) };
        let order_state = order_state_of(&mut tx, &payment).await?;
        let view = crate::effects::view(&mut tx, &payment, order_state).await?;
        let send_before_ms = payment.send_before.map(|at| at.0);
        let (claim_token, now_ms) = (payment.claim_token, payment.now.0);
        Ok(Some(PaymentRecord {
            intent: payment.intent,
            view,
            claim_token,
            send_before_ms,
            now_ms,
        }))
    }

    /// # Errors
    /// [`StoreError`]. An order that is not there is `None`.
    pub async fn read_order(&self, id: &OrderId) -> Result<Option<OrderRecord>, StoreError> {
        let mut connection = self.pool.acquire().await.doing("reading an order")?;
        order_in(&mut connection, id).await
    }

    /// # Errors
    /// [`StoreError`]. A review that is not there is `None`.
    pub async fn read_review(&self, id: &ReviewId) -> Result<Option<ReviewRecord>, StoreError> {
        sqlx::query_as!(
            ReviewRecord,
            r#"-- review.read
            SELECT r.id, r.payment_id AS payment, p.merchant_id AS merchant,
                   p.idempotency_key AS key, p.order_id AS "order", p.amount, p.currency,
                   p.channel, p.account, p.reference, p.state AS payment_state, r.reason, r.state,
                   r.version, r.opened_at, r.remind_at, r.ended_at, r.choice, r.decided_by,
                   r.decision_reason,
                   ARRAY(
                       SELECT DISTINCT d.operator
                       FROM decision d JOIN operator o ON o.name = d.operator
                       WHERE d.review_id = r.id AND d.did = 'Proposed'
                         AND o.disabled_at IS NULL AND o.token_since <= d.at
                       ORDER BY d.operator
                   ) AS "proposed_by!",
                   f.transaction_id AS "money_transaction?",
                   f.amount AS "money_amount?", f.currency AS "money_currency?"
            FROM review r
            JOIN payment p ON p.id = r.payment_id
            LEFT JOIN money_fact f ON f.payment_id = r.payment_id AND f.event_id = r.event_id
            WHERE r.id = $1"#,
            id.as_str(),
        )
        .fetch_optional(&self.pool)
        .await
        .doing("reading a review")
    }

    /// The reviews that all of the filter's conditions hold for, oldest first, after the given
    /// one, at most `limit`. A review that is opened meanwhile comes last, so that no page repeats
    /// or leaves out one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list_reviews(
        &self,
        filter: &ReviewFilter<'_>,
        after: Option<ReviewAfter<'_>>,
        limit: u32,
    ) -> Result<Vec<ReviewRecord>, StoreError> {
        sqlx::query_as!(
            ReviewRecord,
            r#"-- review.list
            SELECT r.id, r.payment_id AS payment, p.merchant_id AS merchant,
                   p.idempotency_key AS key, p.order_id AS "order", p.amount, p.currency,
                   p.channel, p.account, p.reference, p.state AS payment_state, r.reason, r.state,
                   r.version, r.opened_at, r.remind_at, r.ended_at, r.choice, r.decided_by,
                   r.decision_reason,
                   ARRAY(
                       SELECT DISTINCT d.operator
                       FROM decision d JOIN operator o ON o.name = d.operator
                       WHERE d.review_id = r.id AND d.did = 'Proposed'
                         AND o.disabled_at IS NULL AND o.token_since <= d.at
                       ORDER BY d.operator
                   ) AS "proposed_by!",
                   f.transaction_id AS "money_transaction?",
                   f.amount AS "money_amount?", f.currency AS "money_currency?"
            FROM review r
            JOIN payment p ON p.id = r.payment_id
            LEFT JOIN money_fact f ON f.payment_id = r.payment_id AND f.event_id = r.event_id
            WHERE r.state = $1
              AND ($2::text IS NULL OR r.payment_id = $2)
              AND ($3::text IS NULL OR p.order_id = $3)
              AND ($4::timestamptz IS NULL OR (r.opened_at, r.id) > ($4, $5))
            ORDER BY r.opened_at, r.id
            LIMIT $6"#,
            filter.state.as_str(),
            filter.payment.map(PaymentId::as_str),
            filter.order.map(OrderId::as_str),
            after.map(|after| after.at),
            after.map(|after| after.id),
            i64::from(limit),
        )
        .fetch_all(&self.pool)
        .await
        .doing("reading reviews")
    }
}

/// The payment's row as it is in this transaction, without a lock.
pub(crate) async fn payment_in(
    tx: &mut PgConnection,
    id: &PaymentId,
) -> Result<Option<Payment>, StoreError> {
    sqlx::query_as!(
        PaymentRow,
        r#"-- payments.read
        SELECT id, merchant_id, idempotency_key, order_id, amount, currency, channel, account,
               payment_method, state, live, version, start_before, claim_token, first_sent_at,
               send_before, permits_used, not_found_at, action, pay_before, transaction_id,
               transaction_amount, transaction_currency, effect, failure_class, review_reason,
               CASE WHEN rebuilt THEN created_at END AS rebuilt_at, started_by, risk_accepted_by,
               risk_taken, clock_timestamp() AS "now!"
        FROM payment WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("reading a payment")?
    .map(Payment::try_from)
    .transpose()
}

/// The order with its lines and payments.
pub(crate) async fn order_in(
    tx: &mut PgConnection,
    id: &OrderId,
) -> Result<Option<OrderRecord>, StoreError> {
    let order = sqlx::query!(
        r#"-- orders.read
        SELECT id, merchant_id, state, currency, goods_total, discount, freight, payable,
               coupon_code, paid_by, close_at, created_at
        FROM customer_order WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(&mut *tx)
    .await
    .doing("reading an order")?;
    let Some(order) = order else { return Ok(None) };
    let items = sqlx::query_as!(
        OrderItem,
        r#"-- order_item.read
        SELECT sku, name, quantity, unit_price, line_total
        FROM order_item WHERE order_id = $1 ORDER BY sku"#,
        id.as_str(),
    )
    .fetch_all(&mut *tx)
    .await
    .doing("reading an order's lines")?;
    let payments = sqlx::query_as!(
        OrderPayment,
        r#"-- payments.of_order
        SELECT id, state, created_at FROM payment WHERE order_id = $1 ORDER BY created_at"#,
        id.as_str(),
    )
    .fetch_all(&mut *tx)
    .await
    .doing("reading an order's payments")?;
    Ok(Some(OrderRecord {
        id: order.id,
        merchant: order.merchant_id,
        state: order.state,
        currency: order.currency,
        goods_total: order.goods_total,
        discount: order.discount,
        freight: order.freight,
        payable: order.payable,
        coupon: order.coupon_code,
        paid_by: order.paid_by,
        close_at: order.close_at,
        created_at: order.created_at,
        items,
        payments,
    }))
}

/// The state of a payment's order, without a lock.
pub(crate) async fn order_state_of(
    tx: &mut PgConnection,
    payment: &Payment,
) -> Result<OrderState, StoreError> {
    let state = sqlx::query_scalar!(
        r#"-- orders.state
        SELECT state FROM customer_order WHERE id = $1"#,
        payment.intent.order.as_str(),
    )
    .fetch_one(tx)
    .await
    .doing("reading an order's state")?;
    OrderState::parse(&state).ok_or_else(|| StoreError::Inconsistent {
        table: "customer_order",
        column: "state",
        row: payment.intent.order.to_string(),
    })
}
