//! A process, or a person with its password, writes what its role has no right to write.

use crate::support::{intent, order, order_in, pay, world};
use sqlx::{PgPool, Row};
use tests::World;

/// The words with which PostgreSQL refuses a statement under a role.
async fn refused(world: &World, role: &str, sql: &'static str) -> String {
    let pool = PgPool::connect(&world.database_url(role)).await.expect("connects");
    let error = sqlx::query(sql).execute(&pool).await.expect_err(sql);
    error.to_string()
}

async fn paid_order(world: &World) {
    let order = order(world, "o1").await;
    pay(world, "k1", &intent(world, &order, "main", "pm_ok")).await;
    order_in(world, &order, "Fulfilled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_append_only_for_every_process() {
    let world = world().await;
    paid_order(&world).await;
    for role in ["oncepay_worker", "oncepay_api"] {
        for sql in [
            "UPDATE money_fact SET amount = 1",
            "DELETE FROM money_fact",
            "UPDATE payment_event SET to_state = 'Failed'",
            "DELETE FROM payment_event",
            "UPDATE order_event SET actor = 'x'",
            "DELETE FROM order_event",
            "DELETE FROM channel_exchange",
            "DELETE FROM payment",
            "UPDATE decision SET operator = 'mallory'",
            "DELETE FROM decision",
            "INSERT INTO operator (name, token_sha256) VALUES ('mallory', sha256('x'))",
            "UPDATE operator SET disabled_at = NULL",
            "TRUNCATE outbox",
        ] {
            let words = refused(&world, role, sql).await;
            assert!(words.contains("permission denied"), "{role}: {sql}: {words}");
        }
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_writes_a_new_order_and_nothing_else() {
    let world = world().await;
    paid_order(&world).await;
    for sql in [
        "UPDATE customer_order SET state = 'Paid'",
        "UPDATE payment SET state = 'Created'",
        "INSERT INTO payment_event (id, payment_id, sequence, kind, from_state, to_state, actor, \
         cause) SELECT 'evt_x', id, 99, 'x', 'x', 'x', 'x', '{}' FROM payment",
        "INSERT INTO order_event (order_id, sequence, from_state, to_state, actor, cause) \
         SELECT id, 99, 'x', 'x', 'x', '{}' FROM customer_order",
        "UPDATE product SET sold = 0",
        "UPDATE product SET unit_price = 1",
        "UPDATE review SET state = 'Decided'",
    ] {
        let words = refused(&world, "oncepay_api", sql).await;
        assert!(words.contains("permission denied"), "{sql}: {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn not_even_the_worker_breaks_a_rule_about_money() {
    let world = world().await;
    paid_order(&world).await;
    for (sql, rule) in [
        ("UPDATE customer_order SET paid_by = NULL, state = 'Closed'", "set once"),
        ("UPDATE customer_order SET payable = 1", "customer_order_sum"),
        ("UPDATE payment SET transaction_id = NULL", "payment_money_with_state"),
        ("UPDATE payment SET permits_used = 4", "payment_permits_limit"),
        ("UPDATE payment SET state = 'Failed', failure_class = 'declined'", "payment_"),
        ("UPDATE product SET reserved = -1", "product_reserved_not_negative"),
    ] {
        let words = refused(&world, "oncepay_worker", sql).await;
        assert!(words.contains(rule), "{sql}: {words}");
    }
    let ended = "UPDATE payment SET live = false";
    sqlx::query(ended).execute(&world.rows).await.expect("a payment may end");
    let words = refused(&world, "oncepay_worker", "UPDATE payment SET live = true").await;
    assert!(words.contains("may never call the channel again"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_live_payments_of_one_order_cannot_exist() {
    let world = world().await;
    paid_order(&world).await;
    let words = refused(
        &world,
        "oncepay_worker",
        "INSERT INTO payment (id, merchant_id, idempotency_key, order_id, amount, currency, \
         channel, account, payment_method, reference, fingerprint, state, live, version, \
         start_before) SELECT 'pay_' || repeat('z', 26), merchant_id, 'other', order_id, amount, \
         currency, channel, account, payment_method, repeat('z', 26), fingerprint, 'Created', \
         true, 0, now() FROM payment",
    )
    .await;
    assert!(words.contains("payment_one_live_per_order"), "{words}");
    let count = sqlx::query("SELECT count(*) AS n FROM payment").fetch_one(&world.rows).await;
    assert_eq!(count.expect("counts").get::<i64, _>("n"), 1);
}
