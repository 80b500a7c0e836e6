//! A worker freezes after PostgreSQL has committed its claim and before it has sent anything. It
//! wakes when others have long taken it for dead.

use crate::owner;
use crate::support::{SETTLED, id_of, intent, order, payment_in, world};
use tests::World;
use tests::wait::until;

const LOCK: i64 = 4_242;

/// Makes a claim's commit wait for a lock that this session holds.
async fn hold_claims(world: &World) -> sqlx::pool::PoolConnection<sqlx::Postgres> {
    for sql in [
        "CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_advisory_xact_lock(4242); RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON payment \
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit()",
    ] {
        sqlx::query(sql).execute(&world.rows).await.expect(sql);
    }
    let mut holder = world.rows.acquire().await.expect("a session");
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(LOCK)
        .execute(&mut *holder)
        .await
        .expect("holds");
    holder
}

async fn is_true(world: &World, what: &str, sql: &'static str) {
    until(what, SETTLED, || async {
        let there: bool = sqlx::query_scalar(sql).fetch_one(&world.rows).await.expect("reads");
        there.then_some(())
    })
    .await;
}

/// Freezes the worker with its claim committed, until the claim is over and Temporal has given the
/// attempt up; then lets it go on.
async fn freeze_after_the_claim(world: &World, account: &str) {
    let order = order(world, "o1").await;
    let mut holder = hold_claims(world).await;
    let (api, body) = (world.api.clone(), intent(world, &order, account, "pm_ok"));
    tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    is_true(
        world,
        "the claim waits at its commit",
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
         AND wait_event = 'advisory')",
    )
    .await;
    world.workers[0].pause();
    sqlx::query("SELECT pg_advisory_unlock($1)")
        .bind(LOCK)
        .execute(&mut *holder)
        .await
        .expect("lets go");
    is_true(
        world,
        "the claim is over",
        "SELECT EXISTS (SELECT FROM payment WHERE send_before < clock_timestamp())",
    )
    .await;
    owner::tried_again(world, &format!("payment/{}/k1", world.merchant), "charge").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    world.workers[0].resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_sends_nothing_and_the_blind_account_is_known_not_to_have_been_charged() {
    let world = world().await;
    freeze_after_the_claim(&world, "blind").await;
    payment_in(&world, &id_of(&world, "k1"), &["Failed"]).await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_attempt_charges_once_or_not_at_all() {
    let world = world().await;
    freeze_after_the_claim(&world, "lookup-only").await;
    let payment = payment_in(&world, &id_of(&world, "k1"), &["Failed", "Persisted"]).await;
    let truth = world.sandbox.truth().await;
    let paid = usize::from(payment.text("state") == "Persisted");
    assert_eq!((truth.charges().len(), truth.count("charge")), (paid, paid), "{}", payment.body);
    world.check().await;
}
