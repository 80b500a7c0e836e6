//! `GET /v1/reviews`: the open reviews, oldest first.

use super::problem::ApiError;
use super::{Answer, App};
use crate::resources;
use axum::extract::State;
use serde_json::json;
use std::sync::Arc;
use store::reads::MAX_REVIEWS;

pub(super) async fn handle(State(app): State<Arc<App>>) -> Result<Answer, ApiError> {
    let reviews = app.store.read_reviews(None).await?;
    // A full page may leave something out; the caller is told, and decides the oldest first.
    let full = i64::try_from(reviews.len()).is_ok_and(|count| count >= MAX_REVIEWS);
    let shown: Vec<_> = reviews.iter().map(resources::review::render).collect();
    Ok(Answer::ok(json!({ "object": "list", "data": shown, "has_more": full })))
}
