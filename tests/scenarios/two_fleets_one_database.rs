//! Two Temporal servers, each with a worker of its own, work on one database and one channel, and
//! both are given the same payments. Workflow ids are unique at each of them only; the row decides.

use crate::owner::describe_at;
use crate::paths::{AFTER, BEFORE};
use crate::support::{SETTLED, id_of, intent, order, payment_in, world};
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus;
use tests::World;
use tests::wait::until;

const ROUNDS: usize = 3;

/// Every account that can be asked, each with an answer, without one, and without a charge.
async fn inputs(world: &World) -> Vec<Value> {
    let mut inputs = Vec::new();
    for (number, account) in ["main", "lookup-only", "careless"].repeat(ROUNDS).iter().enumerate() {
        let key = format!("k{number}");
        let order = order(world, &key).await;
        let method = format!("pm_ok-{key}");
        let mut input = intent(world, &order, account, &method);
        input["key"] = json!(key);
        let fault = [None, Some(AFTER), Some(BEFORE)][number / ROUNDS];
        if let Some(fault) = fault {
            let fault = serde_json::from_str(fault).expect("JSON");
            world.sandbox.fault("charge", json!({ "payment_method": method }), 1, fault).await;
        }
        inputs.push(input);
    }
    inputs
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_is_charged_once_and_both_runs_end() {
    let world = world().await;
    let fleet = world.second_fleet().await.expect("a second fleet");
    let inputs = inputs(&world).await;
    let here = inputs.iter().map(|input| world.start_payment_at(&world.client, input));
    let there = inputs.iter().map(|input| world.start_payment_at(&fleet.client, input));
    let (ids, _) =
        futures::join!(futures::future::join_all(here), futures::future::join_all(there));
    for id in &ids {
        for client in [&world.client, &fleet.client] {
            let status = until(&format!("{id} has ended"), SETTLED, || async {
                let info = describe_at(client, id).await.workflow_execution_info?;
                info.close_time.is_some().then(|| info.status())
            })
            .await;
            assert_eq!(status, WorkflowExecutionStatus::Completed, "{id}");
        }
    }
    for input in &inputs {
        let id = id_of(&world, input["key"].as_str().expect("a key"));
        // Only where a known reference may be charged twice is one that was lost not sent again.
        let lost = input["account"] == "careless";
        let ends: &[_] = if lost { &["Persisted", "Failed"] } else { &["Persisted"] };
        payment_in(&world, &id, ends).await;
    }
    let truth = world.sandbox.truth().await;
    let mut charged: Vec<_> = truth.charges().iter().map(|c| c["reference"].as_str()).collect();
    charged.sort_unstable();
    charged.dedup();
    assert_eq!(charged.len(), truth.charges().len(), "no order is charged twice");
    world.check().await;
}
