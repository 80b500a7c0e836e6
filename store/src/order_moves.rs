//! What changes an order's state, each time with a line on the order's record. The caller holds the
//! order's lock, except where it says otherwise.

use crate::effects::EventRecord;
use crate::error::{Doing, StoreError, exactly_one, exactly_one_row};
use crate::locks::LockedOrder;
use crate::rows::Payment;
use domain::{Effect, OrderState, PaymentId};
use serde_json::{Value, json};
use sqlx::{PgExecutor, PgTransaction};

/// Who moved an order and why.
#[derive(Debug)]
pub(crate) struct Moved<'a> {
    pub payment: &'a PaymentId,
    pub actor: &'a str,
    pub cause: Value,
}

/// What confirmed money does to an order as it is. The first wins, for ever.
pub(crate) fn effect_of_money(order: &LockedOrder, payment: &Payment) -> Effect {
    if let Some(paid_by) = &order.paid_by {
        // Its own, where only the payment's row was lost: the order has the money already.
        if *paid_by == payment.id.as_str() { Effect::Applied } else { Effect::Surplus }
    } else if order.state.can_be_paid() {
        Effect::Applied
    } else {
        Effect::Late
    }
}

/// Gives confirmed money to its order, and sells what was reserved for it, product by product in
/// one order of locks, and then the coupon.
///
/// Many orders wait for the same product's row, which is locked until the commit: nothing that can
/// be done before comes after.
pub(crate) async fn pay(
    tx: &mut PgTransaction<'_>,
    payment: &Payment,
    order: &mut LockedOrder,
    record: &EventRecord<'_>,
) -> Result<(), StoreError> {
    let id = &payment.id;
    let paid = sqlx::query_scalar!(
        r#"-- orders.pay
        WITH moved AS (
            UPDATE customer_order
            SET state = 'Paid', paid_by = $2, version = version + 1, updated_at = clock_timestamp()
            WHERE id = $1 AND paid_by IS NULL AND state IN ('AwaitingPayment', 'Closing')
            RETURNING id, version
        ), event AS (
            INSERT INTO order_event
                (order_id, sequence, from_state, to_state, actor, payment_id, cause)
            SELECT id, version, $3, 'Paid', $4, $2, $5 FROM moved
        ), locked AS (
            SELECT p.merchant_id, p.sku, i.quantity
            FROM moved
            JOIN order_item i ON i.order_id = moved.id
            JOIN product p USING (merchant_id, sku)
            ORDER BY p.merchant_id COLLATE "C", p.sku COLLATE "C"
            FOR UPDATE OF p
        ), sold AS (
            UPDATE product p
            SET reserved = p.reserved - locked.quantity, sold = p.sold + locked.quantity
            FROM locked
            WHERE p.merchant_id = locked.merchant_id AND p.sku = locked.sku
        )
        SELECT count(*) AS "paid!" FROM moved"#,
        order.id.as_str(),
        id.as_str(),
        order.state.as_str(),
        record.actor,
        json!({ "event": record.id }),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("paying an order")?;
    exactly_one_row("paying an order", paid)?;
    // After the products, as when an order is made.
    if let Some(code) = &order.coupon_code {
        let updated = sqlx::query!(
            r#"-- coupon.use
            UPDATE coupon SET reserved = reserved - 1, used = used + 1
            WHERE merchant_id = $1 AND code = $2"#,
            order.merchant_id,
            code,
        )
        .execute(&mut **tx)
        .await
        .doing("using a coupon")?;
        exactly_one("using a coupon", &updated)?;
    }
    order.state = OrderState::Paid;
    order.paid_by = Some(id.as_str().to_owned());
    Ok(())
}

/// Moves an order that keeps the same money.
pub(crate) async fn move_order(
    tx: &mut PgTransaction<'_>,
    order: &mut LockedOrder,
    to: OrderState,
    moved: &Moved<'_>,
) -> Result<(), StoreError> {
    let recorded = sqlx::query!(
        r#"-- orders.move
        WITH moved AS (
            UPDATE customer_order
            SET state = $3, version = version + 1, updated_at = clock_timestamp()
            WHERE id = $1 AND state = $2
            RETURNING id, version
        )
        INSERT INTO order_event
            (order_id, sequence, from_state, to_state, actor, payment_id, cause)
        SELECT id, version, $2, $3, $4, $5, $6 FROM moved"#,
        order.id.as_str(),
        order.state.as_str(),
        to.as_str(),
        moved.actor,
        moved.payment.as_str(),
        moved.cause,
    )
    .execute(&mut **tx)
    .await
    .doing("moving an order")?;
    exactly_one("moving an order", &recorded)?;
    order.state = to;
    Ok(())
}

/// Fulfilling becomes Fulfilled, and nobody has to look at the payment any more. True if it did.
///
/// Safe without a lock taken before: the order's row is changed first, and only in this state.
pub(crate) async fn fulfilled(
    executor: impl PgExecutor<'_>,
    payment: &PaymentId,
) -> Result<bool, StoreError> {
    let moved = sqlx::query_scalar!(
        r#"-- orders.fulfilled
        WITH moved AS (
            UPDATE customer_order
            SET state = 'Fulfilled', version = version + 1, updated_at = clock_timestamp()
            WHERE id = (SELECT order_id FROM payment WHERE id = $1)
              AND state = 'Fulfilling' AND paid_by = $1
            RETURNING id, version
        ), event AS (
            INSERT INTO order_event
                (order_id, sequence, from_state, to_state, actor, payment_id, cause)
            SELECT id, version, 'Fulfilling', 'Fulfilled', 'workflow', $1, '{}' FROM moved
        ), attended AS (
            UPDATE payment SET attend_by = NULL
            WHERE id = $1 AND EXISTS (SELECT FROM moved)
        )
        SELECT count(*) AS "moved!" FROM moved"#,
        payment.as_str(),
    )
    .fetch_one(executor)
    .await
    .doing("ending a fulfilment and a payment's watch")?;
    Ok(moved == 1)
}
