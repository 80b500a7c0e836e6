//! PostgreSQL comes back from a backup that is older than the payment: while its workflow still
//! asks the channel what became of the charge, or after its end.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in};
use serde_json::json;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn the_row_is_made_again_and_the_money_found() {
    let world = World::start(Setup { ladder_ms: "4000,500,500,500", ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_lost")).await;
    let id = id_of(&world, "k1");
    payment_in(&world, &id, &["Unknown"]).await;
    for table in ["payment_event", "channel_exchange", "outbox", "review", "payment"] {
        let sql = sqlx::AssertSqlSafe(format!("DELETE FROM {table}"));
        sqlx::query(sql).execute(&world.rows).await.expect("the backup is older");
    }
    until("the row is there again", SETTLED, || async {
        let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM payment)")
            .fetch_one(&world.rows)
            .await
            .expect("reads");
        there.then_some(())
    })
    .await;
    payment_in(&world, &id, &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_had_ended_is_looked_up_when_its_owner_is_woken() {
    let world = World::start(Setup::default()).await;
    let order = order(&world, "o1").await;
    // An account that would charge the same reference again.
    pay(&world, "k1", &intent(&world, &order, "careless", "pm_ok")).await;
    let id = id_of(&world, "k1");
    payment_in(&world, &id, &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let mut backup = world.rows.begin().await.expect("begins");
    for sql in [
        "SET LOCAL session_replication_role = replica",
        "UPDATE customer_order SET state = 'AwaitingPayment', paid_by = NULL, version = 1",
        "DELETE FROM order_event",
        "UPDATE product SET reserved = reserved + 1, sold = sold - 1",
        "DELETE FROM payment_event",
        "DELETE FROM channel_exchange",
        "DELETE FROM money_fact",
        "DELETE FROM outbox",
        "DELETE FROM payment",
    ] {
        sqlx::query(sql).execute(&mut *backup).await.expect("the backup is older");
    }
    backup.commit().await.expect("commits");
    let path = format!("/v1/payment_intents/{id}/resume");
    until("visibility knows the payment", SETTLED, || async {
        let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
        (woken.status == 202).then_some(())
    })
    .await;
    payment_in(&world, &id, &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (1, 1));
    assert_eq!(truth.fulfilments().len(), 1);
    world.check().await;
}
