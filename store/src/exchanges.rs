//! The record of requests to channels: every one, whether it taught anything or not.

use crate::Store;
use crate::effects;
use crate::error::{Doing, StoreError};
use crate::locks::{must_lock_order, must_lock_payment};
use crate::rows::{Payment, timestamp};
use domain::{ClaimToken, Exchange, PaymentIntent, PaymentView};
use sqlx::PgTransaction;

/// Whether a recorded request is a complete lookup that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    No,
    Complete,
}

impl Store {
    /// Records a request that taught nothing new: the payment stays as it is.
    ///
    /// A complete lookup that found nothing is remembered in the row under the claim it was made
    /// for; only the next claim may conclude anything from it.
    ///
    /// # Errors
    /// [`StoreError`]; twice leaves two records of one request, which harms nothing.
    pub async fn record_exchange(
        &self,
        intent: &PaymentIntent,
        token: Option<&ClaimToken>,
        exchange: &Exchange,
        not_found: NotFound,
    ) -> Result<PaymentView, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to record a request")?;
        let order = must_lock_order(&mut tx, intent).await?;
        let payment = must_lock_payment(&mut tx, intent).await?;
        insert_exchange(&mut tx, &payment, token, exchange).await?;
        if not_found == NotFound::Complete && payment.claim_token.as_ref() == token {
            sqlx::query!(
                r#"-- payments.not_found
                UPDATE payment SET not_found_at = $2 WHERE id = $1"#,
                payment.id.as_str(),
                timestamp(exchange.started_at),
            )
            .execute(&mut *tx)
            .await
            .doing("recording a lookup that found nothing")?;
        }
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing the record of a request")?;
        Ok(view)
    }
}

pub(crate) async fn insert_exchange(
    tx: &mut PgTransaction<'_>,
    payment: &Payment,
    token: Option<&ClaimToken>,
    exchange: &Exchange,
) -> Result<(), StoreError> {
    sqlx::query!(
        r#"-- channel_exchange.insert
        INSERT INTO channel_exchange
            (payment_id, operation, claim_token, started_at, duration_ms, outcome,
             transaction_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)"#,
        payment.id.as_str(),
        exchange.operation.as_str(),
        token.map(ClaimToken::as_str),
        timestamp(exchange.started_at),
        exchange.duration_ms,
        exchange.outcome,
        exchange.transaction.as_ref().map(domain::ChannelTransactionId::as_str),
    )
    .execute(&mut **tx)
    .await
    .doing("recording a channel exchange")?;
    Ok(())
}
