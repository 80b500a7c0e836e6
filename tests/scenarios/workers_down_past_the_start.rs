//! No worker runs until the payer has left.

use crate::support::{intent, order, pay, payment_in};
use std::time::Duration;
use tests::wait::until;
use tests::{Setup, World};
use workflows::payment::messages::START_WITHIN;

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_has_left_is_not_charged() {
    let mut world = World::start(Setup { workers: 0, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let started = std::time::Instant::now();
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let limit = START_WITHIN + Duration::from_secs(5);
    until("the start has passed", limit, || async {
        (started.elapsed() > START_WITHIN).then_some(())
    })
    .await;
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    let payment = payment_in(&world, answer.text("id"), &["Failed", "Persisted"]).await;
    assert_eq!(payment.text("failure"), "not_started", "{}", payment.body);
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    // The order is free; the key is not.
    let again = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(again.text("state"), "Persisted", "{}", again.body);
    let repeat = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    assert_eq!(repeat.text("state"), "Failed", "{}", repeat.body);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_time_to_pay_is_over_is_refused_and_binds_nothing() {
    let world = crate::support::world().await;
    let order = order(&world, "o1").await;
    crate::support::order_closes_in(&world, &order, -1.0).await;
    let body = intent(&world, &order, "main", "pm_ok");
    let refused = pay(&world, "k1", &body).await;
    assert_eq!(refused.text("code"), "order_not_payable", "{}", refused.body);
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    // The shop gives the payer more time, and the key is free.
    crate::support::order_closes_in(&world, &order, 600.0).await;
    let paid = pay(&world, "k1", &body).await;
    assert_eq!(paid.text("state"), "Persisted", "{}", paid.body);
    world.check().await;
}
