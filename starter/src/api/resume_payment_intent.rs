//! `POST /v1/payment_intents/{id}/resume`: wakes the payment's workflow, or starts it where none is
//! open. It goes on from the row; safe to repeat, and safe for a payment that has ended.
//!
//! What never happens here: a charge. The workflow decides under the rules that it always has.

use super::operator::operator_of;
use super::problem::ApiError;
use super::show_payment_intent::{not_found, without_row};
use super::{Answer, App};
use crate::resources::payment::{render, render_without_row};
use crate::temporal::Review;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use domain::{PaymentId, PaymentIntent, PaymentView};
use std::sync::Arc;

/// A payment to wake: its intent, whether a review of it is open, and what to show of it.
struct Sleeper {
    intent: PaymentIntent,
    review: Review,
    shown: Answer,
}

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Answer, ApiError> {
    let operator = operator_of(&app, &headers)?;
    let id = PaymentId::parse(id).map_err(|_| not_found())?;
    let sleeper = find(&app, &id).await?;
    app.temporal.wake(&sleeper.intent, sleeper.review, &operator).await?;
    tracing::info!(payment.id = id.as_str(), operator, "an operator woke the payment's workflow");
    Ok(sleeper.shown.status(StatusCode::ACCEPTED).at(format!("/v1/payment_intents/{id}")))
}

/// The payment by its row; where the row cannot be read or is lost, as Temporal knows it.
async fn find(app: &App, id: &PaymentId) -> Result<Sleeper, ApiError> {
    let unreadable = match app.store.read_payment(id).await {
        Ok(Some(row)) => {
            let review = review_of(Some(&row.view));
            let shown = Answer::ok(render(&row.intent, &row.view.into()));
            return Ok(Sleeper { intent: row.intent, review, shown });
        }
        Ok(None) => None,
        Err(error) if error.is_transient() => Some(error),
        Err(error) => return Err(error.into()),
    };
    let found = match (app.temporal.find(id).await, unreadable) {
        (Ok(Some(found)), None) => {
            let (intent, review) = (found.intent.clone(), review_of(found.view.as_ref()));
            return Ok(Sleeper { intent, review, shown: without_row(found) });
        }
        (Ok(Some(found)), Some(_)) => found,
        (Ok(None), None) => return Err(not_found()),
        (Err(error), None) => return Err(error.into()),
        (Ok(None) | Err(_), Some(error)) => return Err(error.into()),
    };
    let review = review_of(found.view.as_ref());
    let shown = Answer::ok(render_without_row(&found.intent, found.view));
    Ok(Sleeper { intent: found.intent, review, shown })
}

fn review_of(view: Option<&PaymentView>) -> Review {
    let open = view.is_some_and(|view| view.review.is_some());
    if open { Review::Open } else { Review::None }
}
