//! Starting a payment's workflow. The same key starts one run; whoever comes second is told so.

use super::{
    CALL_LIMIT, Run, Temporal, TemporalError, header, json_argument, memo, rpc, search_attributes,
    summary, within,
};
use domain::{PaymentIntent, TraceParent};
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions};
use workflows::payment::PaymentWorkflow;

/// What came of starting.
#[derive(Debug)]
pub(crate) enum Started {
    Now(Run),
    /// A run under this key is there: it runs, or it ended and recorded something.
    Before(Run),
}

impl Temporal {
    /// Starts the payment's workflow, unless its key was used. A run that was refused before it
    /// recorded anything failed, so its key is free.
    ///
    /// # Errors
    /// [`TemporalError`]; whether it started is found out by calling again.
    pub(crate) async fn start(
        &self,
        intent: &PaymentIntent,
        trace: Option<&TraceParent>,
    ) -> Result<Started, TemporalError> {
        let doing = "starting a payment";
        let client = self.client(doing)?;
        let workflow_id = workflows::ids::payment(&intent.merchant, &intent.key);
        let options =
            WorkflowStartOptions::new(self.settings.task_queue.clone(), workflow_id.clone())
                .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicateFailedOnly)
                .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
                .memo(memo(intent))
                .search_attributes(search_attributes(intent))
                .static_summary(summary(intent))
                .maybe_header(trace.map(header))
                .rpc_options(rpc())
                .build();
        let input = json_argument(&intent.to_json());
        let call = client.start_workflow(PaymentWorkflow::run, input, options);
        match within(CALL_LIMIT, doing, call).await? {
            Ok(handle) => {
                let run_id = handle.run_id().map(str::to_owned);
                Ok(Started::Now(Run { workflow_id, run_id }))
            }
            Err(WorkflowStartError::AlreadyStarted { run_id, .. }) => {
                Ok(Started::Before(Run { workflow_id, run_id }))
            }
            Err(WorkflowStartError::Rpc(status)) => Err(TemporalError::of(doing, status)),
            Err(error) => Err(TemporalError::Rejected { doing, source: error.into() }),
        }
    }
}
