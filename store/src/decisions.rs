//! A person's decision about an open review. It takes effect only over the row that the person saw,
//! and above a limit only once a second person has chosen the same; exactly one wins. Every one is
//! on the append-only record `decision`.

use crate::Store;
use crate::effects::{self, EventRecord};
use crate::error::{Doing, StoreError, exactly_one};
use crate::locks::{LockedOrder, lock_order, lock_payment, order_of};
use crate::payments::local_event;
use crate::reviews::{self, ReviewRow};
use crate::rows::Payment;
use crate::settle_payment::{Confirmation, settle_locked};
use domain::payment::Verdict;
use domain::review::{Decider, Weight, check, weigh};
use domain::{
    Actor, Choice, ConfirmedMoney, DecisionId, Evidence, FourEyes, OperatorName, PaymentEvent,
    PaymentId, PaymentIntent, PaymentView, Proof, ReviewId, WhyNot,
};
use serde_json::{Value, json};
use sqlx::PgTransaction;

/// When somebody must look at a payment whose request may be sent once more: as for a claim.
const ATTEND_RESUBMISSION_S: f64 = 60.0;

/// A decision, with whether its author was proved.
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
    pub operator: &'a OperatorName,
    pub proof: Proof,
    /// Above which amounts two people must choose the same.
    pub four_eyes: &'a FourEyes,
}

/// How far a call may go. Before some decisions the channel is asked, and only then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Record a proposal, but let nothing take effect.
    Propose,
    Decide,
}

/// What came of a decision.
#[derive(Clone, Debug)]
pub enum Decided {
    /// It took effect, now or when it was first made.
    Done(PaymentView),
    /// It is on record; a second person must choose the same.
    Proposed(PaymentView),
    /// It may take effect, and this call was not to let it. Nothing was changed.
    MayTakeEffect,
    /// The review moved on before: nothing was changed. `changed` says how, and by whom.
    Overtaken {
        view: PaymentView,
        review_state: String,
        review_version: i64,
        changed: String,
    },
    /// A rule forbids it. Nothing was changed.
    Refused(WhyNot),
    NoSuchReview,
    /// Who brings it was started with another intent than the recorded one. Nothing was changed.
    NotTheOwner,
    /// The decision's id was used for another decision. Nothing was changed.
    IdTaken,
}

/// A decision that is on record.
#[derive(Debug)]
struct Known {
    review_id: String,
    operator: String,
    choice: Value,
    did: String,
}

impl Store {
    /// Decides a review, or proposes how it is decided.
    ///
    /// Twice is safe: the decision's id is unique, and the second finds it done.
    ///
    /// # Errors
    /// [`StoreError`]; whether it was committed is found out by calling again.
    pub async fn decide(
        &self,
        decision: &Decision<'_>,
        reach: Reach,
    ) -> Result<Decided, StoreError> {
        let mut tx = self.pool.begin().await.doing("beginning a decision")?;
        let order = order_of(&mut tx, decision.intent).await?;
        let order = lock_order(&mut tx, &order).await?;
        let payment = lock_payment(&mut tx, decision.payment).await?;
        let (Some(mut order), Some(mut payment)) = (order, payment) else {
            return Ok(Decided::NoSuchReview);
        };
        // What follows from a decision is for the payment's own run to do.
        if payment.intent.first_difference(decision.intent).is_some() {
            return Ok(Decided::NotTheOwner);
        }
        let review = reviews::lock(&mut tx, decision.review, decision.payment).await?;
        let Some(review) = review else { return Ok(Decided::NoSuchReview) };
        if let Some(said) = said_before(&mut tx, decision, &review, &payment, &order).await? {
            return Ok(said);
        }
        match judge(&mut tx, decision, &review, &payment, &order).await? {
            Err(why) => Ok(Decided::Refused(why)),
            Ok(Weight::Decides) if reach == Reach::Propose => Ok(Decided::MayTakeEffect),
            Ok(weight) => {
                if !record(&mut tx, decision, weight).await? {
                    return Ok(Decided::IdTaken);
                }
                if weight == Weight::Decides {
                    end_review(&mut tx, decision).await?;
                    take(&mut tx, decision, &mut order, &mut payment).await?;
                }
                let view = effects::view(&mut tx, &payment, order.state).await?;
                tx.commit().await.doing("committing a decision")?;
                Ok(match weight {
                    Weight::Decides => Decided::Done(view),
                    Weight::Proposes => Decided::Proposed(view),
                })
            }
        }
    }
}

/// The answer to a decision that was made before, or that came too late.
async fn said_before(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    review: &ReviewRow,
    payment: &Payment,
    order: &LockedOrder,
) -> Result<Option<Decided>, StoreError> {
    let known = known(tx, decision.id).await?;
    if let Some(known) = &known {
        let choice = serde_json::to_value(decision.choice).unwrap_or_default();
        let same = known.review_id == decision.review.as_str()
            && known.operator == decision.operator.as_str()
            && known.choice == choice;
        if !same {
            return Ok(Some(Decided::IdTaken));
        }
    }
    let view = effects::view(tx, payment, order.state).await?;
    match known {
        Some(known) if known.did == "Decided" => Ok(Some(Decided::Done(view))),
        _ if review.state != "Open" || review.version != decision.review_version => {
            let changed = reviews::what_changed(tx, review, payment).await?;
            let (review_state, review_version) = (review.state.clone(), review.version);
            Ok(Some(Decided::Overtaken { view, review_state, review_version, changed }))
        }
        Some(_) => Ok(Some(Decided::Proposed(view))),
        None => Ok(None),
    }
}

async fn known(tx: &mut PgTransaction<'_>, id: &DecisionId) -> Result<Option<Known>, StoreError> {
    sqlx::query_as!(
        Known,
        r#"-- decision.read
        SELECT review_id, operator, choice, did FROM decision WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(&mut **tx)
    .await
    .doing("looking for a decision")
}

/// Whether the choice may be made, by this person, and by this person alone.
async fn judge(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    review: &ReviewRow,
    payment: &Payment,
    order: &LockedOrder,
) -> Result<Result<Weight, WhyNot>, StoreError> {
    let facts = reviews::facts(tx, review, payment, order.state).await?;
    let transaction_is_known = match decision.choice {
        Choice::ConfirmPaid { transaction, .. } => {
            let intent = &payment.intent;
            sqlx::query_scalar!(
                r#"-- money_fact.taken
                SELECT EXISTS (
                    SELECT FROM money_fact
                    WHERE channel = $1 AND account = $2 AND transaction_id = $3
                ) AS "taken!""#,
                intent.channel.as_str(),
                intent.account.as_str(),
                transaction.as_str(),
            )
            .fetch_one(&mut **tx)
            .await
            .doing("looking for the transaction")?
        }
        Choice::ConfirmNotPaid { .. } | Choice::ResubmitSameKey { .. } => false,
    };
    let decider = Decider {
        name: decision.operator,
        proof: decision.proof,
        started_by: payment.intent.started_by.as_ref(),
    };
    let proposals = reviews::proposals(tx, &review.id).await?;
    Ok(check(decision.choice, &facts, transaction_is_known).and_then(|()| {
        weigh(decision.choice, &decider, decision.four_eyes, facts.money, &proposals)
    }))
}

/// Writes the decision down. Returns false where another one took its id at this moment.
async fn record(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    weight: Weight,
) -> Result<bool, StoreError> {
    let did = match weight {
        Weight::Decides => "Decided",
        Weight::Proposes => "Proposed",
    };
    let inserted = sqlx::query!(
        r#"-- decision.insert
        INSERT INTO decision
            (id, review_id, review_version, operator, authenticated, choice, reason, did)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (id) DO NOTHING"#,
        decision.id.as_str(),
        decision.review.as_str(),
        decision.review_version,
        decision.operator.as_str(),
        decision.proof == Proof::Proved,
        serde_json::to_value(decision.choice).unwrap_or_default(),
        decision.reason.as_str(),
        did,
    )
    .execute(&mut **tx)
    .await
    .doing("recording a decision")?;
    Ok(inserted.rows_affected() == 1)
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
        decision.operator.as_str(),
        decision.reason.as_str(),
    )
    .execute(&mut **tx)
    .await
    .doing("deciding a review")?;
    exactly_one("deciding a review", &updated)
}

/// Money that a person proved enters as the channel's own news would, under the same id. Money
/// that the payment holds already, and every other choice, is an event of its own.
async fn take(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    order: &mut LockedOrder,
    payment: &mut Payment,
) -> Result<(), StoreError> {
    let name = decision.operator.to_string();
    let actor = match decision.proof {
        Proof::Proved => Actor::Operator { name },
        Proof::Unproved => Actor::Unproved { name },
    };
    let verdict = match decision.choice {
        Choice::ConfirmPaid { transaction, money, .. } => {
            let money = ConfirmedMoney { transaction: transaction.clone(), amount: *money };
            if payment.state.money() != Some(&money) {
                let news = Confirmation {
                    intent: decision.intent,
                    start_before: payment.start_before,
                    event: PaymentEvent::MoneyConfirmed { money },
                    actor: &actor,
                    token: None,
                    exchanges: &[],
                };
                settle_locked(tx, order, payment, &news).await?;
                return Ok(());
            }
            Verdict::Paid { money }
        }
        Choice::ConfirmNotPaid { .. } => Verdict::NotPaid,
        Choice::ResubmitSameKey { .. } => Verdict::Resubmit,
    };
    let accepts_risk = verdict == Verdict::Resubmit;
    let step = payment.state.clone().on(PaymentEvent::Decided { verdict })?;
    let choice = serde_json::to_value(decision.choice).unwrap_or_default();
    let record = EventRecord {
        id: &local_event(payment, "decided"),
        kind: "decided",
        actor: &actor.label(),
        cause: json!({ "decision": decision.id, "choice": choice }),
    };
    effects::take_step(tx, payment, step, &record).await?;
    if accepts_risk { accept_risk(tx, decision, payment).await } else { Ok(()) }
}

/// The next claim finds this in the row, whichever run makes it.
async fn accept_risk(
    tx: &mut PgTransaction<'_>,
    decision: &Decision<'_>,
    payment: &mut Payment,
) -> Result<(), StoreError> {
    let updated = sqlx::query!(
        r#"-- payments.accept_risk
        UPDATE payment
        SET risk_accepted_by = $3, attend_by = clock_timestamp() + make_interval(secs => $4)
        WHERE id = $1 AND version = $2"#,
        payment.id.as_str(),
        payment.version,
        decision.id.as_str(),
        ATTEND_RESUBMISSION_S,
    )
    .execute(&mut **tx)
    .await
    .doing("accepting a risk")?;
    payment.risk_accepted_by = Some(decision.id.clone());
    exactly_one("accepting a risk", &updated)
}
