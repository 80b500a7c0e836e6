//! A run is cancelled, as anybody with the Temporal UI can: the payment is to be closed at the
//! channel, and the channel says what became of it.

use crate::owner::cancel;
use crate::support::{
    id_of, intent, order, order_in, pay, payment_in, reference_of, run_ended, world,
};
use serde_json::json;
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus as Status;
use tests::{Setup, World};

/// A ladder on which nothing happens during the scenario unless somebody asks.
const PATIENT: &str = "60000,60000";

async fn patient_world() -> World {
    World::start(Setup { ladder_ms: PATIENT, awaiting_payer_ms: PATIENT, ..Setup::default() }).await
}

fn workflow_id(world: &World) -> String {
    format!("payment/{}/k1", world.merchant)
}

async fn unknown(world: &World, fault: &str) -> String {
    let order = order(world, "o1").await;
    world.sandbox.fault("charge", json!({}), 1, json!({ "kind": fault })).await;
    pay(world, "k1", &intent(world, &order, "lookup-only", "pm_ok")).await;
    payment_in(world, &id_of(world, "k1"), &["Unknown"]).await;
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_charged_is_closed_and_the_order_is_free() {
    let world = patient_world().await;
    let order = unknown(&world, "timeout_before_commit").await;
    cancel(&world, &workflow_id(&world)).await;
    let failed = payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    assert_eq!(failed.body["failure"], "not_executed", "{}", failed.body);
    assert_eq!(run_ended(&world, &workflow_id(&world)).await, Status::Completed);
    pay(&world, "k2", &intent(&world, &order, "lookup-only", "pm_ok")).await;
    payment_in(&world, &id_of(&world, "k2"), &["Persisted"]).await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_charged_is_paid_whatever_was_asked() {
    let world = patient_world().await;
    let order = unknown(&world, "timeout_after_commit").await;
    cancel(&world, &workflow_id(&world)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_was_shown_how_to_pay_can_no_more() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_action")).await;
    payment_in(&world, &id_of(&world, "k1"), &["AwaitingPayer"]).await;
    cancel(&world, &workflow_id(&world)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Closed"]).await;
    assert_eq!(world.sandbox.truth().await.0["objects"][0]["status"], "closed");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_whose_answer_is_lost_is_asked_again() {
    let ladder = "60000,300,300,300";
    let setup = Setup { ladder_ms: ladder, awaiting_payer_ms: ladder, ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_action")).await;
    payment_in(&world, &id_of(&world, "k1"), &["AwaitingPayer"]).await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("close", json!({}), 1, lost).await;
    cancel(&world, &workflow_id(&world)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Closed"]).await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_anything_was_recorded_nothing_is_charged_and_the_key_is_free() {
    let mut world = World::start(Setup { workers: 0, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    cancel(&world, &workflow_id(&world)).await;
    world.start_worker().expect("a worker");
    assert_eq!(run_ended(&world, &workflow_id(&world)).await, Status::Failed);
    assert_eq!(world.sandbox.truth().await.requests().len(), 0);
    pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_review_is_closed_too() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    pay(&world, "k1", &intent(&world, &order, "blind", "pm_action")).await;
    payment_in(&world, &id_of(&world, "k1"), &["ManualReview"]).await;
    world.sandbox.pay("blind", &reference_of(&world, "k1")).await;
    cancel(&world, &workflow_id(&world)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
