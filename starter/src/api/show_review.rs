//! `GET /v1/reviews/{id}`.

use super::operation::{Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources;
use axum::extract::{Path, State};
use domain::ReviewId;
use serde_json::Value;
use std::sync::Arc;
use store::reads::ReviewRecord;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/reviews/{id}",
    id: "show_review",
    summary: "Show a review",
    about: "With what may be chosen, what was proposed, and who may not decide.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "ReviewDetail", "the review")],
    problems: &[Code::ReviewNotFound, Code::DatabaseUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    let id = ReviewId::parse(id).map_err(|_| not_found())?;
    Ok(Answer::ok(shown(&app, &id).await?))
}

/// The review's JSON, with what may be chosen and what was proposed.
pub(super) async fn shown(app: &App, id: &ReviewId) -> Result<Value, ApiError> {
    let review = read(app, id).await?;
    let detail = app.store.read_review_detail(id).await?.ok_or_else(not_found)?;
    Ok(resources::review::render_with(&review, &detail))
}

/// The review by its id.
pub(super) async fn read(app: &App, id: &ReviewId) -> Result<ReviewRecord, ApiError> {
    app.store.read_review(id).await?.ok_or_else(not_found)
}

pub(super) fn not_found() -> ApiError {
    ApiError::new(Code::ReviewNotFound, "there is no review with this id")
}
