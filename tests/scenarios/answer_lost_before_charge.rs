//! The request is lost on its way: nothing is charged, and nobody says so.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn proven_not_executed_it_is_sent_again_where_a_known_reference_is_refused() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_before_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_gone" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_gone")).await;
    let payment = payment_in(&world, answer.text("id"), &["Persisted", "Failed"]).await;
    assert_eq!(payment.text("state"), "Persisted", "{}", payment.body);
    assert_eq!(payment.body["permits_used"], 1, "{}", payment.body);
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 2));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn proven_not_executed_it_fails_where_a_repeat_could_charge_twice() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "drop_connection", "after_commit": false });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_gone" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_gone")).await;
    let payment = payment_in(&world, answer.text("id"), &["Persisted", "Failed"]).await;
    assert_eq!(payment.text("failure"), "not_executed", "{}", payment.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (0, 1));
    world.check().await;
    // The order is free again, for another intent under another key.
    let again = pay(&world, "k2", &intent(&world, &order, "careless", "pm_ok")).await;
    payment_in(&world, again.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_channels_signed_word_that_it_took_nothing_ends_it_at_once() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "refused" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_refused" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "blind", "pm_refused")).await;
    let payment = payment_in(&world, answer.text("id"), &["Failed", "ManualReview"]).await;
    assert_eq!(payment.text("failure"), "not_executed", "{}", payment.body);
    world.check().await;
}
