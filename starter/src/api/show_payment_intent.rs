//! `GET /v1/payment_intents/{id}`: the row; while PostgreSQL is away, what the workflow knows.

use super::operation::{Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources::payment::{Known, render, render_without_row};
use crate::temporal::Found;
use axum::extract::{Path, State};
use domain::PaymentId;
use std::sync::Arc;

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/payment_intents/{id}",
    id: "show_payment_intent",
    summary: "Show a payment",
    about: "While PostgreSQL is away: as its workflow knows it.",
    caller: Caller::Anyone,
    query: &[],
    body: None,
    answers: &[gives(200, "PaymentIntent", "the payment")],
    problems: &[Code::PaymentNotFound, Code::DatabaseUnavailable, Code::TemporalUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Answer, ApiError> {
    let id = PaymentId::parse(id).map_err(|_| not_found())?;
    match app.store.read_payment(&id).await {
        Ok(Some(row)) => Ok(Answer::ok(render(&row.intent, &row.view.into()))),
        // Not "not found" as long as Temporal does not say so: a caller who believes that there is
        // no payment might make another one.
        Ok(None) => app.temporal.find(&id).await?.map(without_row).ok_or_else(not_found),
        Err(error) if error.is_transient() => match app.temporal.find(&id).await {
            Ok(Some(found)) => Ok(Answer::ok(render_without_row(&found.intent, found.view))),
            Ok(None) | Err(_) => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// PostgreSQL has no row: the run is about to make it, or the database came back older.
pub(super) fn without_row(found: Found) -> Answer {
    let known = if found.running { None } else { found.view.map(Known::from) };
    Answer::ok(render(&found.intent, &known.unwrap_or_else(Known::accepted)))
}

pub(super) fn not_found() -> ApiError {
    ApiError::new(Code::PaymentNotFound, "there is no payment with this id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::payment::tests::{intent, view};
    use domain::PaymentState;

    #[test]
    fn a_payment_that_runs_and_has_no_row_yet_is_created() {
        let found = Found { intent: intent(), view: None, running: true };
        assert_eq!(without_row(found).body["state"], "Created");
    }

    #[test]
    fn a_payment_whose_row_was_lost_is_what_its_run_recorded() {
        let closed = Some(view(PaymentState::Closed));
        let found = Found { intent: intent(), view: closed, running: false };
        assert_eq!(without_row(found).body["state"], "Closed");
    }
}
