//! What people do about a review, and what is kept of it.

use crate::support::{intent, pay, payment_in};
use domain::{Choice, DecisionId, Evidence, OperatorName, PaymentId, Proof, ReviewId};
use serde_json::{Value, json};
use sqlx::Row;
use store::decisions::{Decided, Decision, Reach};
use tests::World;
use tests::api::Answer;

/// A payment at the blind account whose answers are lost; the answer names its review.
pub async fn in_review(world: &World, key: &str, order: &str, times: u32, fault: Value) -> Answer {
    let method = format!("pm_lost_{key}");
    world.sandbox.fault("charge", json!({ "payment_method": method }), times, fault).await;
    let answer = pay(world, key, &intent(world, order, "blind", &method)).await;
    let payment = payment_in(world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    payment
}

/// A decision about a review at its first version, through the API.
pub async fn decide_as(
    token: &str,
    world: &World,
    review: &str,
    key: &str,
    choice: Value,
) -> Answer {
    let body = json!({ "version": 1, "choice": choice, "reason": "checked by phone" });
    let path = format!("/v1/reviews/{review}/decisions");
    world.api.post_as(&path, key, &body, Some(token)).await
}

/// That the payment of 19.99 yuan was paid under this number.
pub fn confirm_paid(transaction: &Value) -> Value {
    json!({
        "kind": "confirm_paid", "transaction": transaction, "amount": 1999, "currency": "CNY",
        "evidence": "statement line 7",
    })
}

/// Alice's decision at the store's door, without a workflow between.
pub async fn decide_at_the_store(
    world: &World,
    payment: &Answer,
    key: &str,
    choice: &Choice,
) -> Decided {
    let id = PaymentId::parse(payment.text("id")).expect("valid");
    let record = world.store.read_payment(&id).await.expect("reads").expect("a row");
    let decision = Decision {
        id: &DecisionId::parse(key).expect("valid"),
        payment: &id,
        intent: &record.intent,
        review: &ReviewId::parse(payment.text("review")).expect("valid"),
        review_version: 1,
        choice,
        reason: &Evidence::parse("checked by phone").expect("valid"),
        operator: &OperatorName::parse("alice").expect("valid"),
        proof: Proof::Proved,
        four_eyes: &"CNY:100000".parse().expect("limits"),
    };
    world.store.decide(&decision, Reach::Decide).await.expect("answers")
}

/// The same, which must take effect.
pub async fn choose(world: &World, payment: &Answer, key: &str, choice: Value) {
    let choice: Choice = serde_json::from_value(choice).expect("a choice");
    let decided = decide_at_the_store(world, payment, key, &choice).await;
    assert!(matches!(decided, Decided::Done(_)), "{decided:?}");
}

/// How many decisions of this world did this.
pub async fn recorded(world: &World, did: &str) -> i64 {
    let count = sqlx::query("SELECT count(*) AS n FROM decision WHERE did = $1").bind(did);
    count.fetch_one(&world.rows).await.expect("counts").get("n")
}
