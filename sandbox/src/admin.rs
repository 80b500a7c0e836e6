//! The channel's port: its protocol, its truth, and the administration that tests use.
//!
//! The administration asks for no signature. It never takes a charge away.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::Utc;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::app::App;
use crate::books::Event;
use crate::channel::{self, MAX_BODY_BYTES, object, shown};
use crate::charge::Status;
use crate::perform::not_found;
use crate::sign::fresh_id;
use crate::truth;

type Shared = State<Arc<App>>;

pub fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/v1/charges", post(channel::charge))
        .route("/v1/charges/{reference}", get(channel::lookup))
        .route("/v1/charges/{reference}/close", post(channel::close))
        .route("/truth", get(truth::show))
        .route("/admin/faults", post(add_fault).get(list_faults).delete(clear_faults))
        .route("/admin/reset", post(clear_faults))
        .route("/admin/pay/{account}/{reference}", post(pay))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(app)
}

async fn add_fault(State(app): Shared, body: Bytes) -> Response {
    let added = serde_json::from_slice(&body)
        .map_err(|error| error.to_string())
        .and_then(|wanted| app.faults().add(wanted).map_err(str::to_owned));
    let answer = match added {
        Ok(id) => Answer::ok("added", json!({ "id": id })).status(201),
        Err(rule) => Answer::error(400, "invalid_fault", &rule),
    };
    answer.send(None, "")
}

async fn list_faults(State(app): Shared) -> Json<Value> {
    Json(json!({ "faults": app.faults().list() }))
}

async fn clear_faults(State(app): Shared) -> StatusCode {
    app.faults().clear();
    StatusCode::NO_CONTENT
}

/// The payer of an open charge pays. As a task: a client that leaves does not stop it.
async fn pay(State(app): Shared, Path((account, reference)): Path<(String, String)>) -> Response {
    let task = tokio::spawn(async move { paid(&app, account, reference).await });
    let answer = task.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a payment ended in a panic");
        Answer::error(500, "internal_error", "the sandbox has a mistake")
    });
    answer.send(None, "")
}

/// The oldest charge that is open takes the money, as [`Event::Paid`] has it.
async fn paid(app: &App, account: String, reference: String) -> Answer {
    let _held = app.lock(&account, &reference).await;
    let now = Utc::now();
    let (open, count) = {
        let books = app.books();
        let known = books.under(&account, &reference);
        let Some(open) = known.iter().find(|charge| charge.status_at(now) == Status::Open) else {
            let Some(shown) = shown(&known) else { return not_found() };
            let refusal = Answer::error(409, "not_open", "the payer cannot pay this charge");
            return refusal.with("charge", shown.into_value());
        };
        ((*open).clone(), known.len())
    };
    let Ok(transaction) = fresh_id("sbx_") else {
        return Answer::error(503, "no_entropy", "no transaction number could be drawn");
    };
    app.commit(Event::Paid { account, reference, transaction: transaction.clone(), at: now }).await;
    let paid = crate::charge::Charge {
        status: Status::Succeeded,
        transaction: Some(transaction),
        executed_at: Some(now),
        ..open
    };
    object(&paid, count)
}
