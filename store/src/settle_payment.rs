//! The one door. A charge's answer, a lookup, a person and (later) notifications, stray money and
//! bill lines all enter here, as the same event, in one short transaction.
//!
//! The id of a piece of news about money comes from the news alone, so that every source of the
//! same truth has the same id: whoever comes second finds it applied.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::exchanges::insert_exchange;
use crate::locks::{LockedOrder, lock_payment, must_lock_order};
use crate::news::{describe, event_id};
use crate::order_moves::{self, effect_of_money};
use crate::payments::{RecordRefusal, insert, not_for_this_order};
use crate::rows::Payment;
use domain::{
    Actor, ChannelTransactionId, ClaimToken, ConfirmedMoney, Effect, EventId, Exchange,
    NotExecutedProof, PaymentEvent, PaymentIntent, PaymentState, PaymentView, ReviewReason, Step,
    UnixMillis, UnknownReason,
};
use serde_json::json;
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
    /// The requests that brought the news, in order.
    pub exchanges: &'a [Exchange],
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

    /// Makes a payment's row again from its intent, where a loss took it: as one about which a
    /// request may have been sent, so that only lookups follow.
    ///
    /// Twice is safe: a row that is there stays as it is. An intent that could never have been
    /// recorded for its order is refused: nothing was lost, whoever says so.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Missing`] when the order is lost as well.
    pub async fn rebuild(
        &self,
        intent: &PaymentIntent,
        start_before: UnixMillis,
    ) -> Result<Option<RecordRefusal>, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to rebuild a payment")?;
        let order = must_lock_order(&mut tx, intent).await?;
        if lock_payment(&mut tx, &intent.payment_id()).await?.is_none() {
            if let Some(refusal) = not_for_this_order(intent, &order) {
                return Ok(Some(refusal));
            }
            insert(&mut tx, intent, start_before, &rebuilt(None)).await?;
        }
        tx.commit().await.doing("committing a rebuilt payment")?;
        Ok(None)
    }

    async fn try_settle(&self, news: &Confirmation<'_>) -> Result<Settlement, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning to settle")?;
        let (mut order, mut payment) = lock_both(&mut tx, news).await?;
        for exchange in news.exchanges {
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
}

/// Locks the payment's own order, then the payment. A payment whose row is gone is made again from
/// the intent, as one about which a request may have been sent.
async fn lock_both(
    tx: &mut PgTransaction<'_>,
    news: &Confirmation<'_>,
) -> Result<(LockedOrder, Payment), StoreError> {
    let order = must_lock_order(tx, news.intent).await?;
    if let Some(payment) = lock_payment(tx, &news.intent.payment_id()).await? {
        return Ok((order, payment));
    }
    let payment = insert(tx, news.intent, news.start_before, &rebuilt(news.token)).await?;
    Ok((order, payment))
}

fn rebuilt(token: Option<&ClaimToken>) -> PaymentState {
    PaymentState::Processing {
        token: token.cloned().unwrap_or_else(|| ClaimToken::of("rebuilt", 0)),
    }
}

pub(crate) async fn settle_locked(
    tx: &mut PgTransaction<'_>,
    order: &mut LockedOrder,
    payment: &mut Payment,
    news: &Confirmation<'_>,
) -> Result<Answer, StoreError> {
    let event = believed(payment, news);
    let mut id = event_id(payment, &event);
    let transaction = match &event {
        PaymentEvent::MoneyConfirmed { money } => Some(&money.transaction),
        _ => None,
    };
    let Heard { of_another, mut known } = heard_before(tx, payment, transaction, &id).await?;
    if of_another {
        id = EventId::of(&[payment.id.as_str(), id.as_str()]);
        known = event_is_known(tx, &id).await?;
    }
    if known {
        return Ok(Answer::AlreadyApplied);
    }
    let actor = news.actor.label();
    let (kind, cause) = describe(&event);
    let record = EventRecord { id: &id, kind, actor: &actor, cause };
    match &event {
        PaymentEvent::MoneyConfirmed { money } if of_another => {
            doubt_transaction(tx, payment, money, &record).await
        }
        PaymentEvent::MoneyConfirmed { money } => {
            take_money(tx, order, payment, money, &record).await
        }
        event => take_weak_news(tx, payment, event, news, &record).await,
    }
}

/// That one request was not executed proves nothing about one that was sent before it. Only a
/// lookup speaks of all that was sent; after a repeat, a request's own word is a lost answer. That
/// one was declined proves as little, where the channel may have executed the other.
fn believed(payment: &Payment, news: &Confirmation<'_>) -> PaymentEvent {
    let sent_before = payment.permits_used > 0 || payment.rebuilt_at.is_some();
    match &news.event {
        PaymentEvent::Declined { .. }
            if payment.risk_taken && *news.actor == Actor::ChargeAnswer =>
        {
            PaymentEvent::AnswerLost { why: UnknownReason::ConnectionLost }
        }
        PaymentEvent::NotExecuted { proof: NotExecutedProof::NothingSent } if sent_before => {
            PaymentEvent::AnswerLost { why: UnknownReason::ConnectionLost }
        }
        PaymentEvent::NotExecuted { proof: NotExecutedProof::ChannelSaidSo } if sent_before => {
            PaymentEvent::AnswerLost { why: UnknownReason::ChannelError }
        }
        event => event.clone(),
    }
}

/// What is known already of a piece of news.
struct Heard {
    /// Its transaction is money of another payment.
    of_another: bool,
    /// The event itself is on record.
    known: bool,
}

async fn heard_before(
    tx: &mut PgTransaction<'_>,
    payment: &Payment,
    transaction: Option<&ChannelTransactionId>,
    id: &EventId,
) -> Result<Heard, StoreError> {
    sqlx::query_as!(
        Heard,
        r#"-- payment_event.heard
        SELECT
            EXISTS (
                SELECT FROM money_fact
                WHERE channel = $1 AND account = $2 AND transaction_id = $3 AND payment_id <> $4
            ) AS "of_another!",
            EXISTS (SELECT FROM payment_event WHERE id = $5) AS "known!""#,
        payment.intent.channel.as_str(),
        payment.intent.account.as_str(),
        transaction.map(ChannelTransactionId::as_str),
        payment.id.as_str(),
        id.as_str(),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("looking for an event and its transaction")
}

/// One movement cannot pay twice. It stays with the payment it was first known for, and a person
/// finds out what became of this one.
async fn doubt_transaction(
    tx: &mut PgTransaction<'_>,
    payment: &mut Payment,
    money: &ConfirmedMoney,
    record: &EventRecord<'_>,
) -> Result<Answer, StoreError> {
    let step = payment.state.clone().on(PaymentEvent::MoneyMismatch { money: money.clone() })?;
    effects::take_step(tx, payment, step, record).await?;
    effects::open_review(tx, payment, record.id, ReviewReason::BrokenRule).await?;
    Ok(Answer::Mismatch)
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
    let effect = effect_of_money(order, payment);
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
    let had_ended = payment.state.is_final();
    let state = PaymentState::Persisted { money: money.clone(), effect };
    effects::take_step(tx, payment, Step::Moved(state), record).await?;
    if had_ended {
        effects::end_review(tx, &payment.intent, ReviewReason::PayerActionAfterEnd).await?;
    }
    if let Some(reason) = review {
        effects::open_review(tx, payment, record.id, reason).await?;
    }
    if payment.risk_taken {
        // Another request was sent before or after the one that this money is of.
        let id = EventId::of(&[record.id.as_str(), "earlier_request"]);
        effects::open_review(tx, payment, &id, ReviewReason::EarlierRequestUnknown).await?;
    }
    if effect == Effect::Applied && order.paid_by.is_none() {
        order_moves::pay(tx, payment, order, record).await?;
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
    // Somebody else has sent again since: their answer is what is waited for now.
    let ladder_of_another = matches!(event, PaymentEvent::LadderEnded)
        && (news.token.is_some() && !own_claim
            || matches!(payment.state, PaymentState::Processing { .. }));
    if about_the_claim && !own_claim || ladder_of_another {
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
