//! The channel answers, and the answer proves nothing: an unknown word, no signature, a page in
//! HTML, an error of a proxy. Each is a lost answer, and the truth is asked for.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::{Value, json};

async fn answered(account: &str, fault: Value, executed: bool) {
    let world = world().await;
    let order = order(&world, "o1").await;
    world.sandbox.fault("charge", json!({}), 1, fault.clone()).await;
    let answer = pay(&world, "k1", &intent(&world, &order, account, "pm_odd")).await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    let sent = if executed { 1 } else { 2 };
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, sent), "{fault}");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_executed_is_found_and_not_sent_again() {
    for fault in [
        json!({ "kind": "unmapped_status", "status": "partially_refunded" }),
        json!({ "kind": "unsigned" }),
        json!({ "kind": "error_after_commit", "status": 404 }),
        json!({ "kind": "error_after_commit", "status": 402, "body": "json" }),
    ] {
        answered("lookup-only", fault, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_executed_is_proved_and_sent_again() {
    answered("lookup-only", json!({ "kind": "maintenance_page" }), false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_that_cannot_be_believed_decides_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    for fault in [
        json!({ "kind": "unmapped_status", "status": "closed " }),
        json!({ "kind": "unsigned" }),
        json!({ "kind": "error_before_commit", "status": 404 }),
        json!({ "kind": "maintenance_page" }),
    ] {
        world.sandbox.fault("lookup", json!({}), 1, fault).await;
    }
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_lost")).await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.count("lookup")), (1, 5));
    world.check().await;
}
