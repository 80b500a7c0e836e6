//! A worker freezes (a paused machine, a network that swallows packets) in the middle of a
//! transaction. PostgreSQL still has its session, and the session still has its locks.

use crate::support::{SETTLED, intent, order, world};
use std::time::Duration;
use tests::World;
use tests::wait::until;

/// Longer than any transaction of ours may rest.
const FREE_AGAIN: Duration = Duration::from_secs(30);

/// Waits until a session of the world's database is as described.
async fn session(world: &World, what: &str, condition: &'static str) {
    until(what, SETTLED, || async {
        let there: bool =
            sqlx::query_scalar(condition).fetch_one(&world.rows).await.expect("reads");
        there.then_some(())
    })
    .await;
}

const WAITS_FOR_A_LOCK: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity \
    WHERE datname = current_database() AND usename = 'oncepay_worker' \
    AND wait_event_type = 'Lock')";
const RESTS_IN_A_TRANSACTION: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity \
    WHERE datname = current_database() AND usename = 'oncepay_worker' \
    AND state = 'idle in transaction')";

/// Freezes the worker where it holds the row that `lock` locks.
async fn freeze_holding(world: &World, order: &str, lock: &'static str) {
    let mut held = world.rows.begin().await.expect("begins");
    sqlx::query(lock).execute(&mut *held).await.expect("locks");
    let (api, body) = (world.api.clone(), intent(world, order, "main", "pm_ok"));
    tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    session(world, "the worker waits for the row", WAITS_FOR_A_LOCK).await;
    world.workers[0].pause();
    held.rollback().await.expect("lets go");
    session(world, "the frozen worker has the row", RESTS_IN_A_TRANSACTION).await;
}

async fn becomes_free(world: &World, lock: &'static str) {
    until("the row is free for others", FREE_AGAIN, || async {
        let mut tx = world.rows.begin().await.expect("begins");
        sqlx::query(lock).execute(&mut *tx).await.ok().map(|_| ())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_hold_its_order_for_ever() {
    let world = world().await;
    let order = order(&world, "o1").await;
    freeze_holding(&world, &order, "SELECT FROM customer_order FOR UPDATE").await;
    becomes_free(&world, "SELECT FROM customer_order FOR UPDATE NOWAIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_keep_a_product_from_all_other_customers() {
    let world = world().await;
    let order = order(&world, "o1").await;
    freeze_holding(&world, &order, "SELECT FROM product FOR UPDATE").await;
    becomes_free(&world, "SELECT FROM product FOR UPDATE NOWAIT").await;
}
