//! Waking a payment's owner: it looks at its row, and goes on from there.

use super::{
    BETWEEN_TRIES, CALL_LIMIT, FOREIGN_RUN_LIMIT, Run, Temporal, TemporalError, header,
    json_argument, memo, rpc, search_attributes, summary, within,
};
use domain::{PaymentIntent, TraceParent};
use serde_json::json;
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions};
use tokio::time::Instant;
use workflows::payment::PaymentWorkflow;

const DOING: &str = "waking a payment's workflow";

impl Temporal {
    /// Sends `wake` to the payment's workflow, which is started where none is open. Who asked for
    /// it stays in the run's history. A run of another intent under the payment's key is about to
    /// be refused, and wakes nobody: it is waited for.
    ///
    /// Twice is safe: a run begins with the row, and one that is awake looks again.
    ///
    /// # Errors
    /// [`TemporalError`]; whether it was sent is found out by sending it again.
    pub(crate) async fn wake(
        &self,
        intent: &PaymentIntent,
        operator: &str,
        trace: Option<&TraceParent>,
    ) -> Result<(), TemporalError> {
        let until = Instant::now() + FOREIGN_RUN_LIMIT;
        loop {
            let run = self.signal(intent, operator, trace).await?;
            if self.is_owner(&run, intent).await? {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(TemporalError::foreign_run(DOING));
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
    }

    async fn signal(
        &self,
        intent: &PaymentIntent,
        operator: &str,
        trace: Option<&TraceParent>,
    ) -> Result<Run, TemporalError> {
        let client = self.client(DOING)?;
        let workflow_id = workflows::ids::payment(&intent.merchant, &intent.key);
        let queue = self.settings.task_queue.clone();
        let options = WorkflowStartOptions::new(queue, workflow_id.clone())
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .memo(memo(intent))
            .search_attributes(search_attributes(intent))
            .static_summary(summary(intent))
            .maybe_header(trace.map(header))
            .rpc_options(rpc())
            .build();
        let call = client.signal_with_start_workflow(
            PaymentWorkflow::run,
            json_argument(&intent.to_json()),
            PaymentWorkflow::wake,
            json_argument(&json!({ "by": operator })),
            options,
        );
        match within(CALL_LIMIT, DOING, call).await? {
            Ok(handle) => Ok(Run { workflow_id, run_id: handle.run_id().map(str::to_owned) }),
            Err(WorkflowStartError::Rpc(status)) => Err(TemporalError::of(DOING, status)),
            Err(error) => Err(TemporalError::Rejected { doing: DOING, source: error.into() }),
        }
    }
}
