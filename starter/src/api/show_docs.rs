//! `GET /docs`: the API's own description, for people. One page; it loads nothing.

use super::operation::{Caller, Content, Good, Operation, Verb};
use axum::response::Html;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/docs",
    id: "show_docs",
    summary: "This document as a page",
    about: "It needs no internet.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[Good { status: 200, content: Content::Html, when: "the page" }],
    problems: &[],
};

pub(super) async fn handle() -> Html<&'static str> {
    Html(crate::openapi::page())
}
