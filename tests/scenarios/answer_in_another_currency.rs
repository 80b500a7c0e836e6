//! The channel says that money moved, in a currency that nobody asked for. It is kept as it was
//! told, and pays nothing until a person has looked.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::{Value, json};

/// The amount is the right one, or not; the currency alone is enough.
async fn told(operation: &str, fault: Value, kept: (i64, &str)) {
    let world = world().await;
    let order = order(&world, "o1").await;
    let method = json!({ "payment_method": "pm_foreign" });
    if operation == "lookup" {
        let lost = json!({ "kind": "timeout_after_commit" });
        world.sandbox.fault("charge", method.clone(), 1, lost).await;
    }
    world.sandbox.fault(operation, method, 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_foreign")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    let reasons: Vec<String> = sqlx::query_scalar("SELECT reason FROM review WHERE state = 'Open'")
        .fetch_all(&world.rows)
        .await
        .expect("reads");
    assert_eq!(reasons, ["amount_mismatch"]);
    let facts: Vec<(i64, String)> = sqlx::query_as("SELECT amount, currency FROM money_fact")
        .fetch_all(&world.rows)
        .await
        .expect("reads");
    assert_eq!(facts, [(kept.0, kept.1.to_owned())]);
    order_in(&world, &order, "AwaitingPayment").await;
    let other = pay(&world, "k2", &intent(&world, &order, "lookup-only", "pm_ok")).await;
    assert_eq!(other.text("code"), "order_busy", "{}", other.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.fulfilments().len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_answers_in_another_currency_pays_nothing() {
    let fault = json!({ "kind": "wrong_amount", "currency": "USD" });
    told("charge", fault, (1_999, "USD")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_that_answers_in_another_currency_pays_nothing() {
    let fault = json!({ "kind": "wrong_amount", "currency": "JPY", "amount": 20 });
    told("lookup", fault, (20, "JPY")).await;
}
