//! The claim: the right to send one request, held in the payment's row. Whether a request may have
//! been sent is read from what this file writes, never from an attempt number.

use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::locks::LockedOrder;
use crate::metrics;
use crate::payments::{Claim, ClaimRequest, RecordRefusal, event_at, local_event};
use crate::rows::{Payment, StateColumns, timestamp, units};
use domain::{
    OperatorName, OrderState, PaymentEvent, PaymentId, PaymentState, PaymentView, PermitFacts,
    RetryPermit, ReviewReason, Step, UnixMillis,
};
use serde_json::json;
use sqlx::PgTransaction;

/// Records a new intent as already claimed, in one statement: five round trips are spared, all of
/// them under the order's lock. Nothing is written, and `None` returned, where the start has
/// expired, another payment stands against it, or the key is recorded under another order; the
/// caller finds out which.
pub(crate) async fn claim_new(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
) -> Result<Option<PaymentView>, StoreError> {
    let ClaimRequest { intent, token, capabilities, start_before } = *request;
    let claimed = PaymentEvent::Claimed { token: token.clone(), permit: None };
    let Step::Moved(state) = PaymentState::Created.on(claimed)? else { return Ok(None) };
    let columns = StateColumns::of(&state);
    let (id, reference) = (intent.payment_id(), intent.reference(1));
    let event = event_at(&id, "claimed", 0);
    let written = sqlx::query_scalar!(
        r#"-- payments.claim_new
        WITH written AS (
            INSERT INTO payment
                (id, merchant_id, idempotency_key, order_id, amount, currency, channel, account,
                 payment_method, reference, fingerprint, started_by, state, live, version,
                 start_before, claim_token, first_sent_at, send_before, attend_by)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, true, 1, $14, $15,
                   clock_timestamp(), clock_timestamp() + make_interval(secs => $16),
                   clock_timestamp() + make_interval(secs => $17)
            WHERE clock_timestamp() < least($14, $18::timestamptz)
              AND NOT EXISTS (
                  SELECT FROM payment
                  WHERE order_id = $4 AND (live OR failure_class = 'declined_finally')
              )
            ON CONFLICT (id) DO NOTHING
            RETURNING id, version, first_sent_at
        ), event AS (
            INSERT INTO payment_event
                (id, payment_id, sequence, kind, from_state, to_state, actor, cause, at)
            SELECT $19, id, version, 'claimed', 'Created', $13, 'workflow', $20, first_sent_at
            FROM written
        ), told AS (
            INSERT INTO outbox (payment_id, sequence, kind, body, created_at)
            SELECT id, version, 'payment.' || $13, $21, first_sent_at FROM written
        )
        SELECT count(*) AS "written!" FROM written"#,
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
        intent.started_by.as_ref().map(OperatorName::as_str),
        columns.state,
        timestamp(start_before),
        token.as_str(),
        capabilities.call_limit.as_secs_f64(),
        columns.attend_after,
        timestamp(order.close_at),
        event.as_str(),
        json!({ "token": token, "permit": null, "decision": null }),
        effects::outbox_body(intent, &state, 1),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("recording and claiming an intent")?;
    if written == 0 {
        return Ok(None);
    }
    metrics::recorded(intent.channel);
    metrics::claimed(None);
    Ok(Some(just_claimed(id, state, start_before, order)))
}

fn just_claimed(
    payment: PaymentId,
    state: PaymentState,
    start_before: UnixMillis,
    order: &LockedOrder,
) -> PaymentView {
    PaymentView {
        payment,
        state,
        version: 1,
        permits_used: 0,
        start_before,
        order_state: order.state,
        review: None,
        claim: None,
        goods_held: false,
        rebuilt_at: None,
        risk_accepted: false,
    }
}

/// A row is there: the same intent goes on from what it says, another one is refused.
pub(crate) async fn claim_again(
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

pub(crate) async fn claim_first(
    tx: &mut PgTransaction<'_>,
    request: &ClaimRequest<'_>,
    order: &LockedOrder,
    mut payment: Payment,
) -> Result<Claim, StoreError> {
    if payment.now >= last_start(order, &payment) {
        let event = PaymentEvent::StartExpired;
        let step = payment.state.clone().on(event)?;
        let record = EventRecord {
            id: &local_event(&payment, "start_expired"),
            kind: "start_expired",
            actor: "workflow",
            cause: json!({ "start_before": payment.start_before, "close_at": order.close_at }),
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
    let welcome = !shown && payment.now < last_start(order, &payment) || only_way_to_learn;
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

/// Nothing is sent for a payer who has left, or for an order that is about to close.
fn last_start(order: &LockedOrder, payment: &Payment) -> UnixMillis {
    payment.start_before.min(order.close_at)
}

fn may_repeat(order: &LockedOrder, payment: &Payment) -> bool {
    payment.live && order.state == OrderState::AwaitingPayment && !payment.claim_is_running()
}

fn permit_facts(request: &ClaimRequest<'_>, payment: &Payment) -> PermitFacts {
    PermitFacts {
        capabilities: *request.capabilities,
        permits_used: payment.permits_used,
        // Of a row that was made again nobody knows when its request was first sent: the channel's
        // window may have passed.
        first_sent_at: payment.first_sent_at.filter(|_| payment.rebuilt_at.is_none()),
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
