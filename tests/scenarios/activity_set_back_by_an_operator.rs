//! An operator sets a charge's activity back in Temporal: its attempts are counted from 1 again,
//! although the first attempt 1 may have charged.

use crate::support::{SETTLED, intent, order, order_in, payment_in, world};
use serde_json::json;
use tests::wait::until;

/// The account has a lookup, and would charge the same reference again.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_attempt_number_one_does_not_take_the_claim_of_the_first_for_its_own() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_kill" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "careless", "pm_kill"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is executed", SETTLED, || async {
        (world.sandbox.truth().await.charges().len() == 1).then_some(())
    })
    .await;
    world.kill_workers();
    let answer = caller.await.expect("the caller is answered");
    let workflow_id = format!("payment/{}/k1", world.merchant);
    crate::owner::tried_again(&world, &workflow_id, "charge").await;
    crate::owner::set_activity_back(&world, &workflow_id, "charge").await;
    let described = crate::owner::describe(&world, &workflow_id).await;
    assert_eq!(described.pending_activities[0].attempt, 1, "it is counted from 1 again");
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}
