//! What is known about a review: what may be chosen and what was proposed. The API shows it, and a
//! decision is judged by it, under its locks.

use crate::Store;
use crate::error::{Doing, StoreError};
use crate::reads::{order_state_of, payment_in};
use crate::rows::Payment;
use chrono::{DateTime, Utc};
use domain::review::{Proposal, choices};
use domain::{
    ChoiceKind, OperatorName, OrderState, PaymentId, ReviewFacts, ReviewId, ReviewReason, WhyNot,
};
use serde_json::Value;
use sqlx::PgConnection;

/// A choice that waits for a second person.
#[derive(Clone, Debug)]
pub struct ProposalRecord {
    pub decision: String,
    pub operator: String,
    pub choice: Value,
    pub reason: String,
    pub at: DateTime<Utc>,
}

/// What a person must know to decide a review, beside the review itself.
#[derive(Clone, Debug)]
pub struct ReviewDetail {
    /// What may be chosen, and for the rest the rule that forbids it.
    pub choices: Vec<(ChoiceKind, Result<(), WhyNot>)>,
    /// Each operator's latest proposal.
    pub proposals: Vec<ProposalRecord>,
    /// The operator who started the payment; they do not decide about it.
    pub started_by: Option<OperatorName>,
    /// Whether the name of who decided was proved; absent until somebody has.
    pub authenticated: Option<bool>,
}

/// A review's row.
#[derive(Debug)]
pub(crate) struct ReviewRow {
    pub id: String,
    pub reason: String,
    pub state: String,
    pub version: i64,
    pub choice: Option<Value>,
    pub decided_by: Option<String>,
}

impl Store {
    /// # Errors
    /// [`StoreError`]. A review that is not there is `None`.
    pub async fn read_review_detail(
        &self,
        id: &ReviewId,
    ) -> Result<Option<ReviewDetail>, StoreError> {
        let mut tx = self.pool.begin().await.doing("reading a review")?;
        let owner = sqlx::query_scalar!(
            r#"-- review.payment
            SELECT payment_id FROM review WHERE id = $1"#,
            id.as_str(),
        )
        .fetch_optional(&mut *tx)
        .await
        .doing("reading a review's payment")?;
        let owner = owner.map(PaymentId::parse).transpose().map_err(|_| wrong("payment_id", id))?;
        let Some(owner) = owner else { return Ok(None) };
        let (review, payment) = (read(&mut tx, id).await?, payment_in(&mut tx, &owner).await?);
        let (Some(review), Some(payment)) = (review, payment) else { return Ok(None) };
        let order = order_state_of(&mut tx, &payment).await?;
        let facts = facts(&mut tx, &review, &payment, order).await?;
        let authenticated = sqlx::query_scalar!(
            r#"-- decision.proof
            SELECT authenticated FROM decision WHERE review_id = $1 AND did = 'Decided'"#,
            id.as_str(),
        )
        .fetch_optional(&mut *tx)
        .await
        .doing("reading a decision's proof")?;
        Ok(Some(ReviewDetail {
            choices: choices(&facts),
            proposals: proposal_records(&mut tx, id.as_str()).await?,
            started_by: payment.intent.started_by,
            authenticated,
        }))
    }
}

fn wrong(column: &'static str, id: &ReviewId) -> StoreError {
    StoreError::Inconsistent { table: "review", column, row: id.to_string() }
}

async fn read(tx: &mut PgConnection, id: &ReviewId) -> Result<Option<ReviewRow>, StoreError> {
    sqlx::query_as!(
        ReviewRow,
        r#"-- review.row
        SELECT id, reason, state, version, choice, decided_by
        FROM review WHERE id = $1"#,
        id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("reading a review's row")
}

/// The review's row, locked after its order and its payment.
pub(crate) async fn lock(
    tx: &mut PgConnection,
    id: &ReviewId,
    payment: &PaymentId,
) -> Result<Option<ReviewRow>, StoreError> {
    sqlx::query_as!(
        ReviewRow,
        r#"-- review.lock
        SELECT id, reason, state, version, choice, decided_by
        FROM review WHERE id = $1 AND payment_id = $2 FOR UPDATE"#,
        id.as_str(),
        payment.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("locking a review")
}

/// What the rows say about a review, for the rules.
pub(crate) async fn facts(
    tx: &mut PgConnection,
    review: &ReviewRow,
    payment: &Payment,
    order: OrderState,
) -> Result<ReviewFacts, StoreError> {
    let money_is_known = sqlx::query_scalar!(
        r#"-- money_fact.any
        SELECT EXISTS (SELECT FROM money_fact WHERE payment_id = $1) AS "any!""#,
        payment.id.as_str(),
    )
    .fetch_one(tx)
    .await
    .doing("looking for money")?;
    let reason = serde_json::from_value::<ReviewReason>(Value::from(review.reason.clone()));
    let reason = reason.map_err(|_| StoreError::Inconsistent {
        table: "review",
        column: "reason",
        row: review.id.clone(),
    })?;
    Ok(ReviewFacts {
        reason,
        open: review.state == "Open",
        payment: payment.state.clone(),
        money: payment.intent.money,
        live: payment.live,
        order,
        permits_used: payment.permits_used,
        claim_is_running: payment.claim_is_running(),
        money_is_known,
    })
}

/// Each operator's latest proposal about a review, for the rules.
pub(crate) async fn proposals(
    tx: &mut PgConnection,
    review: &str,
) -> Result<Vec<Proposal>, StoreError> {
    let inconsistent =
        |column| StoreError::Inconsistent { table: "decision", column, row: review.to_owned() };
    let records = proposal_records(tx, review).await?;
    let proposal = |record: ProposalRecord| {
        let by = OperatorName::parse(record.operator).map_err(|_| inconsistent("operator"))?;
        let choice = serde_json::from_value(record.choice).map_err(|_| inconsistent("choice"))?;
        Ok(Proposal { by, choice })
    };
    records.into_iter().map(proposal).collect()
}

async fn proposal_records(
    tx: &mut PgConnection,
    review: &str,
) -> Result<Vec<ProposalRecord>, StoreError> {
    sqlx::query_as!(
        ProposalRecord,
        r#"-- decision.proposals
        SELECT DISTINCT ON (operator) id AS decision, operator, choice, reason, at
        FROM decision WHERE review_id = $1 AND did = 'Proposed'
          AND EXISTS (
              SELECT FROM operator
              WHERE name = decision.operator AND disabled_at IS NULL AND token_since <= decision.at
          )
        ORDER BY operator, sequence DESC"#,
        review,
    )
    .fetch_all(tx)
    .await
    .doing("reading proposals")
}

/// What happened to a review that a decision came too late for, and by whom, in words.
pub(crate) async fn what_changed(
    tx: &mut PgConnection,
    review: &ReviewRow,
    payment: &Payment,
) -> Result<String, StoreError> {
    if let (Some(name), Some(choice)) = (&review.decided_by, &review.choice) {
        let kind = choice["kind"].as_str().unwrap_or("something");
        return Ok(format!("{name} chose {kind}"));
    }
    if review.state == "Open" {
        return Ok(format!("it is open at version {}, not the one you saw", review.version));
    }
    let event = sqlx::query!(
        r#"-- payment_event.left_review
        SELECT kind, actor FROM payment_event
        WHERE payment_id = $1 AND from_state = 'ManualReview' AND to_state <> 'ManualReview'
        ORDER BY sequence DESC LIMIT 1"#,
        payment.id.as_str(),
    )
    .fetch_optional(tx)
    .await
    .doing("looking for what ended a review")?;
    Ok(event.map_or_else(
        || "it was answered by the channel".to_owned(),
        |event| format!("{} brought the news {}", event.actor, event.kind),
    ))
}
