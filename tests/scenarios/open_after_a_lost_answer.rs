//! The answer that shows the payer how to pay is lost. The channel has the charge, and nobody can
//! pay it: it is sent again where that gives the same answer, else closed.

use crate::support::{id_of, intent, order, order_in, pay, payment_in, reference_of, world};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_channel_tells_the_payers_action_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_action")).await;
    let shown = payment_in(&world, &id_of(&world, "k1"), &["AwaitingPayer"]).await;
    assert_eq!(shown.body["action"]["kind"], "redirect", "{}", shown.body);
    assert_eq!(shown.body["permits_used"], 1);
    world.sandbox.pay("main", &reference_of(&world, "k1")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 2));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_again_is_closed_and_the_order_is_free() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_action")).await;
    let failed = payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    assert_eq!(failed.body["failure"], "not_executed", "{}", failed.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (0, 1));
    assert_eq!(truth.0["objects"][0]["status"], "closed");
    pay(&world, "k2", &intent(&world, &order, "lookup-only", "pm_ok")).await;
    payment_in(&world, &id_of(&world, "k2"), &["Persisted"]).await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_paid_before_the_close_has_paid() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    // The lookup is answered from before the payer paid; the close meets the money.
    let slow = json!({ "kind": "unmapped_status", "status": "processing" });
    world.sandbox.fault("lookup", json!({}), 1, slow).await;
    pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_action")).await;
    world.sandbox.pay("lookup-only", &reference_of(&world, "k1")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    world.check().await;
}
