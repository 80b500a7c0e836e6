//! Nothing goes wrong: the payment is taken once, the order is fulfilled once.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use temporalio_client::{UntypedWorkflow, WorkflowDescribeOptions, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

/// What a payment on the happy path may cost: each event and each workflow task is paid for by the
/// Temporal server, for every payment.
const MAX_EVENTS: usize = 12;
const MAX_WORKFLOW_TASKS: usize = 2;
const MAX_HISTORY_BYTES: i64 = 3_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_taken_once_and_its_order_fulfilled() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.text("state"), "Persisted");
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_is_an_outcome_and_frees_the_order() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    assert_eq!((answer.status, answer.text("state")), (200, "Failed"), "{}", answer.body);
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!((again.status, again.text("state")), (200, "Persisted"), "{}", again.body);
    let first = payment_in(&world, answer.text("id"), &["Failed"]).await;
    assert_eq!(first.text("state"), "Failed");
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_decline_keeps_the_order_from_being_tried_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_decline_final")).await;
    assert_eq!((answer.status, answer.text("state")), (200, "Failed"), "{}", answer.body);
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!((again.status, again.text("code")), (409, "order_not_payable"), "{}", again.body);
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fulfilled_payment_costs_twelve_events_and_two_workflow_tasks() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    order_in(&world, &order, "Fulfilled").await;
    let id = answer.text("workflow_id").to_owned();
    let handle = world.client.get_workflow_handle::<UntypedWorkflow>(id);
    let description =
        handle.describe(WorkflowDescribeOptions::default()).await.expect("a description");
    let info = description.raw().workflow_execution_info.as_ref().expect("its information");
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let events = history.into_events().await.expect("a history");
    let kinds: Vec<_> = events.iter().map(|event| event.event_type().as_str_name()).collect();
    let task = EventType::WorkflowTaskCompleted.as_str_name();
    let tasks = kinds.iter().filter(|kind| **kind == task).count();
    assert!(events.len() <= MAX_EVENTS && tasks <= MAX_WORKFLOW_TASKS, "{kinds:?}");
    let bytes = info.history_size_bytes;
    assert!(bytes <= MAX_HISTORY_BYTES, "{bytes} bytes");
    println!("{} events, {tasks} workflow tasks, {bytes} bytes", events.len());
}
