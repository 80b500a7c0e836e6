//! `GET /healthz`: the process runs. It says nothing about what the process needs.

use super::Answer;
use super::operation::{Caller, Operation, Verb, gives};
use serde_json::json;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/healthz",
    id: "healthz",
    summary: "Whether the process runs",
    about: "It says nothing about what the process needs.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "Health", "it runs")],
    problems: &[],
};

pub(super) async fn handle() -> Answer {
    Answer::ok(json!({ "status": "ok" }))
}
