//! Somebody follows one request of theirs through every process, by the trace that they sent.

use crate::support::{intent, order, order_in, world};
use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use tests::World;
use tests::wait::until;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// The traces that a run and its activities carry, as the history has them.
async fn carried(world: &World, workflow_id: &str) -> Vec<String> {
    let handle = world.client.get_workflow_handle::<UntypedWorkflow>(workflow_id.to_owned());
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let events = history.into_events().await.expect("a history");
    let headers = events.into_iter().filter_map(|event| match event.attributes? {
        Attributes::WorkflowExecutionStartedEventAttributes(started) => started.header,
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => scheduled.header,
        _ => None,
    });
    let values = headers.flat_map(|header| header.fields);
    values.map(|(_, value)| String::from_utf8_lossy(&value.data).into_owned()).collect()
}

/// Each process's log lines that name the trace, by what they say.
fn told(world: &World, message: &str) -> Vec<String> {
    let logs = world.logs();
    let lines = logs.iter().flat_map(|log| log.lines());
    lines.filter(|line| line.contains(TRACE) && line.contains(message)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_found_in_every_process_and_each_call_is_a_span_of_its_own() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_ok");
    let traceparent = format!("00-{TRACE}-{SPAN}-01");
    let headers = [("traceparent", traceparent.as_str()), ("Request-Id", "mine-1")];
    let answer = world.api.post_with("/v1/payment_intents", "k1", &body, &headers).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    order_in(&world, &order, "Fulfilled").await;
    let carried = carried(&world, answer.text("workflow_id")).await;
    assert_eq!(carried, [format!("\"{traceparent}\""), format!("\"{traceparent}\"")]);
    for message in ["request answered", "an activity begins", "request received"] {
        let lines = until(message, std::time::Duration::from_secs(5), || async {
            Some(told(&world, message)).filter(|lines| !lines.is_empty())
        })
        .await;
        assert!(!lines.is_empty(), "{message}");
    }
    let asked = told(&world, "request received");
    assert_eq!(asked.len(), 2, "the charge and the fulfilment: {asked:?}");
    assert!(asked.iter().all(|line| !line.contains(SPAN)), "{asked:?}");
    assert!(told(&world, "request answered")[0].contains("mine-1"));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_trace_or_with_nonsense_carries_nothing() {
    let world = world().await;
    for (key, traceparent) in [("k1", None), ("k2", Some("00-nonsense-01"))] {
        let order = order(&world, key).await;
        let body = intent(&world, &order, "main", "pm_ok");
        let headers: Vec<_> = traceparent.map(|value| ("traceparent", value)).into_iter().collect();
        let answer = world.api.post_with("/v1/payment_intents", key, &body, &headers).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(carried(&world, answer.text("workflow_id")).await, Vec::<String>::new());
    }
    world.check().await;
}
