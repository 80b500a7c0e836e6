//! `GET /v1/orders/{id}`.

use super::operation::{Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources;
use axum::extract::{Path, State};
use domain::OrderId;
use std::sync::Arc;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/orders/{id}",
    id: "show_order",
    summary: "Show an order",
    about: "With the payments that were made for it.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "Order", "the order")],
    problems: &[Code::OrderNotFound, Code::DatabaseUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    // Text that is no id of an order names no order.
    let id = OrderId::parse(id).map_err(|_| not_found())?;
    let order = app.store.read_order(&id).await?.ok_or_else(not_found)?;
    Ok(Answer::ok(resources::order::render(&order)))
}

pub(super) fn not_found() -> ApiError {
    ApiError::new(Code::OrderNotFound, "there is no order with this id")
}
