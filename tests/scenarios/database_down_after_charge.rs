//! PostgreSQL stops between the charge and its record, and comes back.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_waits_in_history_until_the_database_is_back() {
    let setup = Setup { own_postgres: true, call_limit_ms: 8_000, ..Setup::default() };
    let mut world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 3_000 });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_down" }), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "blind", "pm_down"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.stop()).expect("PostgreSQL stops");
    let answer = caller.await.expect("the caller is answered");
    assert!(matches!(answer.status, 200 | 202), "{}", answer.body);
    until("the charge is executed", SETTLED, || async {
        (world.sandbox.truth().await.charges().len() == 1).then_some(())
    })
    .await;
    // A status is told all the same, and in words.
    let status = payment_in(&world, &id_of(&world, "k1"), &["Succeeded"]).await;
    assert!(status.text("message").contains("do not charge again"), "{}", status.body);
    // While nothing can be recorded, nothing new is charged.
    let refused = pay(&world, "k2", &intent(&world, &order, "main", "pm_ok")).await;
    assert!(matches!(refused.status, 202 | 503), "{}", refused.body);
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.restart()).expect("PostgreSQL starts");
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}
