//! Somebody types a decision into Temporal's Web UI: an update without a stamp, under whatever name
//! they like. Below the limit they may say that money came; anything else needs a proved name.

use crate::owner::update;
use crate::people::{in_review, recorded};
use crate::support::{order, order_in, payment_in};
use serde_json::{Value, json};
use sqlx::Row;
use tests::api::Answer;
use tests::{Setup, World};

async fn asked_about(four_eyes_above: &'static str) -> (World, String, Answer, Value) {
    let world = World::start(Setup { four_eyes_above, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    let payment = in_review(&world, "k1", &order, 1, lost).await;
    let transaction = world.sandbox.truth().await.charges()[0]["transaction"].clone();
    (world, order, payment, transaction)
}

/// As an update says it, not as the HTTP API does.
fn paid(transaction: &Value) -> Value {
    json!({
        "kind": "confirm_paid", "transaction": transaction, "evidence": "line 7",
        "money": { "amount": 1999, "currency": "CNY" },
    })
}

/// Types a decision. Temporal says that the update was answered; what was answered, the rows say.
async fn typed(world: &World, payment: &Answer, decision: &str, choice: &Value, more: Value) {
    let mut text = json!({
        "decision": decision, "review": payment.text("review"), "review_version": 1,
        "choice": choice, "reason": "typed by hand", "operator": "alice",
    });
    if let Some(more) = more.as_object() {
        text.as_object_mut().expect("an object").extend(more.clone());
    }
    let workflow_id = payment.text("workflow_id");
    let said = update(world, workflow_id, "decide_review", &[&text.to_string()]).await;
    assert!(said.contains("Success"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_below_the_limit_counts_and_is_recorded_as_unproved() {
    let (world, order, payment, transaction) = asked_about("CNY:1999").await;
    typed(&world, &payment, "d", &paid(&transaction), json!({})).await;
    order_in(&world, &order, "Fulfilled").await;
    let path = format!("/v1/reviews/{}", payment.text("review"));
    let review = world.api.get(&path).await;
    assert_eq!(review.body["authenticated"], false, "{}", review.body);
    assert_eq!(review.text("decided_by"), "alice");
    let actor = sqlx::query("SELECT actor FROM payment_event WHERE kind = 'money_confirmed'");
    let actor = actor.fetch_one(&world.rows).await.expect("one event");
    assert_eq!(actor.get::<String, _>("actor"), "unproved:alice");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anything_else_is_refused_and_so_is_a_stamp_that_does_not_hold() {
    let (world, _, payment, transaction) = asked_about("CNY:1999").await;
    let not_paid = json!({ "kind": "confirm_not_paid", "evidence": "x" });
    let resubmit = json!({ "kind": "resubmit_same_key", "risk": "x" });
    typed(&world, &payment, "d", &not_paid, json!({})).await;
    typed(&world, &payment, "dd", &resubmit, json!({})).await;
    let stamp = json!({ "stamp": "0".repeat(64) });
    typed(&world, &payment, "ddd", &paid(&transaction), stamp).await;
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    assert_eq!((recorded(&world, "Proposed").await, recorded(&world, "Decided").await), (0, 0));
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("close"), truth.count("charge")), (0, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_limit_an_unproved_name_is_none_of_two() {
    let (world, _, payment, transaction) = asked_about("CNY:1998").await;
    typed(&world, &payment, "d", &paid(&transaction), json!({})).await;
    typed(&world, &payment, "dd", &paid(&transaction), json!({ "operator": "bob" })).await;
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    assert_eq!((recorded(&world, "Proposed").await, recorded(&world, "Decided").await), (0, 0));
    world.check().await;
}
