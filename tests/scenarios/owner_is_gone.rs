//! A payment's workflow is terminated, or deleted from Temporal with all that it knew.

use crate::owner::{delete, terminate};
use crate::support::{SETTLED, intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn terminated_while_unknown_it_is_resumed_and_found_by_a_lookup() {
    let world = World::start(Setup { ladder_ms: "60000", ..Setup::default() }).await;
    let order_id = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let answer = pay(&world, "k1", &intent(&world, &order_id, "lookup-only", "pm_lost")).await;
    let payment = payment_in(&world, answer.text("id"), &["Unknown"]).await;
    terminate(&world, payment.text("workflow_id")).await;
    // The row blocks the order, whoever is gone.
    let other = pay(&world, "k2", &intent(&world, &order_id, "main", "pm_ok")).await;
    assert_eq!((other.status, other.text("code")), (409, "order_busy"), "{}", other.body);
    let told = world.api.get(&format!("/v1/payment_intents/{}/explain", payment.text("id"))).await;
    assert_eq!(told.text("workflow_status"), "terminated", "{}", told.body);
    let path = format!("/v1/payment_intents/{}/resume", payment.text("id"));
    // Twice is safe.
    for _ in 0..2 {
        let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
        assert_eq!((woken.status, woken.text("id")), (202, payment.text("id")), "{}", woken.body);
    }
    payment_in(&world, payment.text("id"), &["Persisted"]).await;
    order_in(&world, &order_id, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (1, 1));
    assert!(truth.count("lookup") >= 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_after_its_end_its_key_is_answered_from_the_row() {
    let world = world().await;
    let (first, second) = (order(&world, "o1").await, order(&world, "o2").await);
    let body = intent(&world, &first, "main", "pm_ok");
    let mut other = intent(&world, &second, "main", "pm_ok");
    let (paid, paid_too) = (pay(&world, "k1", &body).await, pay(&world, "k2", &other).await);
    assert_eq!((paid.status, paid.text("state")), (200, "Persisted"), "{}", paid.body);
    assert_eq!((paid_too.status, paid_too.text("state")), (200, "Persisted"));
    order_in(&world, &first, "Fulfilled").await;
    order_in(&world, &second, "Fulfilled").await;
    // Both at once: Temporal takes its time.
    tokio::join!(
        delete(&world, paid.text("workflow_id")),
        delete(&world, paid_too.text("workflow_id")),
    );

    let again = pay(&world, "k1", &body).await;
    assert_eq!((again.status, again.text("state")), (200, "Persisted"), "{}", again.body);
    assert_eq!(again.body["transaction"], paid.body["transaction"]);
    other["payment_method"] = json!("pm_other");
    let refused = pay(&world, "k2", &other).await;
    assert_eq!((refused.status, refused.text("code")), (422, "idempotency_conflict"));
    assert_eq!(refused.text("field"), "payment_method", "{}", refused.body);
    // Resuming what has ended, and whose run is gone, changes nothing.
    let path = format!("/v1/payment_intents/{}/resume", paid.text("id"));
    let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
    assert_eq!((woken.status, woken.text("state")), (202, "Persisted"), "{}", woken.body);
    until("the new run has ended", SETTLED, || async {
        let described = crate::owner::describe(&world, paid.text("workflow_id")).await;
        described.workflow_execution_info?.close_time.map(|_| ())
    })
    .await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.fulfilments().len()), (2, 2));
    world.check().await;
}
