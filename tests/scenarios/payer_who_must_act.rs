//! The payer must act: they do, or never do, at channels that can be asked, asked again, or neither
//! of both.

use crate::support::{
    id_of, intent, order, order_closes_in, order_in, pay, payment_in, reference_of,
};
use tests::{Setup, World};

const EVERY_ACCOUNT: [&str; 5] = ["main", "lookup-only", "careless", "resend-only", "blind"];

/// No answer of this channel is lost, however slow the machine is.
async fn patient_world() -> World {
    World::start(Setup { call_limit_ms: 8_000, ..Setup::default() }).await
}

async fn shown(world: &World, account: &str, close_in_s: f64) -> String {
    let order = order(world, &format!("order for {account}")).await;
    order_closes_in(world, &order, close_in_s).await;
    pay(world, account, &intent(world, &order, account, "pm_action")).await;
    let shown = payment_in(world, &id_of(world, account), &["AwaitingPayer"]).await;
    assert_eq!(shown.body["action"]["kind"], "redirect", "{}", shown.body);
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn who_pays_has_paid_once_at_every_class_of_channel() {
    let world = patient_world().await;
    for account in EVERY_ACCOUNT {
        // Where the channel cannot be asked, the close at the end is what tells.
        let close_in_s = if account == "blind" { 8.0 } else { 600.0 };
        let order = shown(&world, account, close_in_s).await;
        world.sandbox.pay(account, &reference_of(&world, account)).await;
        payment_in(&world, &id_of(&world, account), &["Persisted"]).await;
        order_in(&world, &order, "Fulfilled").await;
    }
    assert_eq!(world.sandbox.truth().await.charges().len(), EVERY_ACCOUNT.len());
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_pays_is_closed_at_the_channel_and_the_order_can_be_paid_again() {
    let world = patient_world().await;
    let mut orders = Vec::new();
    for account in EVERY_ACCOUNT {
        orders.push(shown(&world, account, 6.0).await);
    }
    for (account, order) in EVERY_ACCOUNT.into_iter().zip(&orders) {
        payment_in(&world, &id_of(&world, account), &["Closed"]).await;
        // The shop gives the payer more time: after its close an order is not charged.
        order_closes_in(&world, order, 600.0).await;
        let again = format!("{account} again");
        pay(&world, &again, &intent(&world, order, "main", "pm_ok")).await;
        payment_in(&world, &id_of(&world, &again), &["Persisted"]).await;
        order_in(&world, order, "Fulfilled").await;
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_payment_survives_a_wake_without_being_sent_again() {
    let world = patient_world().await;
    let order = shown(&world, "main", 600.0).await;
    let id = format!("payment/{}/main", world.merchant);
    crate::owner::terminate(&world, &id).await;
    let mut input = intent(&world, &order, "main", "pm_action");
    input["key"] = "main".into();
    world.start_payment(&input).await;
    world.sandbox.pay("main", &reference_of(&world, "main")).await;
    payment_in(&world, &id_of(&world, "main"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}
