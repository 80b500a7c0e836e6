//! `GET /v1/orders/{id}/trace`: everything that is on record about an order, and one timeline.

use super::operation::{Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::show_order::not_found;
use super::{Answer, App};
use crate::resources;
use axum::extract::{Path, State};
use domain::OrderId;
use std::sync::Arc;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/orders/{id}/trace",
    id: "trace_order",
    summary: "Show everything that happened to an order",
    about: "Every payment, request to a channel, movement of money and decision, and one \
            timeline.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "Trace", "the records")],
    problems: &[Code::OrderNotFound, Code::DatabaseUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    let id = OrderId::parse(id).map_err(|_| not_found())?;
    let trace = app.store.read_trace(&id).await?.ok_or_else(not_found)?;
    Ok(Answer::ok(resources::trace::render(&trace, app.web_ui.as_ref())))
}
