//! Waking a payment's owner: it looks at its row, and goes on from there.

use super::{
    CALL_LIMIT, Temporal, TemporalError, header, json_argument, memo, rpc, search_attributes,
    summary, within,
};
use domain::{PaymentIntent, TraceParent};
use serde_json::json;
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions};
use workflows::payment::PaymentWorkflow;

impl Temporal {
    /// Sends `wake` to the payment's workflow, which is started where none is open. Who asked for
    /// it stays in the run's history.
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
        let doing = "waking a payment's workflow";
        let client = self.client(doing)?;
        let workflow_id = workflows::ids::payment(&intent.merchant, &intent.key);
        let options = WorkflowStartOptions::new(self.settings.task_queue.clone(), workflow_id)
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
        match within(CALL_LIMIT, doing, call).await? {
            Ok(_) => Ok(()),
            Err(WorkflowStartError::Rpc(status)) => Err(TemporalError::of(doing, status)),
            Err(error) => Err(TemporalError::Rejected { doing, source: error.into() }),
        }
    }
}
