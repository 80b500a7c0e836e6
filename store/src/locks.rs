//! The locks of a payment's transactions, always in one order: the order's row, then the payment's,
//! then stock by product.

use crate::error::{Doing, StoreError};
use crate::rows::{Payment, PaymentRow, millis};
use chrono::{DateTime, Utc};
use domain::{OrderId, OrderState, PaymentId, PaymentIntent, UnixMillis};
use sqlx::{PgConnection, PgTransaction};

/// The order's row, locked. Always the first lock.
#[derive(Debug)]
pub(crate) struct LockedOrder {
    pub id: OrderId,
    pub merchant_id: String,
    pub state: OrderState,
    pub payable: i64,
    pub currency: String,
    pub coupon_code: Option<String>,
    pub paid_by: Option<String>,
    pub close_at: UnixMillis,
}

pub(crate) async fn lock_order(
    tx: &mut PgConnection,
    id: &OrderId,
) -> Result<Option<LockedOrder>, StoreError> {
    let row = sqlx::query_as!(
        OrderRow,
        r#"-- payments.lock_order
        SELECT id, merchant_id, state, payable, currency, coupon_code, paid_by, close_at
        FROM customer_order WHERE id = $1 FOR UPDATE"#,
        id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("locking an order")?;
    row.map(LockedOrder::try_from).transpose()
}

/// The columns of an order that its lock reads.
struct OrderRow {
    id: String,
    merchant_id: String,
    state: String,
    payable: i64,
    currency: String,
    coupon_code: Option<String>,
    paid_by: Option<String>,
    close_at: DateTime<Utc>,
}

impl TryFrom<OrderRow> for LockedOrder {
    type Error = StoreError;

    fn try_from(row: OrderRow) -> Result<Self, StoreError> {
        let wrong = |column| StoreError::Inconsistent {
            table: "customer_order",
            column,
            row: row.id.clone(),
        };
        Ok(Self {
            id: OrderId::parse(row.id.clone()).map_err(|_| wrong("id"))?,
            state: OrderState::parse(&row.state).ok_or_else(|| wrong("state"))?,
            merchant_id: row.merchant_id,
            payable: row.payable,
            currency: row.currency,
            coupon_code: row.coupon_code,
            paid_by: row.paid_by,
            close_at: millis(row.close_at),
        })
    }
}

/// The order that a recorded payment is for, whatever an input says; the input's where there is no
/// row. An order is never changed on a row, so it may be read before the lock.
pub(crate) async fn order_of(
    tx: &mut PgConnection,
    intent: &PaymentIntent,
) -> Result<OrderId, StoreError> {
    let id = intent.payment_id();
    let order = sqlx::query_scalar!(
        r#"-- payments.order_of
        SELECT order_id FROM payment WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("reading a payment's order")?;
    let inconsistent =
        |_| StoreError::Inconsistent { table: "payment", column: "order_id", row: id.to_string() };
    order.map_or(Ok(intent.order.clone()), |order| OrderId::parse(order).map_err(inconsistent))
}

pub(crate) async fn lock_payment(
    tx: &mut PgConnection,
    id: &PaymentId,
) -> Result<Option<Payment>, StoreError> {
    sqlx::query_as!(
        PaymentRow,
        r#"-- payments.lock
        SELECT id, merchant_id, idempotency_key, order_id, amount, currency, channel, account,
               payment_method, state, live, version, start_before, claim_token, first_sent_at,
               send_before, permits_used, not_found_at, action, pay_before, transaction_id,
               transaction_amount, transaction_currency, effect, failure_class, review_reason,
               CASE WHEN rebuilt THEN created_at END AS rebuilt_at, started_by, risk_accepted_by,
               risk_taken, clock_timestamp() AS "now!"
        FROM payment WHERE id = $1 FOR UPDATE"#,
        id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("locking a payment")?
    .map(Payment::try_from)
    .transpose()
}

/// Locks the order of a payment, which must be there: the recorded payment's, whatever the intent
/// says; see [`order_of`].
pub(crate) async fn must_lock_order(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
) -> Result<LockedOrder, StoreError> {
    let id = intent.payment_id();
    let row = sqlx::query_as!(
        OrderRow,
        r#"-- payments.lock_order_of
        SELECT id, merchant_id, state, payable, currency, coupon_code, paid_by, close_at
        FROM customer_order
        WHERE id = coalesce((SELECT order_id FROM payment WHERE id = $1), $2)
        FOR UPDATE"#,
        id.as_str(),
        intent.order.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("locking a payment's order")?;
    let missing = || StoreError::Missing { what: "order", id: intent.order.to_string() };
    LockedOrder::try_from(row.ok_or_else(missing)?)
}

/// Locks a payment, whose row must be there.
pub(crate) async fn must_lock_payment(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
) -> Result<Payment, StoreError> {
    let id = intent.payment_id();
    let missing = || StoreError::Missing { what: "payment", id: id.to_string() };
    lock_payment(tx, &id).await?.ok_or_else(missing)
}
