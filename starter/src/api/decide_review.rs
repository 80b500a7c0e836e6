//! `POST /v1/reviews/{id}/decisions`: a person's decision, proved by their token, stamped here and
//! brought to the payment's workflow. The Idempotency-Key is the decision's id.
//!
//! What never happens here: a decision under a name that was not proved, and an answer "accepted"
//! for a decision that the workflow does not have.

use super::body::{Fields, JsonObject, must_be};
use super::headers::{self, IDEMPOTENCY_KEY};
use super::operation::{Body, Caller, Operation, Verb, gives};
use super::operator::operator_of;
use super::problem::{ApiError, Code};
use super::show_review::{self, not_found};
use super::{Answer, App};
use crate::resources;
use crate::resources::payment::Known;
use crate::temporal::Decision;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use domain::audit::StampedDecision;
use domain::{
    ChannelTransactionId, Choice, Currency, DecisionId, Evidence, Money, PaymentId, PaymentIntent,
    PaymentView, ReviewId,
};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::reads::ReviewRecord;
use workflows::payment::messages::{DecideOutput, DecideReview};

/// How long a person waits for the decision to take effect; after that the answer is 202.
const DECISION_LIMIT: Duration = Duration::from_secs(5);

/// What came of a decision, for a program.
const DECIDED: &str = "decided";
/// It takes effect once another operator chooses the same.
const PROPOSED: &str = "proposed";
/// The workflow has it; what comes of it is not known yet.
const ACCEPTED: &str = "accepted";

/// What the body says.
#[derive(Debug)]
struct Told {
    version: i64,
    choice: Choice,
    reason: Evidence,
}

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/reviews/{id}/decisions",
    id: "decide_review",
    summary: "Decide a review",
    about: "The Idempotency-Key is the decision's id. The decision is brought to the payment's \
            workflow under the operator's proved name.",
    caller: Caller::Operator,
    query: &[],
    body: Some(Body { schema: "NewDecision", key: "DecisionKey" }),
    answers: &[
        gives(200, "Decision", "it took effect"),
        gives(202, "Decision", "it was proposed or accepted; `message` says which"),
    ],
    problems: &[
        Code::ReviewNotFound,
        Code::DecisionOvertaken,
        Code::DecisionRefused,
        Code::DatabaseUnavailable,
        Code::TemporalUnavailable,
        Code::WorkerUnavailable,
    ],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonObject(body): JsonObject,
) -> Result<Answer, ApiError> {
    let operator = operator_of(&app, &headers).await?;
    let decision = DecisionId::parse(headers::idempotency_key(&headers)?).map_err(|error| {
        ApiError::invalid(IDEMPOTENCY_KEY, format!("{IDEMPOTENCY_KEY} {}", must_be(&error)))
    })?;
    let told = read(&body)?;
    let review = ReviewId::parse(id).map_err(|_| not_found())?;
    let intent = intent_of(&app, &show_review::read(&app, &review).await?).await?;
    let stamp = StampedDecision {
        decision: &decision,
        review: &review,
        review_version: told.version,
        operator: &operator,
        choice: &told.choice,
        reason: &told.reason,
    }
    .stamp(app.decision_key.expose_secret());
    let message = DecideReview {
        decision,
        review: review.clone(),
        review_version: told.version,
        choice: told.choice,
        reason: told.reason,
        operator,
        stamp: Some(stamp),
    };
    let output = match app.temporal.decide(&intent, &message, DECISION_LIMIT).await? {
        Decision::Answered(output) => *output,
        Decision::Accepted => {
            let shown = show(&app, &intent, None, &review, ACCEPTED).await?;
            return Ok(shown.status(StatusCode::ACCEPTED));
        }
    };
    let (view, outcome) = done(output)?;
    let shown = show(&app, &intent, Some(view.into()), &review, outcome).await?;
    // A proposal was taken and nothing has come of it yet.
    Ok(if outcome == PROPOSED { shown.status(StatusCode::ACCEPTED) } else { shown })
}

fn read(body: &Map<String, Value>) -> Result<Told, ApiError> {
    let fields = Fields::of(body, "", FIELDS)?;
    let version = i64::try_from(fields.unsigned("version")?)
        .map_err(|_| fields.invalid("version", "is too large"))?;
    let choice = fields.object("choice")?;
    let kind = Fields::of(choice, "choice", CHOICE_FIELDS)?.text("kind")?;
    let choice = match kind {
        "confirm_paid" => confirm_paid(choice)?,
        "confirm_not_paid" => {
            let choice = Fields::of(choice, "choice", &["kind", "evidence"])?;
            Choice::ConfirmNotPaid { evidence: choice.parsed("evidence", Evidence::parse)? }
        }
        "resubmit_same_key" => {
            let choice = Fields::of(choice, "choice", &["kind", "risk"])?;
            Choice::ResubmitSameKey { risk: choice.parsed("risk", Evidence::parse)? }
        }
        _ => {
            let detail = "choice.kind must be confirm_paid, confirm_not_paid or resubmit_same_key";
            return Err(ApiError::invalid("choice.kind", detail));
        }
    };
    Ok(Told { version, choice, reason: fields.parsed("reason", Evidence::parse)? })
}

/// What the body may have.
pub(super) const FIELDS: &[&str] = &["version", "choice", "reason"];
const CHOICE_FIELDS: &[&str] = &["kind", "transaction", "amount", "currency", "evidence", "risk"];
const PAID_FIELDS: &[&str] = &["kind", "transaction", "amount", "currency", "evidence"];

fn confirm_paid(choice: &Map<String, Value>) -> Result<Choice, ApiError> {
    let choice = Fields::of(choice, "choice", PAID_FIELDS)?;
    let transaction = choice.parsed("transaction", |text| {
        ChannelTransactionId::parse(text).map_err(|error| must_be(&error))
    })?;
    let currency = choice
        .parsed("currency", |text| Currency::parse(text).map_err(|error| format!("is {error}")))?;
    let money = Money::new(choice.unsigned("amount")?, currency)
        .map_err(|error| choice.invalid("amount", format!("is too large: {error}")))?;
    Ok(Choice::ConfirmPaid {
        transaction,
        money,
        evidence: choice.parsed("evidence", Evidence::parse)?,
    })
}

/// The intent of the reviewed payment: what its workflow is started with, if none is open.
async fn intent_of(app: &App, review: &ReviewRecord) -> Result<PaymentIntent, ApiError> {
    let missing = || ApiError::internal(anyhow::anyhow!("{} has no payment", review.id));
    let payment = PaymentId::parse(review.payment.clone()).map_err(|_| missing())?;
    Ok(app.store.read_payment(&payment).await?.ok_or_else(missing)?.intent)
}

fn done(output: DecideOutput) -> Result<(PaymentView, &'static str), ApiError> {
    match output {
        DecideOutput::Done { view } => Ok((view, DECIDED)),
        DecideOutput::Proposed { view, .. } => Ok((view, PROPOSED)),
        DecideOutput::Overtaken { view, review_state, review_version, changed } => {
            let detail = format!(
                "{changed}: the review is {review_state} at version {review_version} and the \
                 payment is {}; read it again before deciding",
                view.state.name(),
            );
            Err(ApiError::new(Code::DecisionOvertaken, detail)
                .with("payment", view.payment.as_str())
                .with("payment_state", view.state.name())
                .with("review_state", review_state)
                .with("review_version", review_version)
                .with("changed", changed))
        }
        DecideOutput::Refused { code, why } => {
            Err(ApiError::new(Code::DecisionRefused, why).word(code))
        }
    }
}

/// The review and the payment as they are now; the view stands in for a row that cannot be read.
async fn show(
    app: &App,
    intent: &PaymentIntent,
    view: Option<Known>,
    review: &ReviewId,
    outcome: &str,
) -> Result<Answer, ApiError> {
    let review = match show_review::shown(app, review).await {
        Ok(shown) => Some(shown),
        Err(error) if error.code() == Code::DatabaseUnavailable => None,
        Err(error) => return Err(error),
    };
    let row = app.store.read_payment(&intent.payment_id()).await;
    let known = row.ok().flatten().map(|row| row.view.into()).or(view);
    let payment = known.map(|known| resources::payment::render(intent, &known));
    let message = match outcome {
        PROPOSED => "recorded; a second person must choose the same before it takes effect",
        ACCEPTED => "accepted; it takes effect soon",
        _ => "decided",
    };
    Ok(Answer::ok(json!({
        "object": "decision", "outcome": outcome, "message": message,
        "review": review, "payment": payment,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::payment::tests::view;
    use domain::PaymentState;

    fn paid() -> Value {
        json!({
            "version": 1, "reason": "read in the books",
            "choice": {
                "kind": "confirm_paid", "transaction": "sbx_1", "amount": 1999,
                "currency": "CNY", "evidence": "line 4",
            },
        })
    }

    fn refused(body: &Value) -> String {
        format!("{:?}", read(body.as_object().expect("object")).expect_err("refused"))
    }

    #[test]
    fn every_choice_is_read() {
        let told = read(paid().as_object().expect("object")).expect("valid");
        assert_eq!((told.version, told.choice.as_str()), (1, "confirm_paid"));
        let mut body = paid();
        body["choice"] = json!({ "kind": "confirm_not_paid", "evidence": "nothing there" });
        let told = read(body.as_object().expect("object")).expect("valid");
        assert_eq!(told.choice.as_str(), "confirm_not_paid");
        body["choice"] = json!({ "kind": "resubmit_same_key", "risk": "the payer waits" });
        let told = read(body.as_object().expect("object")).expect("valid");
        assert_eq!(told.choice.as_str(), "resubmit_same_key");
    }

    #[test]
    fn the_wrong_field_is_named() {
        for (field, value) in [
            ("version", json!(-1)),
            ("version", json!("1")),
            ("reason", json!("")),
            ("reason", json!(1)),
            ("choice", json!("confirm_paid")),
            ("approved_by", json!("alice")),
        ] {
            let mut body = paid();
            body[field] = value;
            let error = refused(&body);
            assert!(error.contains(&format!("field: Some(\"{field}\")")), "{error}");
        }
        for (field, value) in [
            ("kind", json!("refund")),
            ("transaction", json!("")),
            ("amount", json!(1.5)),
            ("amount", json!(u64::MAX)),
            ("currency", json!("cny")),
            ("evidence", json!(" ")),
            ("note", json!("x")),
            ("risk", json!("x")),
        ] {
            let mut body = paid();
            body["choice"][field] = value;
            let error = refused(&body);
            assert!(error.contains(&format!("field: Some(\"choice.{field}\")")), "{error}");
        }
        let mut body = paid();
        body["choice"]["kind"] = json!("confirm_not_paid");
        assert!(refused(&body).contains("choice."), "a transaction belongs to money");
    }

    #[test]
    fn a_decision_that_came_too_late_says_what_changed() {
        let output = DecideOutput::Overtaken {
            view: view(PaymentState::Closed),
            review_state: "Ended".to_owned(),
            review_version: 2,
            changed: "bob chose confirm_paid".to_owned(),
        };
        let error = done(output).expect_err("overtaken");
        assert_eq!(error.code().status(), 409);
        let printed = format!("{error:?}");
        for part in ["Closed", "version 2", "bob chose confirm_paid"] {
            assert!(printed.contains(part), "{printed}");
        }
    }

    #[test]
    fn a_refused_decision_keeps_the_code_of_its_refusal() {
        let output =
            DecideOutput::Refused { code: "not_a_choice".to_owned(), why: "no".to_owned() };
        let error = done(output).expect_err("refused");
        assert_eq!(error.code().status(), 422);
        assert!(format!("{error:?}").contains("not_a_choice"));
    }
}
