//! `POST /v1/payment_intents/{id}/resume`: wakes the payment's workflow, or starts it where none is
//! open. It goes on from the row; safe to repeat, and safe for a payment that has ended.
//!
//! What never happens here: a charge. The workflow decides under the rules that it always has.

use super::operator::operator_of;
use super::problem::ApiError;
use super::show_payment_intent::{not_found, without_row};
use super::{Answer, App};
use crate::resources::payment::render;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use domain::{PaymentId, PaymentIntent};
use std::sync::Arc;

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Answer, ApiError> {
    let operator = operator_of(&app, &headers).await?;
    let id = PaymentId::parse(id).map_err(|_| not_found())?;
    let (intent, shown) = find(&app, &id).await?;
    app.temporal.wake(&intent, operator.as_str()).await?;
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
