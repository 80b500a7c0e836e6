//! What scenarios say often.

use domain::{IdempotencyKey, MerchantId, PaymentId};
use serde_json::{Value, json};
use std::time::Duration;
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
