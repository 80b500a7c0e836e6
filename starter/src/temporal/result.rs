//! Waiting for the end of a run, within a limit. Not knowing is an answer; it is never a failure.

use super::{Run, Temporal, long_rpc};
use std::time::Duration;
use temporalio_client::WorkflowGetResultOptions;
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::error::IncomingError;
use workflows::payment::messages::{PaymentResult, Refusal};

/// How a run stands.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It ended; what it recorded is in the result.
    Ended(PaymentResult),
    /// It was refused before it recorded anything.
    Refused(Refusal),
    /// It failed, and the failure is not one of our refusals.
    Failed(anyhow::Error),
    /// It runs, or Temporal does not say, or it was stopped from outside: the row knows.
    NotKnown,
}

impl Temporal {
    /// Waits for the end of a run for at most `limit`.
    pub(crate) async fn outcome(&self, run: &Run, limit: Duration) -> Outcome {
        let Ok(client) = self.client("waiting for a payment") else { return Outcome::NotKnown };
        let handle = self.handle(client, run);
        let options = WorkflowGetResultOptions::builder().rpc_options(long_rpc()).build();
        match tokio::time::timeout(limit, handle.get_result(options)).await {
            Err(_elapsed) => Outcome::NotKnown,
            Ok(Ok(result)) => Outcome::Ended(result),
            Ok(Err(WorkflowGetResultError::Failed(failure))) => of_failure(*failure),
            Ok(Err(error)) => {
                tracing::warn!(
                    workflow.id = run.workflow_id,
                    error = ?error,
                    "the payment's result is not known"
                );
                Outcome::NotKnown
            }
        }
    }
}

/// A refusal has its code as the failure's type and itself as the failure's details.
fn of_failure(failure: IncomingError) -> Outcome {
    if let IncomingError::Application(application) = &failure
        && let Ok(Some(refusal)) = application.details::<Refusal>()
        && application.type_name() == Some(refusal.code.as_str())
    {
        return Outcome::Refused(refusal);
    }
    Outcome::Failed(anyhow::Error::from(failure).context("the payment's run failed"))
}
