//! What anybody with access to Temporal may do to a payment's workflow, said as raw requests: no
//! type of ours stands between.

use crate::support::SETTLED;
use std::time::Duration;
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::common::v1::{
    Payload, Payloads, WorkflowExecution, WorkflowType,
};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::update::v1::{Input, Meta, Request, WaitPolicy};
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    DeleteWorkflowExecutionRequest, DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse, RequestCancelWorkflowExecutionRequest, ResetActivityRequest,
    ResetWorkflowExecutionRequest, SignalWithStartWorkflowExecutionRequest,
    SignalWorkflowExecutionRequest, TerminateWorkflowExecutionRequest,
    UpdateWorkflowExecutionRequest, reset_activity_request,
};
use tests::World;
use tests::wait::until;

/// The end of the first workflow task: started, scheduled, started, completed.
pub const FIRST_TASK_ENDED: i64 = 4;
/// How long Temporal may take to delete a workflow: it first brings its records up to date.
const DELETED: Duration = Duration::from_secs(90);
/// A run may begin whatever came of the one before it; one that runs is taken.
const ALLOW_DUPLICATE: i32 = 1;
const USE_EXISTING: i32 = 2;
/// The stage of an update that has an outcome.
const COMPLETED: i32 = 3;

pub fn execution(workflow_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() }
}

pub fn namespace() -> String {
    dev::temporal::NAMESPACE.to_owned()
}

fn arguments(texts: &[&str]) -> Payloads {
    let payload = |text: &&str| Payload {
        metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
        data: text.as_bytes().to_vec(),
        ..Payload::default()
    };
    Payloads { payloads: texts.iter().map(payload).collect() }
}

pub async fn terminate(world: &World, workflow_id: &str) {
    let request = TerminateWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        reason: "a scenario".to_owned(),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.terminate_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal terminates");
}

pub async fn cancel(world: &World, workflow_id: &str) {
    let request = RequestCancelWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.request_cancel_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal asks to cancel");
}

/// Sets the run back to its first workflow task: everything after it is forgotten.
pub async fn reset(world: &World, workflow_id: &str) {
    let request = ResetWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        reason: "a scenario".to_owned(),
        workflow_task_finish_event_id: FIRST_TASK_ENDED,
        request_id: format!("reset of {workflow_id}"),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.reset_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal resets");
}

/// Sets an activity of the run back to its first attempt, as `temporal activity reset` does.
pub async fn set_activity_back(world: &World, workflow_id: &str, kind: &str) {
    let request = ResetActivityRequest {
        namespace: namespace(),
        execution: Some(execution(workflow_id)),
        activity: Some(reset_activity_request::Activity::Type(kind.to_owned())),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.reset_activity(tonic::Request::new(request)).await;
    done.expect("Temporal sets the activity back");
}

/// Deletes a workflow with its history, and waits until Temporal knows it no more.
pub async fn delete(world: &World, workflow_id: &str) {
    let request = DeleteWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.delete_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal deletes");
    until(&format!("{workflow_id} is gone"), DELETED, || async {
        let request = DescribeWorkflowExecutionRequest {
            namespace: namespace(),
            execution: Some(execution(workflow_id)),
        };
        let mut service = world.client.connection().workflow_service();
        let answer = service.describe_workflow_execution(tonic::Request::new(request)).await;
        answer.is_err_and(|status| status.code() == tonic::Code::NotFound).then_some(())
    })
    .await;
}

pub async fn signal(world: &World, workflow_id: &str, name: &str, texts: &[&str]) {
    let request = SignalWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        signal_name: name.to_owned(),
        input: Some(arguments(texts)),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.signal_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal takes the signal");
}

/// Wakes a payment's owner where one runs.
pub async fn wake_if_open(world: &World, workflow_id: &str) {
    let request = SignalWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        signal_name: "wake".to_owned(),
        input: Some(arguments(&["{}"])),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    if let Err(status) = service.signal_workflow_execution(tonic::Request::new(request)).await {
        assert_eq!(status.code(), tonic::Code::NotFound, "{status:?}");
    }
}

/// Wakes a payment's owner, and starts one where none runs: signal-with-start, as everybody may.
pub async fn wake(world: &World, workflow_id: &str, input: &serde_json::Value) {
    let request = SignalWithStartWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: "PaymentWorkflow".to_owned() }),
        task_queue: Some(TaskQueue { name: world.task_queue.clone(), ..Default::default() }),
        input: Some(arguments(&[&input.to_string()])),
        signal_name: "wake".to_owned(),
        signal_input: Some(arguments(&["{}"])),
        request_id: format!("wake of {workflow_id}"),
        workflow_id_reuse_policy: ALLOW_DUPLICATE,
        workflow_id_conflict_policy: USE_EXISTING,
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let done = service.signal_with_start_workflow_execution(tonic::Request::new(request)).await;
    done.expect("Temporal wakes");
}

/// Sends an update and gives Temporal's words about its outcome.
pub async fn update(world: &World, workflow_id: &str, name: &str, texts: &[&str]) -> String {
    let input = Input { name: name.to_owned(), args: Some(arguments(texts)), ..Default::default() };
    let length: usize = texts.iter().map(|text| text.len()).sum();
    let update_id = format!("{name} {} {length}", texts.len());
    let meta = Meta { update_id, identity: "scenario".to_owned() };
    let request = UpdateWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        wait_policy: Some(WaitPolicy { lifecycle_stage: COMPLETED }),
        request: Some(Request { meta: Some(meta), input: Some(input), ..Default::default() }),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    match service.update_workflow_execution(tonic::Request::new(request)).await {
        Ok(answer) => format!("{:?}", answer.into_inner().outcome),
        Err(status) => format!("{status:?}"),
    }
}

pub async fn describe(world: &World, workflow_id: &str) -> DescribeWorkflowExecutionResponse {
    describe_at(&world.client, workflow_id).await
}

pub async fn describe_at(client: &Client, workflow_id: &str) -> DescribeWorkflowExecutionResponse {
    let request = DescribeWorkflowExecutionRequest {
        namespace: namespace(),
        execution: Some(execution(workflow_id)),
    };
    let mut service = client.connection().workflow_service();
    let answer = service.describe_workflow_execution(tonic::Request::new(request)).await;
    answer.expect("Temporal describes").into_inner()
}

/// Waits until Temporal has given an activity of this workflow up and means to try it again.
pub async fn tried_again(world: &World, workflow_id: &str, kind: &str) {
    until(&format!("{kind} is tried again"), SETTLED, || async {
        let described = describe(world, workflow_id).await;
        let again = described.pending_activities.iter().any(|activity| {
            let name = activity.activity_type.as_ref().map(|kind| kind.name.as_str());
            name == Some(kind) && activity.attempt >= 2
        });
        again.then_some(())
    })
    .await;
}
