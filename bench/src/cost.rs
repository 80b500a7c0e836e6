//! What a history cost its server, as the server counts.

use anyhow::{Context, Result};
use serde::Serialize;
use temporalio_client::{
    Client, UntypedWorkflow, WorkflowDescribeOptions, WorkflowFetchHistoryOptions,
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

/// Sizes of one history.
#[derive(Debug, Serialize)]
pub struct Cost {
    events: usize,
    workflow_tasks: usize,
    /// As Temporal counts them, headers of events included.
    bytes: i64,
}

/// # Errors
/// When there is no such workflow, or Temporal does not answer.
pub async fn read(client: &Client, workflow: &str) -> Result<Cost> {
    let handle = client.get_workflow_handle::<UntypedWorkflow>(workflow.to_owned());
    let description = handle.describe(WorkflowDescribeOptions::default()).await?;
    let info = description.raw().workflow_execution_info.as_ref();
    let bytes = info.context("a description without its information")?.history_size_bytes;
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let events = history.into_events().await?;
    let done = EventType::WorkflowTaskCompleted;
    let workflow_tasks = events.iter().filter(|event| event.event_type() == done).count();
    Ok(Cost { events: events.len(), workflow_tasks, bytes })
}
