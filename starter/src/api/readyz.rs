//! `GET /readyz`: whether requests should be sent here. 503 while PostgreSQL or Temporal is away,
//! while the schema is older than the program, and once the process was told to end.

use super::operation::{Caller, Operation, Verb, gives};
use super::{Answer, App};
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// How long each check may take.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/readyz",
    id: "readyz",
    summary: "Whether requests should be sent here",
    about: "Not while PostgreSQL or Temporal is away, while the schema is older than the \
            program, and once the process was told to end.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[
        gives(200, "Readiness", "it is ready"),
        gives(503, "Readiness", "it is not, and `checks` says why"),
    ],
    problems: &[],
};

pub(super) async fn handle(State(app): State<Arc<App>>) -> Answer {
    let (database, temporal) = tokio::join!(
        tokio::time::timeout(CHECK_LIMIT, app.store.ready()),
        tokio::time::timeout(CHECK_LIMIT, app.temporal.ready()),
    );
    let database = match database {
        Ok(Ok(())) => None,
        Ok(Err(StoreError::Missing { .. })) => {
            Some("the schema is older than this program; run `oncepay migrate`")
        }
        Ok(Err(_)) | Err(_) => Some("PostgreSQL does not answer, or has no schema of ours"),
    };
    let temporal = match temporal {
        Ok(Ok(())) => None,
        Ok(Err(_)) | Err(_) => Some("Temporal does not answer"),
    };
    answer(app.is_draining(), database, temporal)
}

fn answer(draining: bool, database: Option<&str>, temporal: Option<&str>) -> Answer {
    let check = |problem: Option<&str>| -> Value {
        problem.map_or_else(
            || json!({ "ok": true }),
            |problem| json!({ "ok": false, "problem": problem }),
        )
    };
    let ready = !draining && database.is_none() && temporal.is_none();
    let word = match (ready, draining) {
        (true, _) => "ready",
        (false, true) => "draining",
        (false, false) => "not_ready",
    };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = json!({ "database": check(database), "temporal": check(temporal) });
    Answer::ok(json!({ "status": word, "checks": checks })).status(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_missing_part_means_not_ready() {
        assert_eq!(answer(false, None, None).status, 200);
        for (draining, database, temporal, word) in [
            (false, Some("away"), None, "not_ready"),
            (false, None, Some("away"), "not_ready"),
            (true, None, None, "draining"),
        ] {
            let answer = answer(draining, database, temporal);
            assert_eq!(answer.status, 503);
            assert_eq!(answer.body["status"], word);
            assert_eq!(answer.body["checks"]["database"]["ok"], database.is_none());
            assert_eq!(answer.body["checks"]["temporal"]["ok"], temporal.is_none());
        }
    }
}
