//! `GET /healthz`: the process runs. It says nothing about what the process needs.

use super::Answer;
use serde_json::json;

pub(super) async fn handle() -> Answer {
    Answer::ok(json!({ "status": "ok" }))
}
