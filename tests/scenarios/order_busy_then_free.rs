//! An order that another payment works on refuses an intent without binding its key.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_pays_once_the_order_is_free() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_down" }), 1, fault).await;
    let first = pay(&world, "k1", &intent(&world, &order, "careless", "pm_down")).await;
    let body = intent(&world, &order, "main", "pm_ok");
    let busy = pay(&world, "k2", &body).await;
    assert_eq!((busy.status, busy.text("code")), (409, "order_busy"), "{}", busy.body);
    payment_in(&world, first.text("id"), &["Failed"]).await;
    let free = pay(&world, "k2", &body).await;
    assert_eq!((free.status, free.text("state")), (200, "Persisted"), "{}", free.body);
    order_in(&world, &order, "Fulfilled").await;
    let paid = pay(&world, "k3", &body).await;
    assert_eq!((paid.status, paid.text("code")), (409, "order_not_payable"), "{}", paid.body);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amount_that_is_not_the_orders_is_refused_and_binds_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let right = intent(&world, &order, "main", "pm_ok");
    let mut wrong = right.clone();
    wrong["amount"] = json!(1998);
    let refused = pay(&world, "k1", &wrong).await;
    assert_eq!((refused.status, refused.text("code")), (422, "amount_differs"), "{}", refused.body);
    let paid = pay(&world, "k1", &right).await;
    assert_eq!((paid.status, paid.text("state")), (200, "Persisted"), "{}", paid.body);
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
