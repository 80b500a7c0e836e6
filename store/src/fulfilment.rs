//! The order's side of handing goods over: claimed before the merchant is called, written down
//! after. The merchant's own idempotency key makes the call itself happen once.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError};
use crate::locks::{lock_payment, must_lock_order, must_lock_payment};
use crate::order_moves::{self, Moved, move_order};
use crate::payments::local_event;
use crate::reads::payment_in;
use domain::{OrderState, PaymentIntent, PaymentView, ReviewReason, Step};
use serde_json::json;

/// What came of asking to fulfil.
#[derive(Clone, Debug)]
pub enum FulfilClaim {
    /// The goods are to be handed over, now or again with the same key.
    Granted,
    /// They were, or must not be. The row says which.
    Found(PaymentView),
    /// The payment's row is gone, and with it whose money the order keeps.
    RowLost,
}

impl Store {
    /// Claims Paid → Fulfilling for the payment whose money the order keeps.
    ///
    /// Twice is safe: an order that is Fulfilling is granted again, to the same payment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn claim_fulfilment(
        &self,
        intent: &PaymentIntent,
    ) -> Result<FulfilClaim, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to fulfil")?;
        let mut order = must_lock_order(&mut tx, intent).await?;
        let Some(payment) = lock_payment(&mut tx, &intent.payment_id()).await? else {
            return Ok(FulfilClaim::RowLost);
        };
        let view = effects::view(&mut tx, &payment, order.state).await?;
        let kept = order.paid_by.as_deref() == Some(intent.payment_id().as_str());
        if !kept || !view.awaits_fulfilment() {
            return Ok(FulfilClaim::Found(view));
        }
        if order.state == OrderState::Paid {
            let (payment, cause) = (&intent.payment_id(), json!({}));
            let moved = Moved { payment, actor: "workflow", cause };
            move_order(&mut tx, &mut order, OrderState::Fulfilling, &moved).await?;
            tx.commit().await.doing("committing a claim to fulfil")?;
        }
        Ok(FulfilClaim::Granted)
    }

    /// Writes down that the merchant will never hand the goods over: the money stays kept, the
    /// order is Paid again, and a person is asked.
    ///
    /// Twice is safe: an order that is no longer Fulfilling stays as it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn record_refused(
        &self,
        intent: &PaymentIntent,
        code: &str,
    ) -> Result<PaymentView, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to record a refusal")?;
        let mut order = must_lock_order(&mut tx, intent).await?;
        let mut payment = must_lock_payment(&mut tx, intent).await?;
        if order.state == OrderState::Fulfilling {
            let cause = json!({ "code": code });
            let moved = Moved { payment: &payment.id, actor: "workflow", cause };
            move_order(&mut tx, &mut order, OrderState::Paid, &moved).await?;
            let record = EventRecord {
                id: &local_event(&payment, "fulfilment_refused"),
                kind: "fulfilment_refused",
                actor: "workflow",
                cause: json!({ "code": code }),
            };
            let review = Some(ReviewReason::FulfilmentRefused);
            let step = Step::Absorbed { state: payment.state.clone(), review };
            effects::take_step(&mut tx, &mut payment, step, &record).await?;
        }
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing a refusal")?;
        Ok(view)
    }

    /// Writes down that the goods were handed over.
    ///
    /// Twice is safe: an order that is Fulfilled stays as it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn record_fulfilled(
        &self,
        intent: &PaymentIntent,
    ) -> Result<PaymentView, StoreError> {
        let id = intent.payment_id();
        if order_moves::fulfilled(&self.pool, &id).await? {
            let mut connection = self.pool.acquire().await.doing("reading what is fulfilled")?;
            if let Some(payment) = payment_in(&mut connection, &id).await? {
                return effects::view(&mut connection, &payment, OrderState::Fulfilled).await;
            }
        }
        let mut tx = self.pool.begin().await.doing("beginning to record fulfilment")?;
        let mut order = must_lock_order(&mut tx, intent).await?;
        // Also after a refusal: that the goods left is a fact, and answers the question.
        if order.state == OrderState::Paid {
            let moved = Moved { payment: &id, actor: "workflow", cause: json!({}) };
            move_order(&mut tx, &mut order, OrderState::Fulfilling, &moved).await?;
            effects::end_review(&mut tx, intent, ReviewReason::FulfilmentRefused).await?;
        }
        if order_moves::fulfilled(&mut *tx, &id).await? {
            order.state = OrderState::Fulfilled;
        }
        let payment = must_lock_payment(&mut tx, intent).await?;
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing fulfilment")?;
        Ok(view)
    }
}
