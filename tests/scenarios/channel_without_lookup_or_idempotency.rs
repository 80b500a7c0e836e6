//! A channel that can neither be asked nor be asked again: a person decides, at once.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::{Value, json};
use tests::World;
use tests::api::Answer;
use tests::settings::ALICE;

/// A payment whose answer was lost at the blind account; the answer names its review.
async fn in_review(world: &World, order: &str, fault: Value) -> Answer {
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, fault).await;
    let answer = pay(world, "k1", &intent(world, order, "blind", "pm_lost")).await;
    let payment = payment_in(world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    payment
}

async fn decide(world: &World, review: &str, key: &str, choice: Value) -> Answer {
    let body = json!({ "version": 1, "choice": choice, "reason": "checked by phone" });
    let path = format!("/v1/reviews/{review}/decisions");
    world.api.post_as(&path, key, &body, Some(ALICE)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_that_it_was_paid() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_after_commit" })).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    let choice = json!({
        "kind": "confirm_paid", "transaction": truth.charges()[0]["transaction"],
        "amount": 1999, "currency": "CNY", "evidence": "statement line 7",
    });
    let decided = decide(&world, payment.text("review"), "d1", choice.clone()).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    order_in(&world, &order, "Fulfilled").await;
    let again = decide(&world, payment.text("review"), "d1", choice).await;
    assert_eq!(again.status, 200, "the same decision is the same: {}", again.body);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_that_it_was_not_paid_and_the_channel_makes_it_so() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_before_commit" })).await;
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" });
    let decided = decide(&world, payment.text("review"), "d1", choice).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    let failed = payment_in(&world, payment.text("id"), &["Failed"]).await;
    assert_eq!(failed.text("failure"), "confirmed_not_paid", "{}", failed.body);
    assert_eq!(world.sandbox.truth().await.count("close"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_wrong_about_not_paid_is_overtaken_by_the_channel() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_after_commit" })).await;
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "a guess" });
    let decided = decide(&world, payment.text("review"), "d1", choice).await;
    assert_eq!((decided.status, decided.text("code")), (409, "decision_overtaken"));
    payment_in(&world, payment.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_refused_when_it_does_not_fit() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, &order, json!({ "kind": "timeout_after_commit" })).await;
    let review = payment.text("review");
    let path = format!("/v1/reviews/{review}/decisions");
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "x" });
    let body = json!({ "version": 1, "choice": choice, "reason": "y" });
    let nobody = world.api.post_as(&path, "d1", &body, None).await;
    assert_eq!(nobody.status, 401, "{}", nobody.body);
    let other = world.api.post_as(&path, "d1", &body, Some("not-a-token-0123456789")).await;
    assert_eq!(other.status, 401, "{}", other.body);
    let wrong_amount = json!({
        "kind": "confirm_paid", "transaction": "sbx_x", "amount": 1, "currency": "CNY",
        "evidence": "x",
    });
    let refused = decide(&world, review, "d2", wrong_amount).await;
    assert_eq!((refused.status, refused.text("code")), (422, "not_a_choice"), "{}", refused.body);
    let old = json!({ "version": 7, "choice": choice, "reason": "y" });
    let overtaken = world.api.post_as(&path, "d3", &old, Some(ALICE)).await;
    assert_eq!((overtaken.status, overtaken.text("code")), (409, "decision_overtaken"));
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    let asked = world.sandbox.truth().await.count("close");
    assert_eq!(asked, 0, "a decision that does not count asks the channel for nothing");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_could_never_be_seen_to_pay_is_not_waited_for() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "mute", "pm_action")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    // The page that the payer could have been sent to is open all the same.
    let truth = world.sandbox.truth().await;
    assert_eq!((&truth.objects()[0]["status"], truth.count("charge")), (&json!("open"), 1));
    let reference = truth.objects()[0]["reference"].as_str().expect("text");
    let paid = world.sandbox.pay("mute", reference).await;
    let choice = json!({
        "kind": "confirm_paid", "transaction": paid["transaction"], "amount": 1999,
        "currency": "CNY", "evidence": "statement line 7",
    });
    let decided = decide(&world, payment.text("review"), "d1", choice).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
