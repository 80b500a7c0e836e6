//! The channel's port: its protocol, its truth, and the administration that tests use.
//!
//! The administration asks for no signature. It never takes a charge away. What it planned, faults
//! and windows, ends with the process.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::Utc;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::app::App;
use crate::channel::{self, MAX_BODY_BYTES};
use crate::{payer, trace, truth};

type Shared = State<Arc<App>>;

pub fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/v1/charges", post(channel::charge))
        .route("/v1/charges/{reference}", get(channel::lookup))
        .route("/v1/charges/{reference}/close", post(channel::close))
        .route("/truth", get(truth::show))
        .route("/admin/faults", post(add_fault).get(list_faults).delete(clear_faults))
        .route("/admin/maintenance", post(begin).get(list_windows).delete(end))
        .route("/admin/reset", post(reset))
        .route("/admin/pay/{account}/{reference}", post(payer::pay))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn(trace::log))
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

async fn begin(State(app): Shared, body: Bytes) -> Response {
    let begun = serde_json::from_slice(&body)
        .map_err(|error| error.to_string())
        .and_then(|wanted| app.maintenance().begin(wanted, &app.accounts, Utc::now()));
    let answer = match begun {
        Ok(window) => Answer::ok("begun", json!(window)).status(201),
        Err(rule) => Answer::error(400, "invalid_request", &rule),
    };
    answer.send(None, "")
}

async fn list_windows(State(app): Shared) -> Json<Value> {
    Json(json!({ "windows": app.maintenance().list(Utc::now()) }))
}

async fn end(State(app): Shared) -> StatusCode {
    app.maintenance().end();
    StatusCode::NO_CONTENT
}

async fn reset(State(app): Shared) -> StatusCode {
    app.faults().clear();
    app.maintenance().end();
    StatusCode::NO_CONTENT
}
