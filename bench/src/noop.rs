//! The cheapest workflow there is: one workflow task, five events.

#![expect(clippy::unused_async, reason = "the macro wants it; there is nothing to wait for")]

use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

/// Its own, so that no payment worker ever sees one.
pub const QUEUE: &str = "bench-noop";

#[workflow]
#[derive(Default)]
pub struct NoopWorkflow;

#[workflow_methods]
impl NoopWorkflow {
    #[run(name = "NoopWorkflow")]
    pub async fn run(_ctx: &mut WorkflowContext<Self>, _key: String) -> WorkflowResult<()> {
        Ok(())
    }
}
