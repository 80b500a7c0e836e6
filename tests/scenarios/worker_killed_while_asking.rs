//! The worker dies while it asks the channel what became of a charge, or while a person's decision
//! closes it there. The next one asks again within seconds, and waits for no answer's longest time.

use crate::people::in_review;
use crate::support::{SETTLED, intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

/// Longer than it takes to notice, and shorter than an answer may take.
const SLOW_MS: u32 = 20_000;

async fn patient_world() -> World {
    World::start(Setup { call_limit_ms: 25_000, ..Setup::default() }).await
}

async fn killed_while_asking(world: &mut World, operation: &str) {
    until("the channel is asked", SETTLED, || async {
        (world.sandbox.truth().await.count(operation) == 1).then_some(())
    })
    .await;
    world.kill_workers();
    world.sandbox.end_faults().await;
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_is_made_again() {
    let mut world = patient_world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "drop_connection", "after_commit": true });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let slow = json!({ "kind": "pause_before_commit", "ms": SLOW_MS });
    world.sandbox.fault("lookup", json!({}), 1, slow).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_lost")).await;
    killed_while_asking(&mut world, "lookup").await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_made_again() {
    let mut world = patient_world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "drop_connection", "after_commit": false });
    let payment = in_review(&world, "k1", &order, 1, lost).await;
    let closes = world.sandbox.truth().await.count("close");
    assert_eq!(closes, 0);
    let slow = json!({ "kind": "pause_before_commit", "ms": SLOW_MS });
    world.sandbox.fault("close", json!({}), 1, slow).await;
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" });
    let body = json!({ "version": 1, "choice": choice, "reason": "checked by phone" });
    let path = format!("/v1/reviews/{}/decisions", payment.text("review"));
    let api = world.api.clone();
    let decided = tokio::spawn(async move { api.post_as(&path, "d1", &body, Some(ALICE)).await });
    killed_while_asking(&mut world, "close").await;
    let decided = decided.await.expect("the operator is answered");
    assert!([200, 202].contains(&decided.status), "{}", decided.body);
    payment_in(&world, payment.text("id"), &["Failed"]).await;
    world.check().await;
}
