//! What is known about one payment when somebody asks why it is where it is. No lock, no write;
//! everything is of one instant.

use crate::Store;
use crate::error::{Doing, StoreError};
use crate::reads::payment_in;
use crate::rows::millis;
use chrono::{DateTime, Utc};
use domain::explain::{ExplainFacts, OpenReview};
use domain::{OrderState, PaymentId, PaymentIntent, PaymentState, ReviewId, UnixMillis};
use serde_json::Value;
use sqlx::PgTransaction;

/// Most open reviews of one payment that are named.
const MAX_OPEN_REVIEWS: i64 = 20;

/// A payment with everything that explains it.
#[derive(Clone, Debug)]
pub struct ExplainedPayment {
    pub intent: PaymentIntent,
    pub state: PaymentState,
    pub live: bool,
    pub version: i64,
    pub start_before: UnixMillis,
    pub send_before: Option<UnixMillis>,
    pub permits_used: u8,
    pub attend_by: Option<UnixMillis>,
    pub order_state: OrderState,
    pub other_live: Option<PaymentId>,
    pub declined_finally: bool,
    pub open_reviews: Vec<OpenReview>,
    pub last_event: Option<RecordedEvent>,
    pub now: UnixMillis,
}

/// One event of a payment, as it is on the record.
#[derive(Clone, Debug)]
pub struct RecordedEvent {
    pub payment: String,
    pub sequence: i64,
    pub kind: String,
    pub from_state: String,
    pub to_state: String,
    pub actor: String,
    pub cause: Value,
    pub at: DateTime<Utc>,
}

impl ExplainedPayment {
    /// The facts as the domain wants them.
    #[must_use]
    pub fn facts(&self) -> ExplainFacts<'_> {
        ExplainFacts {
            state: &self.state,
            live: self.live,
            start_before: self.start_before,
            send_before: self.send_before,
            permits_used: self.permits_used,
            attend_by: self.attend_by,
            order_state: self.order_state,
            other_live: self.other_live.as_ref(),
            declined_finally: self.declined_finally,
            open_reviews: &self.open_reviews,
            now: self.now,
        }
    }
}

impl Store {
    /// # Errors
    /// [`StoreError`]. A payment that is not there is `None`.
    pub async fn read_explained(
        &self,
        id: &PaymentId,
    ) -> Result<Option<ExplainedPayment>, StoreError> {
        let mut tx = self.begin_reading().await?;
        let Some(payment) = payment_in(&mut tx, id).await? else { return Ok(None) };
        let around = sqlx::query!(
            r#"-- payments.around
            SELECT p.attend_by, o.state AS order_state,
                   (SELECT id FROM payment WHERE order_id = o.id AND live AND id <> p.id LIMIT 1)
                       AS other_live,
                   EXISTS (SELECT FROM payment
                           WHERE order_id = o.id AND failure_class = 'declined_finally')
                       AS "declined_finally!"
            FROM payment p JOIN customer_order o ON o.id = p.order_id
            WHERE p.id = $1"#,
            id.as_str(),
        )
        .fetch_one(&mut *tx)
        .await
        .doing("reading what is around a payment")?;
        let wrong = |table, column| StoreError::Inconsistent { table, column, row: id.to_string() };
        let order_state = OrderState::parse(&around.order_state)
            .ok_or_else(|| wrong("customer_order", "state"))?;
        let other_live = around.other_live.map(PaymentId::parse).transpose();
        Ok(Some(ExplainedPayment {
            intent: payment.intent,
            state: payment.state,
            live: payment.live,
            version: payment.version,
            start_before: payment.start_before,
            send_before: payment.send_before,
            permits_used: payment.permits_used,
            attend_by: around.attend_by.map(millis),
            order_state,
            other_live: other_live.map_err(|_| wrong("payment", "id"))?,
            declined_finally: around.declined_finally,
            open_reviews: open_reviews(&mut tx, id).await?,
            last_event: last_event(&mut tx, id).await?,
            now: payment.now,
        }))
    }

    /// A transaction that sees one instant and writes nothing.
    pub(crate) async fn begin_reading(&self) -> Result<PgTransaction<'static>, StoreError> {
        const ONE_INSTANT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        self.pool.begin_with(ONE_INSTANT).await.doing("beginning to read")
    }
}

async fn open_reviews(
    tx: &mut PgTransaction<'_>,
    id: &PaymentId,
) -> Result<Vec<OpenReview>, StoreError> {
    let rows = sqlx::query!(
        r#"-- review.open_of_payment
        SELECT id, reason, remind_at FROM review
        WHERE payment_id = $1 AND state = 'Open'
        ORDER BY opened_at, id LIMIT $2"#,
        id.as_str(),
        MAX_OPEN_REVIEWS,
    )
    .fetch_all(&mut **tx)
    .await
    .doing("reading a payment's open reviews")?;
    let wrong = |column| StoreError::Inconsistent { table: "review", column, row: id.to_string() };
    rows.into_iter()
        .map(|row| {
            Ok(OpenReview {
                id: ReviewId::parse(row.id).map_err(|_| wrong("id"))?,
                reason: serde_json::from_value(Value::String(row.reason))
                    .map(Some)
                    .map_err(|_| wrong("reason"))?,
                remind_at: Some(millis(row.remind_at)),
            })
        })
        .collect()
}

async fn last_event(
    tx: &mut PgTransaction<'_>,
    id: &PaymentId,
) -> Result<Option<RecordedEvent>, StoreError> {
    sqlx::query_as!(
        RecordedEvent,
        r#"-- payment_event.last
        SELECT payment_id AS payment, sequence, kind, from_state, to_state, actor, cause, at
        FROM payment_event WHERE payment_id = $1
        ORDER BY sequence DESC LIMIT 1"#,
        id.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("reading a payment's last event")
}
