//! Money comes for a payment that had ended without it: because the channel turned its word, or
//! because somebody paid what could not be paid any more. Whoever wakes the owner finds it.

use crate::support::{
    id_of, intent, open_reviews, order, order_in, pay, payment_in, reference_of, run_ended,
};
use serde_json::json;
use std::sync::Arc;
use tests::inside::{CACHED_WORKFLOWS, Call, Fate, Gate, Hook};
use tests::settings::ALICE;
use tests::{Setup, World};

/// No answer of this channel is lost, however slow the machine is.
async fn patient_world() -> World {
    World::start(Setup { call_limit_ms: 8_000, ..Setup::default() }).await
}

async fn wake(world: &World, order: &str, key: &str, account: &str, method: &str) {
    let mut input = intent(world, order, account, method);
    input["key"] = key.into();
    // The row says the end before the run has ended.
    run_ended(world, &format!("payment/{}/{key}", world.merchant)).await;
    let id = world.start_payment(&input).await;
    run_ended(world, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_a_declined_payment_pays_the_order_that_still_waits() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    world.sandbox.pay_anyway("main", &reference_of(&world, "k1")).await;
    wake(&world, &order, "k1", "main", "pm_decline").await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempt_one_closed_attempt_two_paid_attempt_one_pays_late() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_action")).await;
    payment_in(&world, &id_of(&world, "k1"), &["AwaitingPayer"]).await;
    crate::owner::cancel(&world, &format!("payment/{}/k1", world.merchant)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Closed"]).await;
    pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    payment_in(&world, &id_of(&world, "k2"), &["Persisted"]).await;
    world.sandbox.pay_anyway("lookup-only", &reference_of(&world, "k1")).await;
    wake(&world, &order, "k1", "lookup-only", "pm_action").await;
    let surplus = payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    assert_eq!(surplus.body["effect"], "Surplus", "{}", surplus.body);
    assert_eq!(open_reviews(&world, &id_of(&world, "k1")).await, ["surplus_money"]);
    let paid = world.api.get(&format!("/v1/orders/{order}")).await;
    assert_eq!(paid.text("paid_by"), id_of(&world, "k2"));
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.fulfilments().len()), (2, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_a_closed_order_is_kept_and_asked_about() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    // What closing an unpaid order does.
    crate::support::orders_move_to(&world, "Closed").await;
    let sql = "UPDATE product SET reserved = reserved - 1, available = available + 1";
    sqlx::query(sql).execute(&world.rows).await.expect("writes");
    world.sandbox.pay_anyway("main", &reference_of(&world, "k1")).await;
    wake(&world, &order, "k1", "main", "pm_decline").await;
    let late = payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    assert_eq!(late.body["effect"], "Late", "{}", late.body);
    assert_eq!(open_reviews(&world, &id_of(&world, "k1")).await, ["late_money"]);
    assert_eq!(world.sandbox.truth().await.fulfilments().len(), 0);
    world.check().await;
}

/// The channel says "closed", later "open", and cannot close: somebody may still pay.
#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_was_shown_how_and_may_pay_after_the_end_is_a_question() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    let closed = json!({ "kind": "unmapped_status", "status": "closed" });
    let reference = json!({ "reference": reference_of(&world, "k1") });
    world.sandbox.fault("lookup", reference, 1, closed).await;
    pay(&world, "k1", &intent(&world, &order, "unclosable", "pm_action")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Closed"]).await;
    wake(&world, &order, "k1", "unclosable", "pm_action").await;
    payment_in(&world, &id_of(&world, "k1"), &["Closed"]).await;
    let id = id_of(&world, "k1");
    assert_eq!(open_reviews(&world, &id).await, ["payer_action_after_end"]);
    world.check().await;
    // The payer pays; the channel says so before somebody may say that they did not.
    world.sandbox.pay_anyway("unclosable", &reference_of(&world, "k1")).await;
    let review = world.api.get(&format!("/v1/reviews?payment={id}")).await;
    let review = review.body["data"][0]["id"].as_str().expect("a review").to_owned();
    let choice = json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" });
    let denied = crate::people::decide_as(ALICE, &world, &review, "d1", choice).await;
    assert_eq!(denied.status, 409, "{}", denied.body);
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(open_reviews(&world, &id).await, Vec::<String>::new());
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_wakes_an_ended_payment_changes_nothing_where_no_money_came() {
    let world = patient_world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    let before = payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    wake(&world, &order, "k1", "main", "pm_decline").await;
    let after = payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    assert_eq!(before.body, after.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.count("lookup")), (1, 1));
    world.check().await;
}

/// Holds what a charge brings back until the gate is opened: its work is done, and its run has not
/// heard of it.
struct Held(Gate);

impl Hook for Held {
    fn fate(&self, call: &Call) -> Fate {
        if call.activity != "charge" || call.attempt > 1 {
            return Fate::Pass;
        }
        let gate = self.0.clone();
        Fate::Replace(Arc::new(move |real, input| {
            let gate = gate.clone();
            Box::pin(async move {
                let result = real.run(input).await;
                gate.pass().await;
                result
            })
        }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_that_comes_with_the_end_of_a_run_is_not_lost() {
    let world = World::start(Setup { workers: 0, ..Setup::default() }).await;
    let gate = Gate::default();
    let _worker = world.work_inside(Arc::new(Held(gate.clone())), CACHED_WORKFLOWS);
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    world.sandbox.pay_anyway("main", &reference_of(&world, "k1")).await;
    let path = format!("/v1/payment_intents/{}/resume", id_of(&world, "k1"));
    let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
    assert_eq!(woken.status, 202, "{}", woken.body);
    gate.open();
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
