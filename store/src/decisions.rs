//! A person's decision about an open review: exactly one wins, and it wins only over the row that
//! the person saw.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::locks::{LockedOrder, lock_order, lock_payment, order_of};
use crate::payments::local_event;
use crate::rows::Payment;
use crate::settle_payment::{Confirmation, settle_locked};
use domain::payment::Verdict;
use domain::{
    Actor, Choice, ConfirmedMoney, DecisionId, Evidence, PaymentEvent, PaymentId, PaymentIntent,
    PaymentState, PaymentView, ReviewId, ReviewReason,
};
use serde_json::json;
use sqlx::PgTransaction;

/// A decision whose author was proved.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub id: &'a DecisionId,
    pub payment: &'a PaymentId,
    pub intent: &'a PaymentIntent,
    pub review: &'a ReviewId,
    /// The version of the review that the person saw.
    pub review_version: i64,
    pub choice: &'a Choice,
    pub reason: &'a Evidence,
    pub operator: &'a str,
}

/// What came of a decision.
#[derive(Clone, Debug)]
pub enum Decided {
    /// It took effect, now or when it was first made.
    Done(PaymentView),
    /// The review moved on before: nothing was changed.
    Overtaken {
        view: PaymentView,
        review_state: String,
        review_version: i64,
    },
    /// The choice is not one that this review has. Nothing was changed.
    NotAChoice {
        view: PaymentView,
        why: &'static str,
    },
    NoSuchReview,
    /// The decision's id was used for another review. Nothing was changed.
    IdTaken,
}

#[derive(Debug)]
struct LockedReview {
    state: String,
    version: i64,
    decision_id: Option<String>,
}

impl Store {
    /// Decides a review.
    ///
    /// Twice is safe: the decision's id is unique, and the second finds it done.
    ///
    /// # Errors
    /// [`StoreError`]; whether it was committed is found out by calling again.
    pub async fn decide(&self, decision: &Decision<'_>) -> Result<Decided, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning a decision")?;
        let order = order_of(&mut tx, decision.intent).await?;
        let order = lock_order(&mut tx, &order).await?;
        let payment = lock_payment(&mut tx, decision.payment).await?;
        let (Some(mut order), Some(mut payment)) = (order, payment) else {
            return Ok(Decided::NoSuchReview);
        };
        let Some(review) = lock_review(&mut tx, decision).await? else {
            return Ok(Decided::NoSuchReview);
        };
        if review.decision_id.as_deref() == Some(decision.id.as_str()) {
            return Ok(Decided::Done(effects::view(&mut tx, &payment, order.state).await?));
        }
        if review.state != "Open" || review.version != decision.review_version {
            let view = effects::view(&mut tx, &payment, order.state).await?;
            let (review_state, review_version) = (review.state, review.version);
            return Ok(Decided::Overtaken { view, review_state, review_version });
        }
        if id_is_taken(&mut tx, decision).await? {
            return Ok(Decided::IdTaken);
        }
        if let Some(why) = refuse(&mut tx, decision, &payment).await? {
            let view = effects::view(&mut tx, &payment, order.state).await?;
            return Ok(Decided::NotAChoice { view, why });
        }
        end_review(&mut tx, decision).await?;
        take(&mut tx, decision, &mut order, &mut payment).await?;
        let view = effects::view(&mut tx, &payment, order.state).await?;
        tx.commit().await.doing("committing a decision")?;
        Ok(Decided::Done(view))
    }
}

async fn lock_review(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
) -> Result<Option<LockedReview>, StoreError> {
    sqlx::query_as!(
        LockedReview,
        r#"-- review.lock
        SELECT state, version, decision_id FROM review
        WHERE id = $1 AND payment_id = $2 FOR UPDATE"#,
        decision.review.as_str(),
        decision.payment.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("locking a review")
}

async fn id_is_taken(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
) -> Result<bool, StoreError> {
    sqlx::query_scalar!(
        r#"-- review.decision_taken
        SELECT EXISTS (SELECT FROM review WHERE decision_id = $1 AND id <> $2) AS "taken!""#,
        decision.id.as_str(),
        decision.review.as_str(),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("looking for a decision")
}

/// Whether the choice fits the question and the facts.
async fn refuse(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    payment: &Payment,
) -> Result<Option<&'static str>, StoreError> {
    if !matches!(payment.state, PaymentState::ManualReview { .. }) {
        return Ok(Some("the payment's outcome is not in question"));
    }
    let answer_lost = matches!(
        payment.state,
        PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown }
    );
    if matches!(decision.choice, Choice::ConfirmNotPaid { .. }) && !answer_lost {
        return Ok(Some("money is known to have moved for this payment"));
    }
    let Choice::ConfirmPaid { transaction, money, .. } = decision.choice else {
        let facts = sqlx::query_scalar!(
            r#"-- money_fact.any
            SELECT EXISTS (SELECT FROM money_fact WHERE payment_id = $1) AS "any!""#,
            payment.id.as_str(),
        )
        .fetch_one(&mut **tx)
        .await
        .doing("looking for money")?;
        return Ok(facts.then_some("money is known to have moved for this payment"));
    };
    if *money != payment.intent.money {
        return Ok(Some("the amount is not the payment's"));
    }
    let taken = sqlx::query_scalar!(
        r#"-- money_fact.taken
        SELECT EXISTS (
            SELECT FROM money_fact
            WHERE channel = $1 AND account = $2 AND transaction_id = $3
        ) AS "taken!""#,
        payment.intent.channel.as_str(),
        payment.intent.account.as_str(),
        transaction.as_str(),
    )
    .fetch_one(&mut **tx)
    .await
    .doing("looking for the transaction")?;
    Ok(taken.then_some("the transaction is known already"))
}

async fn end_review(tx: &mut PgTransaction<'_>, decision: &Decision<'_>) -> Result<(), StoreError> {
    let updated = sqlx::query!(
        r#"-- review.decide
        UPDATE review
        SET state = 'Decided', version = version + 1, ended_at = clock_timestamp(),
            decision_id = $3, choice = $4, decided_by = $5, decision_reason = $6
        WHERE id = $1 AND version = $2 AND state = 'Open'"#,
        decision.review.as_str(),
        decision.review_version,
        decision.id.as_str(),
        serde_json::to_value(decision.choice).unwrap_or_default(),
        decision.operator,
        decision.reason.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("deciding a review")?;
    exactly_one("deciding a review", &updated)
}

/// Money that a person proved enters as the channel's own news would, under the same id.
async fn take(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    order: &mut LockedOrder,
    payment: &mut Payment,
) -> Result<(), StoreError> {
    let actor = Actor::Operator { name: decision.operator.to_owned() };
    match decision.choice {
        Choice::ConfirmPaid { transaction, money, .. } => {
            let money = ConfirmedMoney { transaction: transaction.clone(), amount: *money };
            let news = Confirmation {
                intent: decision.intent,
                start_before: payment.start_before,
                event: PaymentEvent::MoneyConfirmed { money },
                actor: &actor,
                token: None,
                exchange: None,
            };
            settle_locked(tx, order, payment, &news).await?;
        }
        Choice::ConfirmNotPaid { evidence } => {
            let event = PaymentEvent::Decided { verdict: Verdict::NotPaid };
            let step = payment.state.clone().on(event)?;
            let record = EventRecord {
                id: &local_event(payment, "decided"),
                kind: "decided",
                actor: &actor.label(),
                cause: json!({
                    "decision": decision.id, "choice": "confirm_not_paid", "evidence": evidence,
                }),
            };
            effects::take_step(tx, payment, step, &record).await?;
        }
    }
    Ok(())
}
