//! `GET /v1/payment_intents/{id}/explain`: why the payment is where it is, what it waits for, and
//! what a person may and may not do about it. While PostgreSQL is away: as its workflow knows it.

use super::operation::{Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::show_payment_intent::not_found;
use super::{Answer, App};
use crate::resources::explain::{render, render_without_row};
use crate::temporal::{Found, Run};
use axum::extract::{Path, State};
use domain::{PaymentId, PaymentIntent};
use serde_json::Value;
use std::sync::Arc;
use store::StoreError;
use workflows::payment::messages::Waiting;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/payment_intents/{id}/explain",
    id: "explain_payment_intent",
    summary: "Say why a payment waits",
    about: "What it waits for, what a person may do about it, and which rule forbids the rest. \
            It grants nothing.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "Explanation", "the explanation")],
    problems: &[Code::PaymentNotFound, Code::DatabaseUnavailable, Code::TemporalUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    let id = PaymentId::parse(id).map_err(|_| not_found())?;
    match app.store.read_explained(&id).await {
        Ok(Some(payment)) => {
            let (waiting, status) = asked(&app, &payment.intent).await;
            let shown = render(&payment, waiting.as_ref());
            Ok(Answer::ok(linked(&app, &payment.intent, status, shown)))
        }
        Ok(None) => {
            let found = app.temporal.find(&id).await?.ok_or_else(not_found)?;
            Ok(as_its_run_knows(&app, found, None).await)
        }
        Err(error) if error.is_transient() => match app.temporal.find(&id).await {
            Ok(Some(found)) => Ok(as_its_run_knows(&app, found, Some(&error)).await),
            Ok(None) | Err(_) => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// There is no row, or it cannot be read.
async fn as_its_run_knows(app: &App, found: Found, unreadable: Option<&StoreError>) -> Answer {
    let (waiting, status) = asked(app, &found.intent).await;
    let view = found.view.as_ref();
    let now = chrono::Utc::now();
    let shown =
        render_without_row(&found.intent, view, waiting.as_ref(), unreadable.is_some(), now);
    Answer::ok(linked(app, &found.intent, status, shown))
}

/// What the newest run waits for, in its own words, and how it is.
async fn asked(app: &App, intent: &PaymentIntent) -> (Option<Waiting>, Option<&'static str>) {
    let run = newest_run(intent);
    tokio::join!(app.temporal.waiting(&run), app.temporal.status(&run))
}

fn newest_run(intent: &PaymentIntent) -> Run {
    Run { workflow_id: workflows::ids::payment(&intent.merchant, &intent.key), run_id: None }
}

fn linked(
    app: &App,
    intent: &PaymentIntent,
    status: Option<&'static str>,
    mut shown: Value,
) -> Value {
    shown["workflow_status"] = status.into();
    let workflow_id = workflows::ids::payment(&intent.merchant, &intent.key);
    shown["web_ui"] = app.web_ui.as_ref().map(|ui| ui.workflow_page(&workflow_id)).into();
    shown
}
