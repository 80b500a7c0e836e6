//! PostgreSQL commits, and its answer never arrives.

use crate::support::{intent, order, order_in, pay, payment_in};
use tests::proxy::Proxy;
use tests::{Setup, World};

async fn lost_at_commit(number: u32) {
    lost(|proxy| proxy.lose_a_commit_answer(number)).await;
}

async fn lost(arm: impl FnOnce(&Proxy)) {
    let world = World::start(Setup { proxy: true, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let proxy = world.proxy.as_ref().expect("a proxy");
    arm(proxy);
    let answer = pay(&world, "k1", &intent(&world, &order, "blind", "pm_ok")).await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(proxy.cuts(), 1, "the answer was lost once");
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_record_the_same_sender_finds_its_own_claim() {
    lost_at_commit(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_settlement_the_event_is_found() {
    lost_at_commit(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_claim_to_fulfil_goods_leave_once() {
    lost_at_commit(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_record_of_fulfilment_goods_leave_once() {
    // It commits by itself.
    lost(|proxy| proxy.lose_the_answer_of("-- orders.fulfilled")).await;
}
