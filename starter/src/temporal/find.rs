//! Reading what Temporal knows about a payment: for a second caller under the same key, and while
//! PostgreSQL is away.

use super::{CALL_LIMIT, FINGERPRINT, Outcome, Run, Temporal, TemporalError, raw, rpc, within};
use domain::{PaymentId, PaymentIntent, PaymentView};
use futures::StreamExt;
use std::time::Duration;
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::tonic::Code;
use temporalio_client::{
    WorkflowDescribeOptions, WorkflowExecution, WorkflowExecutionStatus, WorkflowListOptions,
    WorkflowQueryOptions,
};
use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution as ProtoExecution;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryResponse,
};
use workflows::payment::PaymentWorkflow;
use workflows::payment::messages::Waiting;

/// Most runs of one payment that are looked at.
const MAX_RUNS: usize = 20;
/// A query needs a living worker; without one there is no point in waiting.
const QUERY_LIMIT: Duration = Duration::from_secs(1);
/// The result of a closed run is there at once.
const CLOSED_RESULT_LIMIT: Duration = Duration::from_secs(1);

/// What Temporal knows about a payment whose row cannot be read.
#[derive(Debug)]
pub(crate) struct Found {
    pub intent: PaymentIntent,
    /// Absent while the run knows nothing yet, or no worker answers.
    pub view: Option<PaymentView>,
    pub running: bool,
}

impl Temporal {
    /// The fingerprint that a run keeps in its memo, if it does.
    ///
    /// # Errors
    /// [`TemporalError`]. A run that is not there any more has none.
    pub(crate) async fn fingerprint(&self, run: &Run) -> Result<Option<String>, TemporalError> {
        let doing = "reading a run's memo";
        let client = self.client(doing)?;
        let handle = self.handle(client, run);
        let options = WorkflowDescribeOptions::builder().rpc_options(rpc()).build();
        match within(CALL_LIMIT, doing, handle.describe(options)).await? {
            // A memo of another shape is a foreign client's: as good as none.
            Ok(description) => Ok(description.memo().get(FINGERPRINT).ok().flatten()),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(None),
            Err(WorkflowInteractionError::Rpc(status)) => Err(TemporalError::of(doing, status)),
            Err(error) => Err(TemporalError::Rejected { doing, source: error.into() }),
        }
    }

    /// The intent that a run was started with, from the first event of its history. `None` where
    /// the run is gone or its input is not an intent.
    ///
    /// # Errors
    /// [`TemporalError`].
    pub(crate) async fn intent_of(
        &self,
        run: &Run,
    ) -> Result<Option<PaymentIntent>, TemporalError> {
        let doing = "reading a run's input";
        let client = self.client(doing)?;
        let mut service = client.connection().workflow_service();
        let request = raw(GetWorkflowExecutionHistoryRequest {
            namespace: self.settings.namespace.clone(),
            execution: Some(ProtoExecution {
                workflow_id: run.workflow_id.clone(),
                run_id: run.run_id.clone().unwrap_or_default(),
            }),
            maximum_page_size: 1,
            ..Default::default()
        });
        let call = service.get_workflow_execution_history(request);
        match within(CALL_LIMIT, doing, call).await? {
            Ok(response) => Ok(first_input(response.into_inner())),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(TemporalError::of(doing, status)),
        }
    }

    /// Whether a run was started with this intent. Anybody may start one under a payment's key with
    /// another, which is refused as soon as it has read the row.
    ///
    /// # Errors
    /// [`TemporalError`].
    pub(crate) async fn is_owner(
        &self,
        run: &Run,
        intent: &PaymentIntent,
    ) -> Result<bool, TemporalError> {
        let own = self.intent_of(run).await?;
        Ok(own.is_some_and(|own| own.first_difference(intent).is_none()))
    }

    /// What a run that is still open knows about the payment; `None` where it does not say.
    pub(crate) async fn query(&self, run: &Run) -> Option<PaymentView> {
        let client = self.client("asking a run about its payment").ok()?;
        let handle = self.handle(client, run);
        let options = WorkflowQueryOptions::builder().rpc_options(rpc()).build();
        let call = handle.query(PaymentWorkflow::payment, (), options);
        match tokio::time::timeout(QUERY_LIMIT, call).await {
            Ok(Ok(view)) => view,
            Ok(Err(error)) => {
                let workflow_id = run.workflow_id.as_str();
                tracing::warn!(workflow.id = workflow_id, error = ?error, "no answer to a query");
                None
            }
            Err(_elapsed) => None,
        }
    }

    /// How the newest run under a payment's id is: `running`, or how it ended; `none` where
    /// Temporal knows none. Absent where Temporal does not say.
    pub(crate) async fn status(&self, run: &Run) -> Option<&'static str> {
        let doing = "reading a run's status";
        let handle = self.handle(self.client(doing).ok()?, run);
        let options = WorkflowDescribeOptions::builder().rpc_options(rpc()).build();
        match within(CALL_LIMIT, doing, handle.describe(options)).await.ok()? {
            Ok(description) => Some(match description.status() {
                WorkflowExecutionStatus::Completed => "completed",
                WorkflowExecutionStatus::Failed => "failed",
                WorkflowExecutionStatus::Canceled => "canceled",
                WorkflowExecutionStatus::Terminated => "terminated",
                WorkflowExecutionStatus::TimedOut => "timed_out",
                _ => "running",
            }),
            Err(WorkflowInteractionError::NotFound(_)) => Some("none"),
            Err(_) => None,
        }
    }

    /// What a run waits for now, in its own words; `None` where no worker answers in time.
    pub(crate) async fn waiting(&self, run: &Run) -> Option<Waiting> {
        let client = self.client("asking a run what it waits for").ok()?;
        let handle = self.handle(client, run);
        let options = WorkflowQueryOptions::builder().rpc_options(rpc()).build();
        let call = handle.query(PaymentWorkflow::waiting, (), options);
        tokio::time::timeout(QUERY_LIMIT, call).await.ok()?.ok()
    }

    /// Looks a payment up by its id: the run that is open, else the newest that recorded it.
    ///
    /// # Errors
    /// [`TemporalError`]. `None` is only "not seen": visibility is about a second behind.
    pub(crate) async fn find(&self, id: &PaymentId) -> Result<Option<Found>, TemporalError> {
        let runs = self.runs_of(id).await?;
        let running = |run: &&WorkflowExecution| run.status() == WorkflowExecutionStatus::Running;
        if let Some(open) = runs.iter().find(running) {
            let run = run_of(open);
            let Some(intent) = self.intent_of(&run).await? else { return Ok(None) };
            let view = self.query(&run).await;
            return Ok(Some(Found { intent, view, running: true }));
        }
        let completed =
            |run: &&WorkflowExecution| run.status() == WorkflowExecutionStatus::Completed;
        let Some(closed) = runs.iter().filter(completed).max_by_key(|run| run.close_time()) else {
            return Ok(None);
        };
        let Outcome::Ended(result) = self.outcome(&run_of(closed), CLOSED_RESULT_LIMIT).await
        else {
            return Ok(None);
        };
        let intent = PaymentIntent::from_json(&result.intent).ok();
        Ok(intent.map(|intent| Found { intent, view: Some(result.payment), running: false }))
    }

    /// The runs that carry this payment's id. Anybody may set a search attribute, so the workflow
    /// id must be the one that gives this payment id.
    async fn runs_of(&self, id: &PaymentId) -> Result<Vec<WorkflowExecution>, TemporalError> {
        let doing = "looking a payment up";
        let client = self.client(doing)?;
        let options = WorkflowListOptions::builder().limit(MAX_RUNS).rpc_options(rpc()).build();
        // The id is `pay_` and 26 characters of a-z and 2-7: nothing in it can end the string.
        let mut listed = client.list_workflows(format!("PaymentId = '{id}'"), options);
        let collect = async {
            let mut runs = Vec::new();
            while let Some(run) = listed.next().await {
                let run = run.map_err(|error| TemporalError::unavailable(doing, error))?;
                if belongs(run.id(), id) {
                    runs.push(run);
                }
            }
            Ok(runs)
        };
        within(CALL_LIMIT, doing, collect).await?
    }
}

fn belongs(workflow_id: &str, id: &PaymentId) -> bool {
    workflows::ids::parse_payment(workflow_id)
        .is_some_and(|(merchant, key)| PaymentId::of(&merchant, &key) == *id)
}

fn run_of(execution: &WorkflowExecution) -> Run {
    Run { workflow_id: execution.id().to_owned(), run_id: Some(execution.run_id().to_owned()) }
}

fn first_input(history: GetWorkflowExecutionHistoryResponse) -> Option<PaymentIntent> {
    let event = history.history?.events.into_iter().next()?;
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = event.attributes
    else {
        return None;
    };
    let input = RawValue::new(started.input?.payloads);
    PaymentIntent::from_json(&workflows::raw::parse_json(&input).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{IdempotencyKey, MerchantId};

    #[test]
    fn a_run_that_only_claims_a_payment_id_is_not_believed() {
        let merchant = MerchantId::parse("acme").expect("valid");
        let key = IdempotencyKey::parse("k1").expect("valid");
        let id = PaymentId::of(&merchant, &key);
        assert!(belongs("payment/acme/k1", &id));
        assert!(!belongs("payment/acme/k2", &id));
        assert!(!belongs("refund/acme/k1", &id));
    }
}
