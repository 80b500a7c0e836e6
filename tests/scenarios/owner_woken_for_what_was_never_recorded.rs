//! Somebody wakes an owner that there never was, with an intent that would have been refused: a
//! row that is made again is checked against its order like any other.

use crate::support::{id_of, intent, order, pay, payment_in, run_ended, world};
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus as Status;

async fn woken_for(account: &str, change: impl Fn(&mut Value)) {
    let world = world().await;
    let order = order(&world, "o1").await;
    let mut input = intent(&world, &order, account, "pm_ok");
    input["key"] = json!("k1");
    change(&mut input);
    let id = format!("payment/{}/k1", world.merchant);
    crate::owner::wake(&world, &id, &input).await;
    let ended = run_ended(&world, &id).await;
    let answer = world.api.get(&format!("/v1/orders/{order}")).await;
    assert_eq!(answer.text("state"), "AwaitingPayment", "{}", answer.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.fulfilments().len()), (0, 0));
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM payment")
        .fetch_one(&world.rows)
        .await
        .expect("counts");
    assert_eq!(rows, 0, "nothing is recorded");
    assert_eq!(ended, Status::Failed);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_not_paid_with_less_than_it_costs() {
    woken_for("lookup-only", |input| input["amount"] = json!(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_not_paid_with_less_where_only_a_repeat_tells() {
    woken_for("resend-only", |input| input["amount"] = json!(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_not_paid_in_another_currency() {
    woken_for("lookup-only", |input| input["currency"] = json!("JPY")).await;
}

/// The channel said never to try again. Beside that, a row that is made again is only looked up.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_declined_for_good_is_not_charged_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline_final")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("k2");
    let id = format!("payment/{}/k2", world.merchant);
    crate::owner::wake(&world, &id, &input).await;
    run_ended(&world, &id).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (1, 0));
    let answer = world.api.get(&format!("/v1/orders/{order}")).await;
    assert_eq!(answer.text("state"), "AwaitingPayment", "{}", answer.body);
    payment_in(&world, &id_of(&world, "k2"), &["Failed"]).await;
    world.check().await;
}
