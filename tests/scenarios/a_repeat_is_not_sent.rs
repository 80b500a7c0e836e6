//! A charge whose answer was lost is sent again, and the repeat does not leave or is not accepted.
//! That proves something about the repeat, and nothing about the first request.

use crate::owner;
use crate::support::{SETTLED, intent, order, pay, payment_in, world};
use serde_json::{Value, json};
use tests::World;
use tests::wait::until;

async fn first_lost_then_refused(world: &World, method: &str) {
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": method }), 1, lost).await;
    let refused = json!({ "kind": "refused" });
    world.sandbox.fault("charge", json!({ "payment_method": method }), 1, refused).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_may_still_have_been_executed() {
    let world = world().await;
    let order = order(&world, "o1").await;
    first_lost_then_refused(&world, "pm_lost").await;
    let answer = pay(&world, "k1", &intent(&world, &order, "resend-only", "pm_lost")).await;
    let states = ["Persisted", "ManualReview", "Failed"];
    let payment = payment_in(&world, answer.text("id"), &states).await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1, "the first was executed");
    assert_ne!(payment.text("state"), "Failed", "{}", payment.body);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_is_not_paid_a_second_time_under_another_key() {
    let world = world().await;
    let order = order(&world, "o1").await;
    first_lost_then_refused(&world, "pm_lost").await;
    let first = pay(&world, "k1", &intent(&world, &order, "resend-only", "pm_lost")).await;
    payment_in(&world, first.text("id"), &["Persisted", "ManualReview", "Failed"]).await;
    pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    let charges = world.sandbox.truth().await;
    assert_eq!(charges.charges().len(), 1, "the payer paid once: {:?}", charges.charges());
    world.check().await;
}

async fn claim_has_ended(world: &World) {
    until("the claim has ended", SETTLED, || async {
        let ended: bool = sqlx::query_scalar("SELECT send_before < clock_timestamp() FROM payment")
            .fetch_one(&world.rows)
            .await
            .expect("reads");
        ended.then_some(())
    })
    .await;
}

async fn payer_pays(world: &World, account: &str) -> u16 {
    let reference: String = sqlx::query_scalar("SELECT reference FROM payment")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    let url = format!("{}/admin/pay/{account}/{reference}", world.sandbox.url());
    let answer = reqwest::Client::new().post(url).send().await.expect("the sandbox answers");
    answer.status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_was_shown_how_to_pay_is_waited_for_by_the_next_run_too() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let mut input = intent(&world, &order, "main", "pm_action");
    let answer = pay(&world, "k1", &input).await;
    payment_in(&world, answer.text("id"), &["AwaitingPayer"]).await;
    claim_has_ended(&world).await;
    let refused = json!({ "kind": "refused" });
    world.sandbox.fault("charge", Value::Object(serde_json::Map::new()), 1, refused).await;
    owner::terminate(&world, answer.text("workflow_id")).await;
    input["key"] = json!("k1");
    let id = world.start_payment(&input).await;
    until("the next run has read the row", SETTLED, || async {
        let described = owner::describe(&world, &id).await;
        let info = described.workflow_execution_info?;
        (info.history_length > 8).then_some(())
    })
    .await;
    assert_eq!(payer_pays(&world, "main").await, 200, "the payer pays");
    let payment = payment_in(&world, answer.text("id"), &["Persisted", "Failed"]).await;
    assert_eq!(payment.text("state"), "Persisted", "{}", payment.body);
    world.check().await;
}
