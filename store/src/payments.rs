//! Recording an intent and claiming the right to send its charge: one transaction, committed
//! before the channel is called. Whether a request may have been sent is read from the row that
//! this file writes, never from an attempt number.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::locks::{LockedOrder, lock_order, lock_payment};
use crate::metrics;
use crate::rows::{Payment, PaymentRow, timestamp, units};
use domain::{
    Capabilities, ClaimToken, EventId, IntentField, OperatorName, OrderState, PaymentEvent,
    PaymentId, PaymentIntent, PaymentState, PaymentView, PermitFacts, RetryPermit, ReviewReason,
    Step, UnixMillis,
};
use serde_json::json;
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
    if let Some(refusal) = refuse(tx, request.intent, order).await? {
        return Ok(Claim::Refused(refusal));
    }
    let payment = insert(tx, request.intent, request.start_before, &PaymentState::Created).await?;
    // The same key for another order, recorded in the meantime under that order's lock.
    if let Some(field) = payment.intent.first_difference(request.intent) {
        return Ok(Claim::Refused(RecordRefusal::IdempotencyConflict { field }));
    }
    claim_first(tx, request, order, payment).await
}

async fn refuse(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
    order: &LockedOrder,
) -> Result<Option<RecordRefusal>, StoreError> {
    if order.merchant_id != intent.merchant.as_str() {
        return Ok(Some(RecordRefusal::OrderNotFound));
    }
    if order.state != OrderState::AwaitingPayment {
        return Ok(Some(RecordRefusal::OrderNotPayable { state: order.state }));
    }
    if order.currency != intent.money.currency().code() {
        return Ok(Some(RecordRefusal::AmountDiffers { field: IntentField::Currency }));
    }
    if order.payable != units(intent.money) {
        return Ok(Some(RecordRefusal::AmountDiffers { field: IntentField::Amount }));
    }
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
/// from a workflow's input after a loss, about which a request may have been sent.
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
                NOT $15 OR NOT EXISTS (SELECT FROM payment o WHERE o.order_id = $4 AND o.live),
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

/// A row is there: the same intent goes on from what it says, another one is refused.
async fn claim_again(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    payment: Payment,
) -> Result<Claim, StoreError> {
    if let Some(field) = payment.intent.first_difference(request.intent) {
        return Ok(Claim::Refused(RecordRefusal::IdempotencyConflict { field }));
    }
    match &payment.state {
        PaymentState::Created => claim_first(tx, request, order, payment).await,
        // Our own claim, whose commit answer was lost.
        PaymentState::Processing { token } if token == request.token => {
            let view = effects::view(tx, &payment, order.state).await?;
            Ok(Claim::Granted { view, pay_before: order.close_at })
        }
        PaymentState::Unknown | PaymentState::AwaitingPayer { .. } => {
            claim_repeat(tx, request, order, payment).await
        }
        PaymentState::ManualReview { .. } if payment.risk_accepted_by.is_some() => {
            claim_at_risk(tx, request, order, payment).await
        }
        PaymentState::Processing { .. }
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { .. }
        | PaymentState::Failed { .. }
        | PaymentState::Closed
        | PaymentState::ManualReview { .. } => found(tx, order, payment).await,
    }
}

async fn found(
    tx: &mut PgTransaction<'_>,
    order: &LockedOrder,
    payment: Payment,
) -> Result<Claim, StoreError> {
    let view = effects::view(tx, &payment, order.state).await?;
    Ok(Claim::Found { view, payment: Box::new(payment) })
}

async fn claim_first(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    mut payment: Payment,
) -> Result<Claim, StoreError> {
    if payment.now >= payment.start_before {
        let event = PaymentEvent::StartExpired;
        let step = payment.state.clone().on(event)?;
        let record = EventRecord {
            id: &local_event(&payment, "start_expired"),
            kind: "start_expired",
            actor: "workflow",
            cause: json!({ "start_before": payment.start_before }),
        };
        effects::take_step(tx, &mut payment, step, &record).await?;
        return found(tx, order, payment).await;
    }
    write_claim(tx, request, order, payment, None).await
}

/// A request may have been sent. Another one needs a permit, and time to be welcome.
async fn claim_repeat(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    payment: Payment,
) -> Result<Claim, StoreError> {
    let capabilities = request.capabilities;
    let only_way_to_learn = capabilities.idempotent_for.is_some() && capabilities.lookup.is_none();
    // A payer who was shown how to pay may still do so: nothing is to be sent, but to learn.
    let shown = matches!(payment.state, PaymentState::AwaitingPayer { .. });
    let welcome = !shown && payment.now < payment.start_before || only_way_to_learn;
    if !welcome || !may_repeat(order, &payment) {
        return found(tx, order, payment).await;
    }
    match RetryPermit::grant(&permit_facts(request, &payment)) {
        Ok(permit) => write_claim(tx, request, order, payment, Some(permit)).await,
        Err(_) => found(tx, order, payment).await,
    }
}

/// A person accepted the risk of another request. This claim uses their acceptance up, whoever
/// comes first; the payer's leaving does not count, because the person knew of it. Where it must
/// not be sent any more, the question is open again.
async fn claim_at_risk(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    mut payment: Payment,
) -> Result<Claim, StoreError> {
    let facts = permit_facts(request, &payment);
    let permit = RetryPermit::grant(&facts).ok().filter(|_| may_repeat(order, &payment));
    if permit.is_some() {
        return write_claim(tx, request, order, payment, permit).await;
    }
    sqlx::query!(
        r#"-- payments.refuse_risk
        UPDATE payment SET risk_accepted_by = NULL WHERE id = $1"#,
        payment.id.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("refusing an accepted risk")?;
    let decision = payment.risk_accepted_by.take();
    let step = payment.state.clone().on(PaymentEvent::LadderEnded)?;
    let id = local_event(&payment, "resubmission_refused");
    let record = EventRecord {
        id: &id,
        kind: "resubmission_refused",
        actor: "workflow",
        cause: json!({ "decision": decision, "order": order.state.as_str() }),
    };
    effects::take_step(tx, &mut payment, step, &record).await?;
    effects::open_review(tx, &payment, &id, ReviewReason::OutcomeUnknown).await?;
    found(tx, order, payment).await
}

fn may_repeat(order: &LockedOrder, payment: &Payment) -> bool {
    payment.live && order.state == OrderState::AwaitingPayment && !payment.claim_is_running()
}

fn permit_facts(request: &ClaimRequest<'_>, payment: &Payment) -> PermitFacts {
    PermitFacts {
        capabilities: *request.capabilities,
        permits_used: payment.permits_used,
        first_sent_at: payment.first_sent_at,
        send_before: payment.send_before,
        not_found_at: payment.not_found_at,
        risk_accepted: payment.risk_accepted_by.is_some(),
        now: payment.now,
    }
}

async fn write_claim(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    mut payment: Payment,
    permit: Option<RetryPermit>,
) -> Result<Claim, StoreError> {
    let untouched = payment.version == 0;
    let ground = permit.as_ref().map(|permit| permit.ground().as_str());
    let repeats = i16::from(permit.is_some());
    let may_charge_twice = permit.as_ref().is_some_and(RetryPermit::may_charge_twice);
    let decision = payment.risk_accepted_by.clone();
    let event = PaymentEvent::Claimed { token: request.token.clone(), permit };
    let step = payment.state.clone().on(event)?;
    let call_limit_s = request.capabilities.call_limit.as_secs_f64();
    let updated = sqlx::query!(
        r#"-- payments.claim
        UPDATE payment SET
            claim_token = $3,
            first_sent_at = coalesce(first_sent_at, clock_timestamp()),
            send_before = clock_timestamp() + make_interval(secs => $4),
            permits_used = permits_used + $5,
            risk_taken = risk_taken OR $6,
            not_found_at = NULL
        WHERE id = $1 AND version = $2 AND live"#,
        payment.id.as_str(),
        payment.version,
        request.token.as_str(),
        call_limit_s,
        repeats,
        may_charge_twice,
    )
    .execute(&mut **tx)
    .await
    .doing("writing a claim")?;
    exactly_one("writing a claim", &updated)?;
    payment.permits_used += u8::from(repeats > 0);
    payment.risk_taken |= may_charge_twice;
    let record = EventRecord {
        id: &local_event(&payment, "claimed"),
        kind: "claimed",
        actor: "workflow",
        cause: json!({ "token": request.token, "permit": ground, "decision": decision }),
    };
    if let Step::Moved(_) = &step {
        effects::take_step(tx, &mut payment, step, &record).await?;
    }
    metrics::claimed(ground);
    // Nothing had happened to the payment before, so nobody was asked about it.
    let view = if untouched {
        payment.view(order.state, None, false)
    } else {
        effects::view(tx, &payment, order.state).await?
    };
    Ok(Claim::Granted { view, pay_before: order.close_at })
}

/// The id of an event that only this row's present version can have.
pub(crate) fn local_event(payment: &Payment, kind: &str) -> EventId {
    EventId::of(&[payment.id.as_str(), kind, &payment.version.to_string()])
}
