//! What a tester may ask: plan faults, let a payer pay, see the truth.

use crate::Sandbox;
use crate::faults::{MAX_FAULTS, Planned};
use crate::ledger::Status;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

type Answer = (StatusCode, Json<Value>);

fn error(status: StatusCode, message: impl std::fmt::Display) -> Answer {
    (status, Json(json!({ "error": message.to_string() })))
}

pub(crate) async fn add(State(sandbox): State<Arc<Sandbox>>, body: Bytes) -> Answer {
    let planned: Planned = match serde_json::from_slice(&body) {
        Ok(planned) => planned,
        Err(why) => return error(StatusCode::BAD_REQUEST, why),
    };
    if let Some(id) = sandbox.faults.add(planned) {
        return (StatusCode::CREATED, Json(json!({ "id": id })));
    }
    let message = format!(
        "at most {MAX_FAULTS} faults wait; times is at least 1; waits are at most 120000 ms; \
         statuses are 400 to 599"
    );
    error(StatusCode::BAD_REQUEST, message)
}

pub(crate) async fn list(State(sandbox): State<Arc<Sandbox>>) -> Json<Value> {
    Json(json!({ "faults": sandbox.faults.list() }))
}

pub(crate) async fn clear(State(sandbox): State<Arc<Sandbox>>) -> StatusCode {
    sandbox.faults.clear();
    StatusCode::NO_CONTENT
}

/// Forgets the faults. The ledger is never emptied.
pub(crate) async fn reset(State(sandbox): State<Arc<Sandbox>>) -> StatusCode {
    sandbox.faults.clear();
    StatusCode::NO_CONTENT
}

/// The payer does what an open charge asks for.
pub(crate) async fn pay(
    State(sandbox): State<Arc<Sandbox>>,
    Path((account, reference)): Path<(String, String)>,
) -> Answer {
    let mut books = sandbox.ledger.lock();
    match books.find(&account, &reference).first().map(|charge| charge.status) {
        Some(Status::Open) => {
            books.pay(&account, &reference);
            (StatusCode::OK, Json(json!({ "paid": true })))
        }
        Some(_) => error(StatusCode::CONFLICT, "the charge is not open"),
        None => error(StatusCode::NOT_FOUND, "there is no such charge"),
    }
}

#[derive(Deserialize)]
pub(crate) struct Wanted {
    account: Option<String>,
    reference: Option<String>,
}

pub(crate) async fn truth(
    State(sandbox): State<Arc<Sandbox>>,
    Query(wanted): Query<Wanted>,
) -> Json<Value> {
    let books = sandbox.ledger.lock();
    Json(books.truth(wanted.account.as_deref(), wanted.reference.as_deref()))
}
