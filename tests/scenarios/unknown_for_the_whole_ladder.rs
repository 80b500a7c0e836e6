//! The channel never says what happened, however often it is asked.

use crate::support::{intent, order, pay, payment_in};
use serde_json::json;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn after_the_last_lookup_a_person_is_asked_and_nothing_is_failed() {
    let setup = Setup { ladder_ms: "100,200,300,400,500,600", ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let method = json!({ "payment_method": "pm_dark" });
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", method.clone(), 1, lost).await;
    let dark = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", json!({}), 100, dark).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_dark")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.count("lookup")), (1, 6));
    world.check().await;
}
