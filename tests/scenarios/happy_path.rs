//! Nothing goes wrong: the payment is taken once, the order is fulfilled once.

use crate::support::{intent, order, order_in, pay, payment_in, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_taken_once_and_its_order_fulfilled() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.text("state"), "Persisted");
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_is_an_outcome_and_frees_the_order() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    assert_eq!((answer.status, answer.text("state")), (200, "Failed"), "{}", answer.body);
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!((again.status, again.text("state")), (200, "Persisted"), "{}", again.body);
    let first = payment_in(&world, answer.text("id"), &["Failed"]).await;
    assert_eq!(first.text("state"), "Failed");
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_decline_keeps_the_order_from_being_tried_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_decline_final")).await;
    assert_eq!((answer.status, answer.text("state")), (200, "Failed"), "{}", answer.body);
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!((again.status, again.text("code")), (409, "order_not_payable"), "{}", again.body);
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}
