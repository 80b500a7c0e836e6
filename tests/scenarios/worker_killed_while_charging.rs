//! The worker dies between sending the charge and hearing the answer.

use crate::support::{SETTLED, intent, order, order_in, payment_in, world};
use serde_json::json;
use std::time::{Duration, Instant};
use tests::wait::until;

#[tokio::test(flavor = "multi_thread")]
async fn the_next_worker_looks_up_before_it_thinks_of_charging() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_kill" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "careless", "pm_kill"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is executed", SETTLED, || async {
        (world.sandbox.truth().await.charges().len() == 1).then_some(())
    })
    .await;
    world.kill_workers();
    let answer = caller.await.expect("the caller is answered");
    assert_eq!(answer.status, 202, "{}", answer.body);
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    let back = Instant::now();
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let took = back.elapsed();
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    assert!(truth.count("lookup") >= 1);
    // Heartbeat 3 s, sticky queue 1 s, and the work; twice that on a busy machine is still right.
    assert!(took < Duration::from_secs(12), "took {took:?} after a worker was back");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_channel_has_it_the_charge_is_proved_lost_and_sent_again() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_before_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_kill" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "lookup-only", "pm_kill"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    world.kill_workers();
    let answer = caller.await.expect("the caller is answered");
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 2));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_settles_what_it_sent() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 1_000 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_stop" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "blind", "pm_stop"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    tokio::task::block_in_place(|| {
        let worker = world.workers.remove(0);
        assert!(worker.terminate(Duration::from_secs(30)), "the worker drains and ends");
        world.start_worker().expect("a worker starts");
    });
    let answer = caller.await.expect("the caller is answered");
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}
