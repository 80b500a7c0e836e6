//! A run that anybody started under a payment's id has another order in its input. Whatever it
//! brings before it is refused concerns the payment's own order, and no other.

use crate::owner::{describe, terminate};
use crate::support::{SETTLED, intent, order, order_in, pay, payment_in, world};
use domain::audit::{Choice, Evidence};
use domain::{
    Actor, ConfirmedMoney, DecisionId, OperatorName, PaymentEvent, PaymentId, PaymentIntent, Proof,
    ReviewId, UnixMillis,
};
use serde_json::{Value, json};
use store::decisions::{Decision, Reach};
use store::settle_payment::Confirmation;
use tests::World;
use tests::settings::ALICE;
use tests::wait::until;

/// A payment in review for one order, and the same key's intent for another order.
async fn in_review(world: &World) -> (Value, String, String, PaymentIntent) {
    let (own, other) = (order(world, "o1").await, order(world, "o2").await);
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let answer = pay(world, "k1", &intent(world, &own, "blind", "pm_lost")).await;
    let payment = payment_in(world, answer.text("id"), &["ManualReview"]).await;
    let mut input = intent(world, &other, "blind", "pm_lost");
    input["key"] = json!("k1");
    (payment.body, own, other, PaymentIntent::from_json(&input).expect("valid"))
}

async fn money(world: &World, intent: &PaymentIntent) -> ConfirmedMoney {
    let truth = world.sandbox.truth().await;
    let transaction = truth.charges()[0]["transaction"].as_str().expect("a transaction");
    ConfirmedMoney {
        transaction: transaction.to_owned().try_into().expect("valid"),
        amount: intent.money,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_pays_no_other_order() {
    let world = world().await;
    let (payment, own, other, intent) = in_review(&world).await;
    let money = money(&world, &intent).await;
    let evidence = Evidence::parse("statement line 7").expect("valid");
    let choice = Choice::ConfirmPaid {
        transaction: money.transaction,
        money: money.amount,
        evidence: evidence.clone(),
    };
    let text = |field: &str| payment[field].as_str().expect("text").to_owned();
    let decision = Decision {
        id: &DecisionId::parse("d1").expect("valid"),
        payment: &PaymentId::parse(text("id")).expect("valid"),
        intent: &intent,
        review: &ReviewId::parse(text("review")).expect("valid"),
        review_version: 1,
        choice: &choice,
        reason: &evidence,
        operator: &OperatorName::parse("alice").expect("valid"),
        proof: Proof::Proved,
        four_eyes: &"CNY:100000".parse().expect("limits"),
    };
    let decided = world.store.decide(&decision, Reach::Decide).await;
    order_in(&world, &other, "AwaitingPayment").await;
    let state = world.api.get(&format!("/v1/orders/{own}")).await;
    let right = ["AwaitingPayment", "Paid", "Fulfilled"].contains(&state.text("state"));
    assert!(right, "{decided:?}: {}", state.body);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_pays_no_other_order() {
    let world = world().await;
    let (_, _, other, intent) = in_review(&world).await;
    let news = Confirmation {
        intent: &intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money: money(&world, &intent).await },
        actor: &Actor::Channel,
        token: None,
        exchanges: &[],
    };
    let settled = world.store.settle(&news).await;
    let state = world.api.get(&format!("/v1/orders/{other}")).await;
    assert_eq!(state.text("state"), "AwaitingPayment", "{settled:?}");
}

/// Anybody with access to Temporal ends the run, starts another one under its id with another
/// order, and an operator decides at that moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_meets_a_foreign_run_pays_no_other_order() {
    let mut world = world().await;
    let (payment, own, other, intent) = in_review(&world).await;
    let workflow_id = payment["workflow_id"].as_str().expect("text");
    let transaction = money(&world, &intent).await.transaction;
    world.kill_workers();
    terminate(&world, workflow_id).await;
    world.start_payment(&intent.to_json()).await;
    let body = json!({
        "version": 1, "reason": "seen on the statement",
        "choice": { "kind": "confirm_paid", "transaction": transaction, "amount": 1999,
                    "currency": "CNY", "evidence": "line 7" },
    });
    let path = format!("/v1/reviews/{}/decisions", payment["review"].as_str().expect("text"));
    let api = world.api.clone();
    // Where the foreign run is not refused in time, the operator is told to send it again.
    let decided = tokio::spawn(async move {
        until("the decision is taken", SETTLED, || async {
            let decided = api.post_as(&path, "d1", &body, Some(ALICE)).await;
            (decided.status != 503).then_some(decided)
        })
        .await
    });
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    let decided = decided.await.expect("the operator is answered");
    assert_eq!(decided.status, 200, "{}", decided.body);
    until("nobody is at work any more", SETTLED, || async {
        let described = describe(&world, workflow_id).await;
        let info = described.workflow_execution_info?;
        (info.close_time.is_some() && described.pending_activities.is_empty()).then_some(())
    })
    .await;
    let state = world.api.get(&format!("/v1/orders/{other}")).await;
    assert_eq!(state.text("state"), "AwaitingPayment", "{}", decided.body);
    // Who took the decision also did what follows from it.
    order_in(&world, &own, "Fulfilled").await;
    world.check().await;
}

/// The same, while the payment's goods wait for somebody who wakes its owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_wake_that_meets_a_foreign_run_wakes_the_owner_after_it() {
    let mut world = world().await;
    let (own, other) = (order(&world, "o1").await, order(&world, "o2").await);
    let away = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("fulfil", json!({}), 5, away).await;
    let answer = pay(&world, "k1", &intent(&world, &own, "main", "pm_ok")).await;
    let payment = payment_in(&world, answer.text("id"), &["Persisted"]).await;
    let workflow_id = payment.text("workflow_id");
    world.kill_workers();
    terminate(&world, workflow_id).await;
    let mut input = intent(&world, &other, "main", "pm_ok");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    let (api, path) = (world.api.clone(), format!("{}/resume", payment_path(&payment)));
    let woken =
        tokio::spawn(async move { api.post_as(&path, "r1", &json!({}), Some(ALICE)).await });
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    let woken = woken.await.expect("the operator is answered");
    assert_eq!(woken.status, 202, "{}", woken.body);
    order_in(&world, &own, "Fulfilled").await;
    world.check().await;
}

fn payment_path(payment: &tests::api::Answer) -> String {
    format!("/v1/payment_intents/{}", payment.text("id"))
}
