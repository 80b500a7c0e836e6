//! The merchant says for good that the goods cannot be handed over. The money is kept, nothing is
//! asked again, and a person has the question.

use crate::support::{
    id_of, intent, open_reviews, order, order_in, pay, payment_in, run_ended, world,
};
use serde_json::json;
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus as Status;

#[tokio::test(flavor = "multi_thread")]
async fn the_paid_fact_stays_and_a_person_is_asked() {
    let world = world().await;
    let order = order(&world, "o1").await;
    world.sandbox.fault("fulfil", json!({}), 1, json!({ "kind": "refused" })).await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    let id = format!("payment/{}/k1", world.merchant);
    assert_eq!(run_ended(&world, &id).await, Status::Completed);
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Paid").await;
    assert_eq!(open_reviews(&world, &id_of(&world, "k1")).await, ["fulfilment_refused"]);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("fulfil")), (1, 1));
    // Whoever wakes the owner hands nothing over while the question is open.
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    assert_eq!(run_ended(&world, &id).await, Status::Completed);
    assert_eq!(world.sandbox.truth().await.count("fulfil"), 1);
    world.check().await;
}

/// Somebody between us and the merchant answers 200, and the merchant has heard nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_comes_with_200_hands_nothing_over() {
    let world = world().await;
    let order = order(&world, "o1").await;
    world.sandbox.fault("fulfil", json!({}), 2, json!({ "kind": "maintenance_page" })).await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("fulfil"), truth.fulfilments().len()), (3, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anything_less_than_no_is_asked_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    for fault in [
        json!({ "kind": "error_before_commit", "status": 409, "body": "html" }),
        json!({ "kind": "drop_connection", "after_commit": true }),
    ] {
        world.sandbox.fault("fulfil", json!({}), 1, fault).await;
    }
    pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("fulfil"), truth.fulfilments().len()), (3, 1));
    world.check().await;
}
