//! Anybody may send anything to a payment's workflow: unknown names, no argument, three, text that
//! is no JSON, a decision that nobody made, a request to cancel. It goes on and ends right.

use crate::owner::{cancel, signal, update};
use crate::support::{intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::{Setup, World};

async fn waiting() -> (World, String, String, String) {
    let world = World::start(Setup { ladder_ms: "4000,500,500", ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_lost")).await;
    let (id, workflow_id) = (answer.text("id"), answer.text("workflow_id"));
    payment_in(&world, id, &["Unknown"]).await;
    let (id, workflow_id) = (id.to_owned(), workflow_id.to_owned());
    (world, order, id, workflow_id)
}

async fn ends_right(world: &World, order: &str, id: &str) {
    payment_in(world, id, &["Persisted"]).await;
    order_in(world, order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_do_not_wedge_it() {
    let (world, order, id, workflow_id) = waiting().await;
    signal(&world, &workflow_id, "surprise", &["{}"]).await;
    signal(&world, &workflow_id, "wake", &[]).await;
    signal(&world, &workflow_id, "wake", &["1", "2", "3"]).await;
    signal(&world, &workflow_id, "wake", &["{ no json"]).await;
    ends_right(&world, &order, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_do_not_wedge_it() {
    let (world, order, id, workflow_id) = waiting().await;
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let long = format!("\"{}\"", "x".repeat(20_000));
    let nobody = json!({
        "decision": "d-1", "review": format!("rev_{}", "a".repeat(26)), "review_version": 1,
        "choice": { "kind": "confirm_not_paid", "evidence": "x" }, "reason": "y",
        "operator": "alice", "stamp": "00",
    })
    .to_string();
    for texts in [&[][..], &["{}"], &["{}", "{}"], &["{ no"], &[&deep], &[&long]] {
        let said = update(&world, &workflow_id, "decide_review", texts).await;
        assert!(said.contains("Failure"), "{said}");
    }
    let said = update(&world, &workflow_id, "decide_review", &[&nobody]).await;
    assert!(said.contains("Success"), "{said}");
    let said = update(&world, &workflow_id, "surprise", &["{}"]).await;
    assert!(said.contains("Failure"), "{said}");
    ends_right(&world, &order, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_cancel_does_not_end_it() {
    let (world, order, id, workflow_id) = waiting().await;
    cancel(&world, &workflow_id).await;
    ends_right(&world, &order, &id).await;
}
