//! The channel's truth is not what we expected: another amount, a second movement, money for an
//! order that another payment has paid, or that is closed. Nothing is dropped, and nobody guesses.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use domain::{Actor, ConfirmedMoney, Currency, Money, PaymentEvent, PaymentIntent, UnixMillis};
use serde_json::{Value, json};
use store::settle_payment::{Answer, Confirmation, Settlement};
use tests::World;

/// News of money, through the one door, as any source may bring it.
async fn news(
    world: &World,
    body: &Value,
    key: &str,
    transaction: &str,
    amount: u64,
) -> Settlement {
    let mut input = body.clone();
    input["key"] = json!(key);
    let intent = PaymentIntent::from_json(&input).expect("valid");
    let currency = Currency::parse("CNY").expect("known");
    let money = ConfirmedMoney {
        transaction: transaction.to_owned().try_into().expect("valid"),
        amount: Money::new(amount, currency).expect("small"),
    };
    let confirmation = Confirmation {
        intent: &intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money },
        actor: &Actor::Channel,
        token: None,
        exchanges: &[],
    };
    world.store.settle(&confirmation).await.expect("settles")
}

async fn open_reviews(world: &World) -> Vec<String> {
    sqlx::query_scalar("SELECT reason FROM review WHERE state = 'Open' ORDER BY reason")
        .fetch_all(&world.rows)
        .await
        .expect("reads")
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_of_a_failed_payment_pays_an_order_that_still_waits() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_decline");
    let failed = pay(&world, "k1", &body).await;
    assert_eq!(failed.text("state"), "Failed", "{}", failed.body);
    let settled = news(&world, &body, "k1", "sbx_late", 1_999).await;
    assert_eq!(settled.answer, Answer::Applied);
    order_in(&world, &order, "Paid").await;
    assert!(open_reviews(&world).await.is_empty());
    let again = news(&world, &body, "k1", "sbx_late", 1_999).await;
    assert_eq!(again.answer, Answer::AlreadyApplied);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_an_order_that_is_paid_is_surplus_and_asked_about() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let first = intent(&world, &order, "main", "pm_decline");
    pay(&world, "k1", &first).await;
    pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    order_in(&world, &order, "Fulfilled").await;
    let settled = news(&world, &first, "k1", "sbx_surplus", 1_999).await;
    assert_eq!(settled.answer, Answer::Surplus);
    assert_eq!(open_reviews(&world).await, ["surplus_money"]);
    let paid_by: String = sqlx::query_scalar("SELECT paid_by FROM customer_order")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_ne!(paid_by, settled.view.payment.as_str(), "the first money is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_an_order_that_is_closed_is_late_and_asked_about() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_decline");
    pay(&world, "k1", &body).await;
    crate::support::orders_move_to(&world, "Closed").await;
    let settled = news(&world, &body, "k1", "sbx_late", 1_999).await;
    assert_eq!(settled.answer, Answer::Late);
    assert_eq!(open_reviews(&world).await, ["late_money"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_amount_is_kept_as_it_is_and_pays_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "wrong_amount", "amount": 1_998 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_less" }), 1, fault).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_less")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    assert_eq!(open_reviews(&world).await, ["amount_mismatch"]);
    order_in(&world, &order, "AwaitingPayment").await;
    let kept: i64 = sqlx::query_scalar("SELECT amount FROM money_fact")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_eq!(kept, 1_998);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_movement_is_kept_beside_the_first() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_ok");
    pay(&world, "k1", &body).await;
    order_in(&world, &order, "Fulfilled").await;
    let settled = news(&world, &body, "k1", "sbx_second", 1_999).await;
    assert_eq!(settled.answer, Answer::Surplus);
    let facts: i64 = sqlx::query_scalar("SELECT count(*) FROM money_fact")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_eq!(facts, 2);
    assert_eq!(open_reviews(&world).await, ["second_transaction"]);
    let payment = payment_in(&world, settled.view.payment.as_str(), &["Persisted"]).await;
    assert_ne!(payment.text("transaction"), "sbx_second", "{}", payment.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_transaction_for_two_payments_stays_with_the_first_and_is_asked_about() {
    let world = world().await;
    let (first, second) = (order(&world, "o1").await, order(&world, "o2").await);
    let paid = pay(&world, "k1", &intent(&world, &first, "main", "pm_ok")).await;
    order_in(&world, &first, "Fulfilled").await;
    let body = intent(&world, &second, "main", "pm_decline");
    pay(&world, "k2", &body).await;
    let settled = news(&world, &body, "k2", paid.text("transaction"), 1_999).await;
    assert_eq!(settled.answer, Answer::Mismatch);
    assert_eq!(settled.view.state.name(), "ManualReview");
    assert!(settled.view.review.is_some(), "{settled:?}");
    let again = news(&world, &body, "k2", paid.text("transaction"), 1_999).await;
    assert_eq!(again.answer, Answer::AlreadyApplied);
    order_in(&world, &second, "AwaitingPayment").await;
}
