//! A key that names one intent is used for another.

use crate::support::{intent, order, order_in, pay, world};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn another_body_is_refused_naming_the_field_when_it_is_over_and_while_it_runs() {
    let world = world().await;
    let order_id = order(&world, "o1").await;
    let body = intent(&world, &order_id, "main", "pm_slow");
    let delay = json!({ "kind": "delay", "ms": 1_000 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_slow" }), 1, delay).await;
    let mut other = body.clone();
    other["payment_method"] = json!("pm_other");
    let (api, first) = (world.api.clone(), body.clone());
    let running = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &first).await });
    tests::wait::until("the charge is on its way", crate::support::SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    let while_running = pay(&world, "k1", &other).await;
    let answer = running.await.expect("the first caller is answered");
    assert_eq!((answer.status, answer.text("state")), (200, "Persisted"), "{}", answer.body);
    order_in(&world, &order_id, "Fulfilled").await;
    let when_over = pay(&world, "k1", &other).await;
    for refused in [&while_running, &when_over] {
        assert_eq!((refused.status, refused.text("code")), (422, "idempotency_conflict"));
        assert_eq!(refused.text("field"), "payment_method", "{}", refused.body);
    }
    let mut amount = body.clone();
    amount["amount"] = json!(1);
    let refused = pay(&world, "k1", &amount).await;
    assert_eq!((refused.status, refused.text("field")), (422, "amount"), "{}", refused.body);
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_key_with_another_body_is_refused_and_reserves_nothing() {
    let world = world().await;
    let first = order(&world, "o1").await;
    let merchant = &world.merchant;
    let two = json!({ "merchant": merchant, "items": [{ "sku": "tea", "quantity": 2 }] });
    let refused = world.api.post("/v1/orders", "o1", &two).await;
    assert_eq!((refused.status, refused.text("field")), (422, "items"), "{}", refused.body);
    let one = json!({ "merchant": merchant, "items": [{ "sku": "tea", "quantity": 1 }] });
    let repeat = world.api.post("/v1/orders", "o1", &one).await;
    assert!(repeat.replayed && repeat.text("id") == first, "{}", repeat.body);
    let total =
        json!({ "merchant": merchant, "items": [{ "sku": "tea", "quantity": 1 }], "total": 1 });
    let refused = world.api.post("/v1/orders", "o2", &total).await;
    assert_eq!(refused.status, 400, "a client's total is not taken: {}", refused.body);
    world.check().await;
}
