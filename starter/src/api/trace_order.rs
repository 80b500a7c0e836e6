//! `GET /v1/orders/{id}/trace`: everything that is on record about an order, and one timeline.

use super::problem::ApiError;
use super::show_order::not_found;
use super::{Answer, App};
use crate::resources;
use axum::extract::{Path, State};
use domain::OrderId;
use std::sync::Arc;

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    let id = OrderId::parse(id).map_err(|_| not_found())?;
    let trace = app.store.read_trace(&id).await?.ok_or_else(not_found)?;
    Ok(Answer::ok(resources::trace::render(&trace, app.web_ui.as_ref())))
}
