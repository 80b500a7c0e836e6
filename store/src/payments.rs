//! Recording an intent and claiming the right to send its charge: one transaction, committed
//! before the channel is called.

use crate::claims::{claim_again, claim_first, claim_new};
use crate::error::{Doing, StoreError};
use crate::locks::{LockedOrder, lock_order, lock_payment};
use crate::rows::{Payment, PaymentRow, timestamp, units};
use crate::{Store, metrics};
use domain::{
    Capabilities, ClaimToken, EventId, IntentField, OperatorName, OrderState, PaymentId,
    PaymentIntent, PaymentState, PaymentView, UnixMillis,
};
use sqlx::PgTransaction;

/// Who wants to send, and under which conditions.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a> {
    pub intent: &'a PaymentIntent,
    pub token: &'a ClaimToken,
    pub capabilities: &'a Capabilities,
    /// No charge is sent from this instant on; kept as it was first recorded.
    pub start_before: UnixMillis,
}

/// What came of asking to send.
#[derive(Clone, Debug)]
pub enum Claim {
    /// The request may be sent, until the call limit from before the call of this function.
    /// The payer may pay until `pay_before`, the order's close.
    Granted { view: PaymentView, pay_before: UnixMillis },
    /// Nothing may be sent: the row tells why. It may hold the outcome already.
    Found { view: PaymentView, payment: Box<Payment> },
    /// The intent is refused and nothing was recorded: the key is still free.
    Refused(RecordRefusal),
}

/// Why an intent is not recorded. None of these binds the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordRefusal {
    /// The key names another intent.
    IdempotencyConflict {
        field: IntentField,
    },
    OrderNotFound,
    /// Another intent of the order may still take money.
    OrderBusy {
        payment: PaymentId,
    },
    /// The order is paid, closed or finished, or the channel said never to try again.
    OrderNotPayable {
        state: OrderState,
    },
    /// The order waits for its payment, and its time to pay is over.
    OrderTimeOver,
    /// The amount or the currency is not what the order costs.
    AmountDiffers {
        field: IntentField,
    },
}

impl Store {
    /// Records the intent and claims its charge, or finds what an earlier run left.
    ///
    /// Twice is safe: the same token finds its own claim and is granted it again.
    ///
    /// # Errors
    /// [`StoreError`]; whether it was committed is found out by calling again.
    pub async fn record_and_claim(&self, request: &ClaimRequest<'_>) -> Result<Claim, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning a claim")?;
        let Some(order) = lock_order(&mut tx, &request.intent.order).await? else {
            return Ok(Claim::Refused(RecordRefusal::OrderNotFound));
        };
        let id = request.intent.payment_id();
        let claim = match lock_payment(&mut tx, &id).await? {
            Some(payment) => claim_again(&mut tx, request, &order, payment).await?,
            None => record(&mut tx, request, &order).await?,
        };
        if !matches!(claim, Claim::Refused(_)) {
            tx.commit().await.doing("committing a claim")?;
        }
        Ok(claim)
    }
}

/// No row yet: check the order, then write the intent and its first claim together.
async fn record(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
) -> Result<Claim, StoreError> {
    if let Some(refusal) = refused_by_order(request.intent, order) {
        return Ok(Claim::Refused(refusal));
    }
    if let Some(view) = claim_new(tx, request, order).await? {
        return Ok(Claim::Granted { view, pay_before: order.close_at });
    }
    // Something stands against it.
    if let Some(refusal) = refused_by_payment(tx, order).await? {
        return Ok(Claim::Refused(refusal));
    }
    let payment = insert(tx, request.intent, request.start_before, &PaymentState::Created).await?;
    // The same key for another order, recorded in the meantime under that order's lock.
    if let Some(field) = payment.intent.first_difference(request.intent) {
        return Ok(Claim::Refused(RecordRefusal::IdempotencyConflict { field }));
    }
    if payment.now >= order.close_at {
        return Ok(Claim::Refused(RecordRefusal::OrderTimeOver));
    }
    metrics::recorded(payment.intent.channel);
    claim_first(tx, request, order, payment).await
}

fn refused_by_order(intent: &PaymentIntent, order: &LockedOrder) -> Option<RecordRefusal> {
    match not_for_this_order(intent, order) {
        Some(RecordRefusal::OrderNotFound) => Some(RecordRefusal::OrderNotFound),
        _ if order.state != OrderState::AwaitingPayment => {
            Some(RecordRefusal::OrderNotPayable { state: order.state })
        }
        refusal => refusal,
    }
}

/// Why no payment with this intent can ever have been recorded for the order, whatever became of
/// the order since: what it costs and whose it is never change.
pub(crate) fn not_for_this_order(
    intent: &PaymentIntent,
    order: &LockedOrder,
) -> Option<RecordRefusal> {
    if order.merchant_id != intent.merchant.as_str() {
        return Some(RecordRefusal::OrderNotFound);
    }
    if order.currency != intent.money.currency().code() {
        return Some(RecordRefusal::AmountDiffers { field: IntentField::Currency });
    }
    if order.payable != units(intent.money) {
        return Some(RecordRefusal::AmountDiffers { field: IntentField::Amount });
    }
    None
}

/// Another payment that may still take money, or one after which nobody may try again.
async fn refused_by_payment(
    tx: &mut PgTransaction<'_>,
    order: &LockedOrder,
) -> Result<Option<RecordRefusal>, StoreError> {
    let other = sqlx::query!(
        r#"-- payments.other_on_order
        SELECT id, live FROM payment
        WHERE order_id = $1 AND (live OR failure_class = 'declined_finally')
        ORDER BY live DESC LIMIT 1"#,
        order.id.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("looking for another payment of the order")?;
    let Some(other) = other else { return Ok(None) };
    if !other.live {
        return Ok(Some(RecordRefusal::OrderNotPayable { state: order.state }));
    }
    let payment = PaymentId::parse(other.id).map_err(|_| StoreError::Inconsistent {
        table: "payment",
        column: "id",
        row: order.id.to_string(),
    })?;
    Ok(Some(RecordRefusal::OrderBusy { payment }))
}

/// Writes the intent's row. `Created` is the record of an intent; `Processing` is a row made again
/// from a workflow's input after a loss, about which a request may have been sent. Beside another
/// payment that stands against it nothing is ever sent for such a row; it is only looked up.
pub(crate) async fn insert(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
    start_before: UnixMillis,
    state: &PaymentState,
) -> Result<Payment, StoreError> {
    let rebuilt = matches!(state, PaymentState::Processing { .. });
    let token = match state {
        PaymentState::Processing { token } => Some(token.as_str()),
        _ => None,
    };
    let (id, reference) = (intent.payment_id(), intent.reference(1));
    let inserted = sqlx::query_as!(
        PaymentRow,
        r#"-- payments.insert
        INSERT INTO payment
            (id, merchant_id, idempotency_key, order_id, amount, currency, channel, account,
             payment_method, reference, fingerprint, state, live, version, start_before,
             claim_token, first_sent_at, send_before, attend_by, rebuilt, started_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                NOT $15 OR NOT EXISTS (
                    SELECT FROM payment o
                    WHERE o.order_id = $4 AND (o.live OR o.failure_class = 'declined_finally')
                ),
                0, $13, $14,
                CASE WHEN $15 THEN clock_timestamp() END,
                CASE WHEN $15 THEN clock_timestamp() END,
                clock_timestamp() + interval '1 minute', $15, $16)
        ON CONFLICT (id) DO NOTHING
        RETURNING id, merchant_id, idempotency_key, order_id, amount, currency, channel, account,
                  payment_method, state, live, version, start_before, claim_token, first_sent_at,
                  send_before, permits_used, not_found_at, action, pay_before, transaction_id,
                  transaction_amount, transaction_currency, effect, failure_class, review_reason,
                  CASE WHEN rebuilt THEN created_at END AS rebuilt_at, started_by,
                  risk_accepted_by, risk_taken, clock_timestamp() AS "now!""#,
        id.as_str(),
        intent.merchant.as_str(),
        intent.key.as_str(),
        intent.order.as_str(),
        units(intent.money),
        intent.money.currency().code(),
        intent.channel.as_str(),
        intent.account.as_str(),
        intent.payment_method.as_str(),
        reference.as_str(),
        intent.fingerprint(),
        state.name(),
        timestamp(start_before),
        token,
        rebuilt,
        intent.started_by.as_ref().map(OperatorName::as_str),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("recording a payment intent")?;
    if let Some(row) = inserted {
        return Payment::try_from(row);
    }
    lock_payment(tx, &id)
        .await?
        .ok_or_else(|| StoreError::Missing { what: "payment", id: id.to_string() })
}

/// The id of an event that only this row's present version can have.
pub(crate) fn local_event(payment: &Payment, kind: &str) -> EventId {
    event_at(&payment.id, kind, payment.version)
}

/// The same for a row that is not read: the version is the one before the event.
pub(crate) fn event_at(payment: &PaymentId, kind: &str, version: i64) -> EventId {
    EventId::of(&[payment.as_str(), kind, &version.to_string()])
}
