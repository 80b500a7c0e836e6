//! A run is terminated or reset while its charge is at the channel, and the payment is started
//! again by its id. The worker still waits for the first answer.

use crate::owner::{reset, terminate};
use crate::support::{SETTLED, id_of, intent, order, order_in, payment_in};
use serde_json::json;
use tests::wait::until;
use tests::{Setup, World};

/// A charge that takes longer to answer than the next run takes to begin.
async fn at_the_channel(account: &str) -> (World, String, serde_json::Value, String) {
    let world = World::start(Setup { call_limit_ms: 6_000, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 2_500 });
    world.sandbox.fault("charge", json!({}), 1, fault).await;
    let mut input = intent(&world, &order, account, "pm_slow");
    input["key"] = json!("k1");
    let workflow_id = world.start_payment(&input).await;
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    (world, order, input, workflow_id)
}

async fn paid_once(world: &World, order: &str) {
    payment_in(world, &id_of(world, "k1"), &["Persisted"]).await;
    order_in(world, order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!(truth.charges().len(), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminated_and_started_again_it_charges_once() {
    for account in ["careless", "main"] {
        let (world, order, input, workflow_id) = at_the_channel(account).await;
        terminate(&world, &workflow_id).await;
        world.start_payment(&input).await;
        paid_once(&world, &order).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_to_its_beginning_it_charges_once() {
    let (world, order, _, workflow_id) = at_the_channel("careless").await;
    reset(&world, &workflow_id).await;
    paid_once(&world, &order).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_after_its_end_it_finds_everything_finished() {
    let (world, order, _, workflow_id) = at_the_channel("careless").await;
    paid_once(&world, &order).await;
    reset(&world, &workflow_id).await;
    until("the new run has ended", SETTLED, || async {
        let described = crate::owner::describe(&world, &workflow_id).await;
        let info = described.workflow_execution_info?;
        (info.close_time.is_some()).then_some(())
    })
    .await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    paid_once(&world, &order).await;
}
