//! A dashboard or an alert asks for a metric or a label that nothing gives, and shows nothing for
//! ever. Queries are never evaluated here; their names are held against what real processes say.

use crate::owner::terminate;
use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use temporalio_client::{UntypedWorkflow, WorkflowStartOptions};
use temporalio_common::data_converters::RawValue;
use tests::World;
use tests::metrics::{ALERTS, DASHBOARD, base_name, grouped_by, named};
use tests::servers::servers;
use tests::wait::until;

/// How long the SDK may take to fail a task of a workflow that it does not know.
const FAILED: Duration = Duration::from_secs(30);
/// What Prometheus itself adds to every sample.
const OF_PROMETHEUS: [&str; 2] = ["job", "instance"];

/// What the worker and the API say on their ports of metrics.
async fn scraped(world: &World) -> String {
    let mut text = String::new();
    for port in [world.worker_metrics, world.api_metrics] {
        text += &world.api.text_at(&format!("http://127.0.0.1:{port}/metrics")).await;
    }
    text
}

/// The names of the metrics that have a sample, and of all labels.
fn given(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let names = samples.clone().filter_map(|line| line.split(['{', ' ']).next()).map(base_name);
    let labels = samples.flat_map(|line| line.split("=\"")).filter_map(|text| {
        text.rsplit(['{', ',']).next().filter(|label| !label.contains(['"', ' ', '}']))
    });
    (names.collect(), labels.chain(OF_PROMETHEUS).collect())
}

/// Every kind of event that a panel or an alert waits for, once.
async fn let_everything_happen(world: &World) {
    let first = order(world, "o1").await;
    pay(world, "k-declined", &intent(world, &first, "main", "pm_decline")).await;
    pay(world, "k-paid", &intent(world, &first, "main", "pm_ok")).await;
    order_in(world, &first, "Fulfilled").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let second = order(world, "o2").await;
    let asked = pay(world, "k-lost", &intent(world, &second, "lookup-only", "pm_lost")).await;
    payment_in(world, asked.text("id"), &["Persisted"]).await;
    // A workflow that no worker knows: its task fails, and its run leaves the cache.
    let id = format!("unknown/{}", world.merchant);
    let options = WorkflowStartOptions::new(world.task_queue.clone(), id.clone()).build();
    let unknown = UntypedWorkflow::new("NoSuchWorkflow");
    let started = world.client.start_workflow(unknown, RawValue::new(Vec::new()), options).await;
    started.expect("Temporal starts what nobody knows");
    until("a workflow task has failed", FAILED, || async {
        scraped(world)
            .await
            .contains("temporal_workflow_task_execution_failed_total{")
            .then_some(())
    })
    .await;
    terminate(world, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_and_label_that_is_asked_for_is_given() {
    let world = world().await;
    let_everything_happen(&world).await;
    let text = scraped(&world).await;
    let (names, labels) = given(&text);
    for path in [DASHBOARD, ALERTS] {
        let asked = std::fs::read_to_string(servers().workspace.join(path)).expect("the file");
        let wanted: BTreeSet<_> = named(&asked).iter().map(|(_, name)| base_name(name)).collect();
        assert!(wanted.iter().any(|name| name.starts_with("temporal_")), "{path}: {wanted:?}");
        let missing: Vec<_> = wanted.difference(&names).collect();
        assert!(missing.is_empty(), "{path} asks for {missing:?}, given are {names:?}");
        let wanted: BTreeSet<_> = grouped_by(&asked).into_iter().collect();
        let missing: Vec<_> = wanted.difference(&labels).collect();
        assert!(missing.is_empty(), "{path} sums by {missing:?}, given are {labels:?}");
    }
    world.check().await;
}
