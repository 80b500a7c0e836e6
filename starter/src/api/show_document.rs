//! `GET /openapi.json`: the API's own description, for programs.

use super::Answer;
use super::operation::{Caller, Operation, Verb, gives};

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/openapi.json",
    id: "show_document",
    summary: "This document",
    about: "OpenAPI 3.1.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "Document", "the document")],
    problems: &[],
};

pub(super) async fn handle() -> Answer {
    Answer::ok(crate::openapi::document().clone())
}
