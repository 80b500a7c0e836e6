//! The channel is under maintenance: under its signature it says so, and then nothing was executed;
//! a page in HTML says nothing at all, whatever its status is.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use std::time::Duration;
use tests::api::Answer;
use tests::wait::until;
use tests::{Setup, World};

const PATIENCE: Duration = Duration::from_secs(20);

/// The order is free: a new key pays it, and nothing was taken for the old one.
async fn another_key_pays(world: &World, order: &str, failed: &Answer) {
    assert_eq!(failed.text("failure"), "not_executed", "{}", failed.body);
    order_in(world, order, "AwaitingPayment").await;
    let again = pay(world, "k2", &intent(world, order, "main", "pm_ok")).await;
    payment_in(world, again.text("id"), &["Persisted"]).await;
    order_in(world, order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_not_executed_and_frees_its_order() {
    for account in ["main", "blind"] {
        let world = world().await;
        let order = order(&world, "o1").await;
        world.sandbox.maintenance(Some(account), 600).await;
        let failed = pay(&world, "k1", &intent(&world, &order, account, "pm_ok")).await;
        assert_eq!(failed.text("state"), "Failed", "{}", failed.body);
        let truth = world.sandbox.truth().await;
        assert_eq!((truth.objects().len(), truth.count("charge")), (0, 1));
        world.sandbox.end_maintenance().await;
        // The key has its outcome: it charges nothing now.
        let same = pay(&world, "k1", &intent(&world, &order, account, "pm_ok")).await;
        assert_eq!(same.text("state"), "Failed", "{}", same.body);
        assert_eq!(world.sandbox.truth().await.count("charge"), 1);
        another_key_pays(&world, &order, &failed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_learns_nothing_until_it_is_over() {
    let ladder_ms = "200,400,800,1500,1500,1500,1500,1500,1500,1500";
    let world = World::start(Setup { ladder_ms, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let body = intent(&world, &order, "lookup-only", "pm_lost");
    let request = pay(&world, "k1", &body);
    let begin = async {
        until("money moved", PATIENCE, || async {
            (!world.sandbox.truth().await.charges().is_empty()).then_some(())
        })
        .await;
        world.sandbox.maintenance(None, 600).await;
    };
    let (answer, ()) = tokio::join!(request, begin);
    until("two lookups were turned away", PATIENCE, || async {
        let truth = world.sandbox.truth().await;
        let away = truth.requests().iter().filter(|request| request["outcome"] == "maintenance");
        (away.count() >= 2).then_some(())
    })
    .await;
    let waiting = payment_in(&world, answer.text("id"), &["Unknown"]).await;
    assert_eq!(waiting.text("failure"), "", "{}", waiting.body);
    world.sandbox.end_maintenance().await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_http_200_proves_nothing_and_the_lookups_do() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let page = json!({ "kind": "maintenance_page" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_page" }), 1, page.clone()).await;
    world.sandbox.fault("lookup", json!({}), 1, page).await;
    // This account would charge a known reference again: what is proved fails, and is not sent.
    let answer = pay(&world, "k1", &intent(&world, &order, "careless", "pm_page")).await;
    let failed = payment_in(&world, answer.text("id"), &["Failed"]).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.objects().len()), (1, 0));
    assert!(truth.count("lookup") >= 2, "a page is no answer to a lookup either");
    another_key_pays(&world, &order, &failed).await;
}
