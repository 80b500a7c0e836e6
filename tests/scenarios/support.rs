//! What scenarios say often.

use domain::{ChannelReference, IdempotencyKey, MerchantId, PaymentId};
use serde_json::{Value, json};
use std::time::Duration;
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus;
use tests::api::Answer;
use tests::wait::until;
use tests::{Setup, World};

/// Longest wait for a payment to come to rest.
pub const SETTLED: Duration = Duration::from_secs(40);

pub async fn world() -> World {
    World::start(Setup::default()).await
}

/// An order of one piece of tea: 19.99 yuan.
pub async fn order(world: &World, key: &str) -> String {
    let body = json!({ "merchant": world.merchant, "items": [{ "sku": "tea", "quantity": 1 }] });
    let answer = world.api.post("/v1/orders", key, &body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.text("id").to_owned()
}

/// The body of a payment intent for an order of tea.
pub fn intent(world: &World, order: &str, account: &str, method: &str) -> Value {
    json!({
        "merchant": world.merchant, "order": order, "amount": 1999, "currency": "CNY",
        "channel": "sandbox", "account": account, "payment_method": method,
    })
}

pub async fn pay(world: &World, key: &str, body: &Value) -> Answer {
    world.api.post("/v1/payment_intents", key, body).await
}

/// Waits until a payment is in one of these states.
pub async fn payment_in(world: &World, id: &str, states: &[&str]) -> Answer {
    let path = format!("/v1/payment_intents/{id}");
    until(&format!("{id} in {states:?}"), SETTLED, || async {
        let answer = world.api.get(&path).await;
        states.contains(&answer.text("state")).then_some(answer)
    })
    .await
}

/// Waits until an order is in a state.
pub async fn order_in(world: &World, id: &str, state: &str) {
    let path = format!("/v1/orders/{id}");
    until(&format!("{id} is {state}"), SETTLED, || async {
        (world.api.get(&path).await.text("state") == state).then_some(())
    })
    .await;
}

/// The id that a payment has under this key, whoever computes it.
pub fn id_of(world: &World, key: &str) -> String {
    let merchant = MerchantId::parse(world.merchant.clone()).expect("valid");
    PaymentId::of(&merchant, &IdempotencyKey::parse(key).expect("valid")).to_string()
}

/// Our reference at the channel for the payment under this key.
pub fn reference_of(world: &World, key: &str) -> String {
    let merchant = MerchantId::parse(world.merchant.clone()).expect("valid");
    let key = IdempotencyKey::parse(key).expect("valid");
    ChannelReference::of(&merchant, &key, 1).to_string()
}

/// Waits until a run of this workflow has ended, and gives how.
pub async fn run_ended(world: &World, workflow_id: &str) -> WorkflowExecutionStatus {
    until(&format!("{workflow_id} has ended"), SETTLED, || async {
        let info = crate::owner::describe(world, workflow_id).await.workflow_execution_info?;
        (info.close_time.is_some()).then_some(info.status())
    })
    .await
}

/// Lets the order close, as far as its payments know, so many seconds from now.
pub async fn order_closes_in(world: &World, order: &str, seconds: f64) {
    let sql = "UPDATE customer_order SET close_at = clock_timestamp() + make_interval(secs => $2)
               WHERE id = $1";
    let done = sqlx::query(sql).bind(order).bind(seconds).execute(&world.rows).await;
    assert_eq!(done.expect("writes").rows_affected(), 1);
}

/// Moves every order to a state, on the record, as whoever closes orders does.
pub async fn orders_move_to(world: &World, state: &str) {
    let sql = "WITH moved AS (
                   UPDATE customer_order o SET state = $1, version = o.version + 1
                   FROM customer_order before WHERE before.id = o.id
                   RETURNING o.id, o.version, before.state AS from_state
               )
               INSERT INTO order_event (order_id, sequence, from_state, to_state, actor, cause)
               SELECT id, version, from_state, $1, 'test', '{}' FROM moved";
    sqlx::query(sql).bind(state).execute(&world.rows).await.expect("the order moves");
}

/// The reasons of a payment's open reviews, sorted.
pub async fn open_reviews(world: &World, payment: &str) -> Vec<String> {
    let sql = "SELECT reason FROM review WHERE payment_id = $1 AND state = 'Open' ORDER BY reason";
    let rows = sqlx::query_scalar(sql).bind(payment).fetch_all(&world.rows).await;
    rows.expect("reads")
}
