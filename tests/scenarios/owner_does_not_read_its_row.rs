//! Somebody else writes a payment's row while its owner waits for a person: an attempt that
//! Temporal took for dead, or another source of truth that wakes the owner afterwards.

use crate::owner;
use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in, run_ended, world};
use domain::{Actor, ConfirmedMoney, PaymentEvent, PaymentIntent, UnixMillis};
use futures::StreamExt;
use serde_json::json;
use store::settle_payment::{Answer, Confirmation};
use tests::wait::until;
use tests::{Setup, World};

const WAKES: usize = 100;
const WAKES_AT_ONCE: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_taken_for_dead_that_brings_the_money_still_leads_to_the_goods() {
    let world = World::start(Setup { call_limit_ms: 20_000, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 9_000 });
    world.sandbox.fault("charge", json!({}), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "blind", "pm_ok"));
    tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    world.workers[0].pause();
    owner::tried_again(&world, &format!("payment/{}/k1", world.merchant), "charge").await;
    world.workers[0].resume();
    let id = id_of(&world, "k1");
    payment_in(&world, &id, &["Persisted"]).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_woken_looks_at_its_row_again() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let mut body = intent(&world, &order, "blind", "pm_lost");
    let answer = pay(&world, "k1", &body).await;
    payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    let truth = world.sandbox.truth().await;
    let transaction = truth.charges()[0]["transaction"].as_str().expect("a transaction");
    body["key"] = json!("k1");
    let intent = PaymentIntent::from_json(&body).expect("valid");
    let money = ConfirmedMoney {
        transaction: transaction.to_owned().try_into().expect("valid"),
        amount: intent.money,
    };
    let news = Confirmation {
        intent: &intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money },
        actor: &Actor::Channel,
        token: None,
        exchanges: &[],
    };
    let settled = world.store.settle(&news).await.expect("settles");
    assert_eq!(settled.answer, Answer::Applied);
    owner::signal(&world, answer.text("workflow_id"), "wake", &[]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_wakes_around_its_end_lose_and_repeat_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("k1");
    let workflow_id = format!("payment/{}/k1", world.merchant);
    let wakes = (0..WAKES).map(|_| owner::wake(&world, &workflow_id, &input));
    let wakes = futures::stream::iter(wakes).buffer_unordered(WAKES_AT_ONCE);
    world.start_payment(&input).await;
    wakes.collect::<Vec<()>>().await;
    run_ended(&world, &workflow_id).await;
    let payment = world.api.get(&format!("/v1/payment_intents/{}", id_of(&world, "k1"))).await;
    assert_eq!(payment.text("state"), "Persisted", "{}", payment.body);
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.fulfilments().len()), (1, 1));
    world.check().await;
}
