//! `POST /v1/payment_intents`: starts the payment's workflow, or finds the one that the key
//! started, and waits a little for its end.
//!
//! What never happens here: a second charge. This file starts at most one run per key; the same
//! key with another body is refused, naming the field.

use super::body::JsonObject;
use super::headers::{self, IDEMPOTENCY_KEY};
use super::operation::{Body, Caller, Operation, Verb, gives};
use super::operator::operator_or_service;
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources::payment::{Known, render, render_without_row};
use crate::temporal::{Outcome, Run, Started};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::{IntentField, PaymentIntent};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use workflows::payment::messages::PaymentResult;

/// How long a caller waits for the end of the payment; after that the answer is 202.
const RESULT_LIMIT: Duration = Duration::from_secs(3);

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/payment_intents",
    id: "create_payment_intent",
    summary: "Pay an order",
    about: "Starts the payment's workflow, or finds the one that the key started, and waits up \
            to 3 s for its end. A decline is an outcome (200, state Failed) and no problem.",
    caller: Caller::AnyoneOrOperator,
    query: &[],
    body: Some(Body { schema: "NewPaymentIntent", key: "IdempotencyKey" }),
    answers: &[
        gives(200, "PaymentIntent", "the outcome stands"),
        gives(202, "PaymentIntent", "the outcome may still come; `message` says what to do"),
    ],
    problems: &[
        Code::WorkflowIdMismatch,
        Code::OrderNotFound,
        Code::OrderBusy,
        Code::OrderNotPayable,
        Code::IdempotencyConflict,
        Code::AmountDiffers,
        Code::UnknownAccount,
        Code::DatabaseUnavailable,
        Code::TemporalUnavailable,
    ],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    JsonObject(body): JsonObject,
) -> Result<Answer, ApiError> {
    let started_by = operator_or_service(&app, &headers).await?;
    let intent = read(headers::idempotency_key(&headers)?, body)?;
    let intent = PaymentIntent { started_by, ..intent };
    let trace = headers::traceparent(&headers);
    let answer = match app.temporal.start(&intent, trace.as_ref()).await? {
        Started::Now(run) => first(&app, &intent, &run).await?,
        Started::Before(run) => {
            same_intent(&app, &intent, &run).await?;
            again(&app, &intent, &run).await?.replayed()
        }
    };
    Ok(answer.at(format!("/v1/payment_intents/{}", intent.payment_id())))
}

/// The intent is the body and the key of the header.
fn read(key: String, mut body: Map<String, Value>) -> Result<PaymentIntent, ApiError> {
    if body.contains_key("key") {
        let detail = format!("key is not a field here; it is the {IDEMPOTENCY_KEY} header");
        return Err(ApiError::invalid("key", detail));
    }
    let started_by = IntentField::StartedBy.as_str();
    if body.contains_key(started_by) {
        let detail = "started_by is not a field here; it is whose token the request brings";
        return Err(ApiError::invalid(started_by, detail));
    }
    body.insert("key".to_owned(), Value::String(key));
    PaymentIntent::from_json(&Value::Object(body)).map_err(|error| {
        let field = error.field().unwrap_or_default();
        if field == IntentField::Key.as_str() {
            let rule = error.to_string();
            let rule = rule.strip_prefix("key ").unwrap_or(&rule);
            return ApiError::invalid(IDEMPOTENCY_KEY, format!("{IDEMPOTENCY_KEY} {rule}"));
        }
        ApiError::invalid(field, error.to_string())
    })
}

/// Whether the run that used the key was started for this intent.
async fn same_intent(app: &App, intent: &PaymentIntent, run: &Run) -> Result<(), ApiError> {
    let known = app.temporal.fingerprint(run).await?;
    if known.as_deref() == Some(intent.fingerprint().as_str()) {
        return Ok(());
    }
    // Another client's memo, another version of the fingerprint, or another intent.
    let Some(other) = app.temporal.intent_of(run).await? else {
        let detail = "the key was used by a run whose input is not an intent";
        return Err(ApiError::new(Code::IdempotencyConflict, detail));
    };
    intent.first_difference(&other).map_or(Ok(()), |field| Err(conflict(field)))
}

fn conflict(field: IntentField) -> ApiError {
    let field = field.as_str();
    let detail = format!("the key made a payment with another {field}");
    ApiError::new(Code::IdempotencyConflict, detail).field(field)
}

/// The answer to the request that started the run.
async fn first(app: &App, intent: &PaymentIntent, run: &Run) -> Result<Answer, ApiError> {
    match app.temporal.outcome(run, RESULT_LIMIT).await {
        Outcome::Ended(result) => Ok(from_result(intent, result)),
        Outcome::Refused(refusal) => Err(refusal.into()),
        Outcome::Failed(error) => Err(ApiError::internal(error)),
        Outcome::NotKnown => match app.store.read_payment(&intent.payment_id()).await {
            Ok(Some(row)) => Ok(as_is(&row.intent, &row.view.into())),
            Ok(None) => Ok(as_is(intent, &Known::accepted())),
            // It was accepted, and that is what the caller must know.
            Err(error) if error.is_transient() => {
                let view = app.temporal.query(run).await;
                let shown = render_without_row(intent, view);
                Ok(Answer::ok(shown).status(StatusCode::ACCEPTED))
            }
            Err(error) => Err(error.into()),
        },
    }
}

/// The answer to a request that was made before: the row as it is now.
async fn again(app: &App, intent: &PaymentIntent, run: &Run) -> Result<Answer, ApiError> {
    let outcome = app.temporal.outcome(run, RESULT_LIMIT).await;
    let result = match outcome {
        Outcome::Ended(result) => Some(result),
        Outcome::NotKnown => None,
        Outcome::Refused(refusal) => return Err(refusal.into()),
        Outcome::Failed(error) => return Err(ApiError::internal(error)),
    };
    match (app.store.read_payment(&intent.payment_id()).await, result) {
        (Ok(Some(row)), _) => match intent.first_difference(&row.intent) {
            Some(field) => Err(conflict(field)),
            // As it was first asked for: who started it stays.
            None => Ok(as_is(&row.intent, &row.view.into())),
        },
        (Ok(None), Some(result)) => Ok(from_result(intent, result)),
        (Ok(None), None) => Ok(as_is(intent, &Known::accepted())),
        (Err(error), Some(result)) if error.is_transient() => Ok(from_result(intent, result)),
        (Err(error), None) if error.is_transient() => match app.temporal.query(run).await {
            Some(view) => {
                let shown = render_without_row(intent, Some(view));
                Ok(Answer::ok(shown).status(StatusCode::ACCEPTED))
            }
            None => Err(error.into()),
        },
        (Err(error), _) => Err(error.into()),
    }
}

fn from_result(intent: &PaymentIntent, result: PaymentResult) -> Answer {
    let recorded = PaymentIntent::from_json(&result.intent);
    Answer::ok(render(recorded.as_ref().unwrap_or(intent), &result.payment.into()))
}

/// 200 once the outcome stands, 202 while it may still come.
fn as_is(intent: &PaymentIntent, known: &Known) -> Answer {
    let status = if known.state.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Answer::ok(render(intent, known)).status(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::payment::tests::{intent, view};
    use domain::state_page;
    use serde_json::json;

    fn body() -> Map<String, Value> {
        let mut body = intent().to_json();
        let body = body.as_object_mut().expect("object");
        body.remove("key");
        body.clone()
    }

    #[test]
    fn the_key_comes_from_the_header() {
        assert_eq!(read("k1".to_owned(), body()).expect("valid"), intent());
    }

    #[test]
    fn the_wrong_field_is_named_and_the_key_by_its_header() {
        let named = |key: &str, body: Map<String, Value>, field: &str| {
            let error = format!("{:?}", read(key.to_owned(), body).expect_err(field));
            assert!(error.contains(&format!("field: Some(\"{field}\")")), "{error}");
        };
        named("", body(), IDEMPOTENCY_KEY);
        named(&"k".repeat(201), body(), IDEMPOTENCY_KEY);
        for (field, value) in [
            ("amount", json!(19.99)),
            ("amount", json!("1999")),
            ("order", json!("o-1")),
            ("currency", json!("cny")),
            ("channel", json!("cash")),
            ("payment_method", json!("4111111111111111")),
            ("key", json!("k1")),
            ("started_by", json!("alice")),
            ("total", json!(1)),
        ] {
            let mut wrong = body();
            wrong.insert(field.to_owned(), value);
            named("k1", wrong, field);
        }
        let mut missing = body();
        missing.remove("account");
        named("k1", missing, "account");
    }

    #[test]
    fn an_answer_is_202_until_the_outcome_stands() {
        for (name, state) in state_page::states() {
            let stands = ["Persisted", "Failed", "Closed"].contains(&state.name());
            let status = as_is(&intent(), &view(state).into()).status;
            assert_eq!(status == 200, stands, "{name}");
            assert!(status == 200 || status == 202);
        }
    }
}
