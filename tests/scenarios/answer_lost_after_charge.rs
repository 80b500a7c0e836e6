//! The channel charges, and its answer never arrives.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::World;

async fn lost(world: &World, account: &str, fault: serde_json::Value) -> String {
    let order = order(world, "o1").await;
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, fault).await;
    let answer = pay(world, "k1", &intent(world, &order, account, "pm_lost")).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.body);
    payment_in(world, answer.text("id"), &["Persisted"]).await;
    order_in(world, &order, "Fulfilled").await;
    answer.text("id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_by_lookup_and_nothing_is_charged_again() {
    let world = world().await;
    lost(&world, "lookup-only", json!({ "kind": "timeout_after_commit" })).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    assert!(truth.count("lookup") >= 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_after_the_charge_is_no_failure() {
    let world = world().await;
    lost(&world, "main", json!({ "kind": "drop_connection", "after_commit": true })).await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_lookup_an_idempotent_channel_is_asked_by_the_same_request() {
    let world = world().await;
    lost(&world, "resend-only", json!({ "kind": "timeout_after_commit" })).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 2));
    world.check().await;
}
