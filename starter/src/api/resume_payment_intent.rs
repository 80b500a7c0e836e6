//! `POST /v1/payment_intents/{id}/resume`: wakes the payment's workflow, or starts it where none is
//! open. It goes on from the row; safe to repeat, and safe for a payment that has ended.
//!
//! What never happens here: a charge. The workflow decides under the rules that it always has.

use super::headers::traceparent;
use super::operation::{Caller, Operation, Verb, gives};
use super::operator::operator_of;
use super::problem::{ApiError, Code};
use super::show_payment_intent::{not_found, without_row};
use super::{Answer, App};
use crate::resources::payment::render;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use domain::{PaymentId, PaymentIntent};
use std::sync::Arc;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/payment_intents/{id}/resume",
    id: "resume_payment_intent",
    summary: "Wake a payment's workflow",
    about: "Or start it where none is open. It looks at its row and goes on from there; safe to \
            repeat, in any state. It has no body and needs no key.",
    caller: Caller::Operator,
    query: &[],
    body: None,
    answers: &[gives(202, "PaymentIntent", "it was woken; the payment as it was before")],
    problems: &[Code::PaymentNotFound, Code::DatabaseUnavailable, Code::TemporalUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Answer, ApiError> {
    let operator = operator_of(&app, &headers).await?;
    let id = PaymentId::parse(id).map_err(|_| not_found())?;
    let (intent, shown) = find(&app, &id).await?;
    let trace = traceparent(&headers);
    app.temporal.wake(&intent, operator.as_str(), trace.as_ref()).await?;
    let (id, operator) = (id.as_str(), operator.as_str());
    tracing::info!(payment.id = id, operator, "an operator woke the payment's workflow");
    Ok(shown.status(StatusCode::ACCEPTED).at(format!("/v1/payment_intents/{id}")))
}

/// The payment by its row; where that is lost, as Temporal knows it.
async fn find(app: &App, id: &PaymentId) -> Result<(PaymentIntent, Answer), ApiError> {
    if let Some(row) = app.store.read_payment(id).await? {
        let shown = Answer::ok(render(&row.intent, &row.view.into()));
        return Ok((row.intent, shown));
    }
    let found = app.temporal.find(id).await?.ok_or_else(not_found)?;
    Ok((found.intent.clone(), without_row(found)))
}
