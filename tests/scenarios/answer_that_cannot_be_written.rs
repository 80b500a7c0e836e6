//! The channel took the money, and PostgreSQL refuses to write it for a reason that is nobody's
//! outage: a right is missing until an administrator gives it back.

use crate::support::{SETTLED, intent, order, order_in, payment_in, world};
use serde_json::json;
use tests::World;
use tests::wait::until;

async fn as_administrator(world: &World, sql: &'static str) {
    sqlx::query(sql).execute(&world.rows).await.expect(sql);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_stays_in_history_until_it_can_be_written() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "delay", "ms": 800 });
    world.sandbox.fault("charge", json!({}), 1, fault).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "blind", "pm_ok"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    as_administrator(&world, "REVOKE INSERT ON payment_event FROM oncepay_worker").await;
    until("the charge is executed", SETTLED, || async {
        (world.sandbox.truth().await.charges().len() == 1).then_some(())
    })
    .await;
    let answer = caller.await.expect("the caller is answered");
    as_administrator(&world, "GRANT INSERT ON payment_event TO oncepay_worker").await;
    payment_in(&world, &crate::support::id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    world.check().await;
}
