//! What an event does to the rows, inside the caller's transaction and under its locks.

use crate::error::{Doing, StoreError, exactly_one_row};
use crate::metrics;
use crate::rows::{ATTEND_REVIEW_S, Payment, StateColumns, units};
use domain::{
    ConfirmedMoney, EventId, OrderState, PaymentIntent, PaymentView, ReviewId, ReviewReason, Step,
};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgTransaction};

/// The words of an event on the record.
#[derive(Debug)]
pub(crate) struct EventRecord<'a> {
    pub id: &'a EventId,
    pub kind: &'a str,
    pub actor: &'a str,
    pub cause: Value,
}

/// Writes the event, the payment's new state, its outbox event and its review. Afterwards
/// `payment` is as its row is.
pub(crate) async fn take_step(
    tx: &mut PgTransaction<'_>,
    payment: &mut Payment,
    step: Step,
    record: &EventRecord<'_>,
) -> Result<(), StoreError> {
    let from = payment.state.name();
    let (state, moved, review) = match step {
        Step::Moved(state) => {
            let review = match &state {
                domain::PaymentState::ManualReview { reason } => Some(*reason),
                _ => None,
            };
            (state, true, review)
        }
        Step::Absorbed { state, review } => (state, false, review),
    };
    let left_review = moved && from == "ManualReview";
    let outbox = moved.then(|| outbox_body(&payment.intent, &state, payment.version + 1));
    write_step(tx, payment, &state, outbox, record).await?;
    if !is_about_a_lost_answer(&state) {
        payment.risk_accepted_by = None;
    }
    payment.state = state;
    if left_review {
        end_review(tx, &payment.intent, ReviewReason::OutcomeUnknown).await?;
    }
    if let Some(reason) = review {
        open_review(tx, payment, record.id, reason).await?;
    }
    if moved {
        metrics::moved(from, payment);
    }
    Ok(())
}

/// The new state, its event and, if the payment moved, its outbox event, in one statement: each
/// one costs a round trip under the order's lock.
async fn write_step(
    tx: &mut PgTransaction<'_>,
    payment: &mut Payment,
    state: &domain::PaymentState,
    outbox: Option<Value>,
    record: &EventRecord<'_>,
) -> Result<(), StoreError> {
    let columns = StateColumns::of(state);
    let written = sqlx::query_scalar!(
        r#"-- payments.take_step
        WITH written AS (
            UPDATE payment SET
                state = $3,
                live = live AND $4,
                version = version + 1,
                action = $5,
                pay_before = $6,
                transaction_id = $7,
                transaction_amount = $8,
                transaction_currency = $9,
                effect = $10,
                failure_class = $11,
                review_reason = $12,
                attend_by = clock_timestamp() + make_interval(secs => $13),
                risk_accepted_by = CASE WHEN $20 THEN risk_accepted_by END,
                updated_at = clock_timestamp()
            WHERE id = $1 AND version = $2
            RETURNING id, version, updated_at
        ), event AS (
            INSERT INTO payment_event
                (id, payment_id, sequence, kind, from_state, to_state, actor, cause, at)
            SELECT $14::text, id, version, $15::text, $16::text, $3, $17::text, $18::jsonb,
                   updated_at
            FROM written
        ), told AS (
            INSERT INTO outbox (payment_id, sequence, kind, body, created_at)
            SELECT id, version, 'payment.' || $3, $19::jsonb, updated_at
            FROM written WHERE $19::jsonb IS NOT NULL
        )
        SELECT count(*) AS "written!" FROM written"#,
        payment.id.as_str(),
        payment.version,
        columns.state,
        columns.stays_live,
        columns.action,
        columns.pay_before,
        columns.transaction_id,
        columns.transaction_amount,
        columns.transaction_currency,
        columns.effect,
        columns.failure_class,
        columns.review_reason,
        columns.attend_after,
        record.id.as_str(),
        record.kind,
        payment.state.name(),
        record.actor,
        record.cause,
        outbox,
        is_about_a_lost_answer(state),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("taking a payment's step")?;
    exactly_one_row("taking a payment's step", written)?;
    payment.live = payment.live && columns.stays_live;
    payment.version += 1;
    Ok(())
}

/// An accepted risk is about a lost answer; with the question it goes.
fn is_about_a_lost_answer(state: &domain::PaymentState) -> bool {
    matches!(state, domain::PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown })
}

/// What others are told: the payment's state, and the version of its row that has it.
pub(crate) fn outbox_body(
    intent: &PaymentIntent,
    state: &domain::PaymentState,
    sequence: i64,
) -> Value {
    json!({
        "payment": intent.payment_id(),
        "merchant": intent.merchant,
        "order": intent.order,
        "amount": intent.money.minor_units(),
        "currency": intent.money.currency(),
        "state": state.name(),
        "sequence": sequence,
    })
}

/// Opens the review that this event calls for; the same event opens it once.
pub(crate) async fn open_review(
    tx: &mut PgTransaction<'_>,
    payment: &Payment,
    event: &EventId,
    reason: ReviewReason,
) -> Result<ReviewId, StoreError> {
    let id = ReviewId::of(event);
    let opened = sqlx::query!(
        r#"-- review.open
        INSERT INTO review (id, payment_id, event_id, reason, state, remind_at)
        VALUES ($1, $2, $3, $4, 'Open', clock_timestamp() + make_interval(secs => $5))
        ON CONFLICT (id) DO NOTHING"#,
        id.as_str(),
        payment.id.as_str(),
        event.as_str(),
        reason.as_str(),
        ATTEND_REVIEW_S,
    )
    .execute(&mut **tx)
    .await
    .doing("opening a review")?;
    if opened.rows_affected() > 0 {
        metrics::review_opened(reason);
    }
    Ok(id)
}

/// The truth has answered this question. Other questions stay.
pub(crate) async fn end_review(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
    reason: ReviewReason,
) -> Result<(), StoreError> {
    let payment = intent.payment_id();
    sqlx::query!(
        r#"-- review.overtake
        UPDATE review
        SET state = 'Overtaken', version = version + 1, ended_at = clock_timestamp()
        WHERE payment_id = $1 AND reason = $2 AND state = 'Open'"#,
        payment.as_str(),
        reason.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("ending a review")?;
    Ok(())
}

/// The payment's row, its order's state and its oldest open review, for those outside.
pub(crate) async fn view(
    tx: &mut PgConnection,
    payment: &Payment,
    order_state: OrderState,
) -> Result<PaymentView, StoreError> {
    let holding: Vec<String> = ReviewReason::ALL
        .into_iter()
        .filter(|reason| reason.holds_goods())
        .map(|reason| reason.as_str().to_owned())
        .collect();
    let open = sqlx::query!(
        r#"-- review.open_of_payment
        SELECT (array_agg(id ORDER BY opened_at))[1] AS oldest,
               coalesce(bool_or(reason = ANY($2)), false) AS "goods_held!"
        FROM review WHERE payment_id = $1 AND state = 'Open'"#,
        payment.id.as_str(),
        &holding,
    )
    .fetch_one(tx)
    .await
    .doing("looking for open reviews")?;
    let inconsistent =
        |_| StoreError::Inconsistent { table: "review", column: "id", row: payment.id.to_string() };
    let review = open.oldest.map(ReviewId::parse).transpose().map_err(inconsistent)?;
    Ok(payment.view(order_state, review, open.goods_held))
}

/// Keeps a movement of money for ever.
///
/// Returns false when the same transaction is known already with another payment or amount.
pub(crate) async fn insert_money_fact(
    tx: &mut PgTransaction<'_>,
    payment: &Payment,
    money: &ConfirmedMoney,
    disposition: &str,
    record: &EventRecord<'_>,
) -> Result<bool, StoreError> {
    let inserted = sqlx::query!(
        r#"-- money_fact.insert
        INSERT INTO money_fact
            (channel, account, transaction_id, payment_id, amount, currency, disposition,
             event_id, source)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (channel, account, transaction_id) DO NOTHING"#,
        payment.intent.channel.as_str(),
        payment.intent.account.as_str(),
        money.transaction.as_str(),
        payment.id.as_str(),
        units(money.amount),
        money.amount.currency().code(),
        disposition,
        record.id.as_str(),
        record.actor,
    )
    .execute(&mut **tx)
    .await
    .doing("keeping a money fact")?;
    Ok(inserted.rows_affected() == 1)
}
