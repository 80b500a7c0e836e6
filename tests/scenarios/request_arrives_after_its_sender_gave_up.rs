//! The request is held up somewhere, its sender gives up, and then the channel executes it.

use crate::support::{intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn not_found_before_the_grace_has_passed_proves_nothing() {
    // The request is executed 1.2 s after its sender gave up, within the channel's grace.
    let setup = Setup { call_limit_ms: 800, grace_ms: 3_000, ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "pause_before_commit", "ms": 2_000 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_slow" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_slow")).await;
    let payment = payment_in(&world, answer.text("id"), &["Persisted", "Failed"]).await;
    assert_eq!(payment.text("state"), "Persisted", "{}", payment.body);
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}
