//! Temporal dies while payments are on their way, and comes back.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_temporal_loses_and_repeats_nothing() {
    // Time for the delayed charge to arrive before its lookup may say "not found" for good.
    let setup = Setup { own_temporal: true, call_limit_ms: 5_000, ..Setup::default() };
    let mut world = World::start(setup).await;
    let order_id = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 1_200 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_kill" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order_id, "lookup-only", "pm_kill"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    world.temporal.as_ref().expect("a Temporal of its own").kill_9();
    // While nothing can be started, nothing is: the caller is told to come again.
    let other = order(&world, "o2").await;
    let refused = pay(&world, "k2", &intent(&world, &other, "main", "pm_ok")).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    let _ = caller.await.expect("the caller is answered");
    let temporal = world.temporal.as_mut().expect("a Temporal of its own");
    tokio::task::block_in_place(|| temporal.restart()).expect("Temporal starts");
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order_id, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}
