//! An order that another payment works on refuses an intent without binding its key.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::settings::ALICE;

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_pays_once_the_order_is_free() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_before_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, fault).await;
    let first = pay(&world, "k1", &intent(&world, &order, "blind", "pm_lost")).await;
    let body = intent(&world, &order, "main", "pm_ok");
    for _ in 0..2 {
        let busy = pay(&world, "k2", &body).await;
        assert_eq!((busy.status, busy.text("code")), (409, "order_busy"), "{}", busy.body);
    }
    let review = payment_in(&world, first.text("id"), &["ManualReview"]).await;
    let path = format!("/v1/reviews/{}/decisions", review.text("review"));
    let not_paid = json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" });
    let decision = json!({ "version": 1, "choice": not_paid, "reason": "checked" });
    let decided = world.api.post_as(&path, "d1", &decision, Some(ALICE)).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
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
