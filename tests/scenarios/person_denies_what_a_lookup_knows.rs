//! A person says "not paid" at a channel that cannot close, but can be asked: it is asked first.

use crate::people::decide_as;
use crate::support::{SETTLED, intent, order, order_in, pay, payment_in, reference_of};
use serde_json::json;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

const RUNGS: u32 = 2;

/// In review at an account without close: its charge's answer was lost, and so were its lookups'.
async fn in_review(world: &World, order: &str, fault: serde_json::Value) -> tests::api::Answer {
    let method = json!({ "payment_method": "pm_lost" });
    let away = json!({ "kind": "error_before_commit", "status": 503 });
    let reference = json!({ "reference": reference_of(world, "k1") });
    world.sandbox.fault("charge", method, 1, fault).await;
    world.sandbox.fault("lookup", reference, RUNGS, away).await;
    let answer = pay(world, "k1", &intent(world, order, "unclosable", "pm_lost")).await;
    let payment = payment_in(world, answer.text("id"), &["ManualReview"]).await;
    until("every lookup was lost", SETTLED, || async {
        (world.sandbox.truth().await.count("lookup") == RUNGS as usize).then_some(())
    })
    .await;
    payment
}

fn not_paid() -> serde_json::Value {
    json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" })
}

async fn impatient() -> World {
    World::start(Setup { ladder_ms: "200,200", ..Setup::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_the_channel_knows_is_taken_and_the_order_is_not_free() {
    let world = impatient().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_after_commit" })).await;
    let review = payment.text("review").to_owned();
    let decided = decide_as(ALICE, &world, &review, "d1", not_paid()).await;
    assert_eq!(decided.status, 409, "{}", decided.body);
    payment_in(&world, payment.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(again.text("code"), "order_not_payable", "{}", again.body);
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_channel_does_not_know_either_was_not_paid() {
    let world = impatient().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_before_commit" })).await;
    let review = payment.text("review").to_owned();
    let decided = decide_as(ALICE, &world, &review, "d1", not_paid()).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    payment_in(&world, payment.text("id"), &["Failed"]).await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_channel_does_not_answer_nobody_says_not_paid() {
    let world = impatient().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_after_commit" })).await;
    let reference = json!({ "reference": reference_of(&world, "k1") });
    let away = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", reference, 1, away).await;
    let review = payment.text("review").to_owned();
    let decided = decide_as(ALICE, &world, &review, "d1", not_paid()).await;
    assert_eq!(decided.status, 422, "{}", decided.body);
    assert!(decided.body.to_string().contains("channel_unavailable"), "{}", decided.body);
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    world.check().await;
}
