//! An operator who started a payment would decide about it as well.

use crate::people::{confirm_paid, decide_as};
use crate::support::{id_of, intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::settings::{ALICE, BOB};

#[tokio::test(flavor = "multi_thread")]
async fn they_are_refused_and_another_decides() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let body = intent(&world, &order, "blind", "pm_lost");
    let path = "/v1/payment_intents";
    let nobody = world.api.post_as(path, "k1", &body, Some("not-a-token-0123456789")).await;
    assert_eq!(nobody.status, 401, "{}", nobody.body);
    let nothing = world.api.get(&format!("{path}/{}", id_of(&world, "k1"))).await;
    assert_eq!(nothing.status, 404, "nothing was started: {}", nothing.body);
    let mut claimed = body.clone();
    claimed["started_by"] = json!("bob");
    let refused = pay(&world, "k1", &claimed).await;
    assert_eq!((refused.status, refused.text("field")), (400, "started_by"), "{}", refused.body);
    let answer = world.api.post_as(path, "k1", &body, Some(ALICE)).await;
    assert_eq!(answer.text("started_by"), "alice", "{}", answer.body);
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    // Who asks is no part of what is asked for: it is the same intent, and stays Alice's.
    let again = pay(&world, "k1", &body).await;
    assert!(again.replayed, "{}", again.body);
    assert_eq!(again.text("started_by"), "alice", "{}", again.body);
    let paid = confirm_paid(&world.sandbox.truth().await.charges()[0]["transaction"]);
    let review = payment.text("review");
    let own = decide_as(ALICE, &world, review, "d1", paid.clone()).await;
    assert_eq!((own.status, own.text("code")), (422, "own_payment"), "{}", own.body);
    let decided = decide_as(BOB, &world, review, "d2", paid).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
