//! The channel charges, and answers with a server error.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_error_after_the_charge_is_no_failure() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "error_after_commit", "status": 500 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_500" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_500")).await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_error_before_the_charge_is_no_proof_until_a_lookup_is() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "error_before_commit", "status": 502 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_502" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_502")).await;
    let payment = payment_in(&world, answer.text("id"), &["Failed"]).await;
    assert_eq!(payment.text("failure"), "not_executed", "{}", payment.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (0, 1));
    world.check().await;
}
