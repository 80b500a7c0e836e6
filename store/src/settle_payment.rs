//! The one door. A charge's answer, a lookup, a person and (later) notifications, stray money and
//! bill lines all enter here, as the same event, in one short transaction.
//!
//! The id of a piece of news about money comes from the news alone, so that every source of the
//! same truth has the same id: whoever comes second finds it applied.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::payments::{LockedOrder, insert, local_event, lock_order, lock_payment};
use crate::rows::{Payment, timestamp};
use domain::{
    Actor, ClaimToken, ConfirmedMoney, Effect, EventId, Exchange, PaymentEvent, PaymentIntent,
    PaymentState, PaymentView, ReviewReason, Step, UnixMillis,
};
use serde_json::{Value, json};
use sqlx::PgTransaction;

/// One piece of news, with who brought it.
#[derive(Clone, Debug)]
pub struct Confirmation<'a> {
    /// Finds the row, or makes it again when it is gone.
    pub intent: &'a PaymentIntent,
    /// Kept only when the row has to be made again.
    pub start_before: UnixMillis,
    pub event: PaymentEvent,
    pub actor: &'a Actor,
    /// The claim under which weak news was learned. News of another claim changes nothing.
    /// Confirmed money is believed whoever brings it.
    pub token: Option<&'a ClaimToken>,
    /// The request that brought the news.
    pub exchange: Option<&'a Exchange>,
}

/// What the news did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The payment moved, or the news is on its record.
    Applied,
    /// The same news was here before.
    AlreadyApplied,
    Surplus,
    Late,
    Mismatch,
    /// Weak news of a claim that is no longer the payment's.
    Stale,
}

/// The answer and the row as it now is. Where a workflow's memory differs, the row is right.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub answer: Answer,
    pub view: PaymentView,
}

impl Store {
    /// Takes a piece of news about a payment.
    ///
    /// Twice is safe: the event's id is unique, and the second finds it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: call again. [`StoreError::BrokenRule`] only when not even the
    /// bare fact could be kept.
    pub async fn settle(&self, news: &Confirmation<'_>) -> Result<Settlement, StoreError> {
        match self.try_settle(news).await {
            Err(StoreError::BrokenRule { doing, constraint, source }) => match &news.event {
                PaymentEvent::MoneyConfirmed { money } => {
                    self.keep_bare_fact(news, money, &constraint).await
                }
                _ => Err(StoreError::BrokenRule { doing, constraint, source }),
            },
            result => result,
        }
    }

    async fn try_settle(&self, news: &Confirmation<'_>) -> Result<Settlement, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to settle")?;
        let (mut order, mut payment) = lock_both(&mut tx, news).await?;
        if let Some(exchange) = news.exchange {
            insert_exchange(&mut tx, &payment, news.token, exchange).await?;
        }
        let answer = settle_locked(&mut tx, &mut order, &mut payment, news).await?;
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing a settlement")?;
        Ok(Settlement { answer, view })
    }

    /// A rule of ours forbids what the channel says is true. The truth is kept, with as little
    /// around it as possible, and a person is asked.
    async fn keep_bare_fact(
        &self,
        news: &Confirmation<'_>,
        money: &ConfirmedMoney,
        constraint: &str,
    ) -> Result<Settlement, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to keep a fact")?;
        let (order, mut payment) = lock_both(&mut tx, news).await?;
        let id = event_id(&payment, &news.event);
        let record = EventRecord {
            id: &id,
            kind: "money_confirmed",
            actor: &news.actor.label(),
            cause: json!({ "broken_rule": constraint }),
        };
        if !event_is_known(&mut tx, &id).await? {
            effects::insert_money_fact(&mut tx, &payment, money, "Broken", &record).await?;
            let step = payment.state.clone().on(news.event.clone())?;
            effects::take_step(&mut tx, &mut payment, step, &record).await?;
            effects::open_review(&mut tx, &payment, &id, ReviewReason::BrokenRule).await?;
        }
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing a kept fact")?;
        Ok(Settlement { answer: Answer::Applied, view })
    }

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

/// Whether a recorded request is a complete lookup that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    No,
    Complete,
}

async fn must_lock_order(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
) -> Result<LockedOrder, StoreError> {
    let missing = || StoreError::Missing { what: "order", id: intent.order.to_string() };
    lock_order(tx, &intent.order).await?.ok_or_else(missing)
}

async fn must_lock_payment(
    tx: &mut PgTransaction<'_>,
    intent: &PaymentIntent,
) -> Result<Payment, StoreError> {
    let id = intent.payment_id();
    let missing = || StoreError::Missing { what: "payment", id: id.to_string() };
    lock_payment(tx, &id).await?.ok_or_else(missing)
}

/// Locks the order, then the payment. A payment whose row is gone is made again from the intent,
/// as one about which a request may have been sent.
async fn lock_both(
    tx: &mut PgTransaction<'_>,
    news: &Confirmation<'_>,
) -> Result<(LockedOrder, Payment), StoreError> {
    let order = must_lock_order(tx, news.intent).await?;
    if let Some(payment) = lock_payment(tx, &news.intent.payment_id()).await? {
        return Ok((order, payment));
    }
    let token = news.token.cloned().unwrap_or_else(|| ClaimToken::of("rebuilt", 0));
    let state = PaymentState::Processing { token };
    let payment = insert(tx, news.intent, news.start_before, &state).await?;
    Ok((order, payment))
}

pub(crate) async fn settle_locked(
    tx: &mut PgTransaction<'_>,
    order: &mut LockedOrder,
    payment: &mut Payment,
    news: &Confirmation<'_>,
) -> Result<Answer, StoreError> {
    let id = event_id(payment, &news.event);
    if event_is_known(tx, &id).await? {
        return Ok(Answer::AlreadyApplied);
    }
    let actor = news.actor.label();
    let (kind, cause) = describe(&news.event);
    let record = EventRecord { id: &id, kind, actor: &actor, cause };
    match &news.event {
        PaymentEvent::MoneyConfirmed { money } => {
            take_money(tx, order, payment, money, &record).await
        }
        event => take_weak_news(tx, payment, event, news, &record).await,
    }
}

/// Money that moved: kept as a fact first, then given to the order, or to a person.
async fn take_money(
    tx: &mut PgTransaction<'_>,
    order: &mut LockedOrder,
    payment: &mut Payment,
    money: &ConfirmedMoney,
    record: &EventRecord<'_>,
) -> Result<Answer, StoreError> {
    if money.amount != payment.intent.money {
        let step =
            payment.state.clone().on(PaymentEvent::MoneyMismatch { money: money.clone() })?;
        effects::insert_money_fact(tx, payment, money, "Mismatch", record).await?;
        effects::take_step(tx, payment, step, record).await?;
        effects::open_review(tx, payment, record.id, ReviewReason::AmountMismatch).await?;
        return Ok(Answer::Mismatch);
    }
    let event = PaymentEvent::MoneyConfirmed { money: money.clone() };
    let step = payment.state.clone().on(event)?;
    let Step::Moved(_) = step else {
        // The payment holds money already, and this is another movement of it.
        effects::insert_money_fact(tx, payment, money, "SecondTransaction", record).await?;
        effects::take_step(tx, payment, step, record).await?;
        return Ok(Answer::Surplus);
    };
    let effect = effects::apply_money(tx, payment, order).await?;
    let (disposition, review, answer) = match effect {
        Effect::Applied => ("Applied", None, Answer::Applied),
        Effect::Surplus => ("Surplus", Some(ReviewReason::SurplusMoney), Answer::Surplus),
        Effect::Late => ("Late", Some(ReviewReason::LateMoney), Answer::Late),
    };
    if !effects::insert_money_fact(tx, payment, money, disposition, record).await? {
        // The channel's transaction is known with another payment: a rule is broken.
        return Err(StoreError::BrokenRule {
            doing: "keeping a money fact",
            constraint: "money_fact_transaction".to_owned(),
            source: sqlx::Error::RowNotFound,
        });
    }
    let state = PaymentState::Persisted { money: money.clone(), effect };
    effects::take_step(tx, payment, Step::Moved(state), record).await?;
    if let Some(reason) = review {
        effects::open_review(tx, payment, record.id, reason).await?;
    }
    Ok(answer)
}

async fn take_weak_news(
    tx: &mut PgTransaction<'_>,
    payment: &mut Payment,
    event: &PaymentEvent,
    news: &Confirmation<'_>,
    record: &EventRecord<'_>,
) -> Result<Answer, StoreError> {
    let own_claim = payment.claim_token.as_ref() == news.token;
    let about_the_claim = matches!(
        event,
        PaymentEvent::Declined { .. }
            | PaymentEvent::PayerAction { .. }
            | PaymentEvent::NotExecuted { .. }
            | PaymentEvent::ClosedAtChannel
    );
    if about_the_claim && !own_claim {
        return Ok(Answer::Stale);
    }
    if matches!(event, PaymentEvent::AnswerLost { .. }) && own_claim {
        end_claim(tx, payment).await?;
    }
    let step = payment.state.clone().on(event.clone())?;
    effects::take_step(tx, payment, step, record).await?;
    Ok(Answer::Applied)
}

/// The sender itself says that it sends no more: the grace of the channel counts from now.
async fn end_claim(tx: &mut PgTransaction<'_>, payment: &Payment) -> Result<(), StoreError> {
    let updated = sqlx::query!(
        r#"-- payments.end_claim
        UPDATE payment SET send_before = least(send_before, clock_timestamp()) WHERE id = $1"#,
        payment.id.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("ending a claim")?;
    exactly_one("ending a claim", &updated)
}

async fn event_is_known(tx: &mut PgTransaction<'_>, id: &EventId) -> Result<bool, StoreError> {
    sqlx::query_scalar!(
        r#"-- payment_event.known
        SELECT EXISTS (SELECT FROM payment_event WHERE id = $1) AS "known!""#,
        id.as_str(),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("looking for an event")
}

async fn insert_exchange(
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

/// News about money is named by the money; weaker news by the claim it is about, so that the same
/// answer of the same request is one event.
fn event_id(payment: &Payment, event: &PaymentEvent) -> EventId {
    let intent = &payment.intent;
    match event {
        PaymentEvent::MoneyConfirmed { money } | PaymentEvent::MoneyMismatch { money } => {
            EventId::of(&[
                intent.channel.as_str(),
                intent.account.as_str(),
                money.transaction.as_str(),
                "charge",
                "succeeded",
                &money.amount.minor_units().to_string(),
                money.amount.currency().code(),
            ])
        }
        PaymentEvent::LadderEnded | PaymentEvent::Decided { .. } => {
            local_event(payment, describe(event).0)
        }
        event => {
            let token = payment.claim_token.as_ref().map_or("", ClaimToken::as_str);
            EventId::of(&[payment.id.as_str(), describe(event).0, token])
        }
    }
}

/// The event's word and its cause, without any payer data.
fn describe(event: &PaymentEvent) -> (&'static str, Value) {
    match event {
        PaymentEvent::Claimed { token, .. } => ("claimed", json!({ "token": token })),
        PaymentEvent::MoneyConfirmed { money } | PaymentEvent::MoneyMismatch { money } => {
            ("money_confirmed", json!({ "transaction": money.transaction, "money": money.amount }))
        }
        PaymentEvent::Declined { class, code } => {
            ("declined", json!({ "class": class, "code": code }))
        }
        PaymentEvent::PayerAction { pay_before, .. } => {
            ("payer_action", json!({ "pay_before": pay_before }))
        }
        PaymentEvent::AnswerLost { why } => ("answer_lost", json!({ "why": why })),
        PaymentEvent::NotExecuted { proof } => ("not_executed", json!({ "proof": proof })),
        PaymentEvent::ClosedAtChannel => ("closed_at_channel", json!({})),
        PaymentEvent::StartExpired => ("start_expired", json!({})),
        PaymentEvent::LadderEnded => ("ladder_ended", json!({})),
        PaymentEvent::Decided { verdict } => {
            let paid = matches!(verdict, domain::payment::Verdict::Paid { .. });
            ("decided", json!({ "paid": paid }))
        }
    }
}
