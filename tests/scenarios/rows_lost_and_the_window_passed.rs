//! PostgreSQL comes back from a backup that is older than a paid payment, and later than the time
//! in which its channel would give the first answer again.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in};
use serde_json::json;
use std::time::{Duration, Instant};
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

const WINDOW: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn the_request_is_not_sent_again_because_nobody_knows_when_it_was_first() {
    let setup = Setup { resend_window_s: WINDOW.as_secs(), ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "resend-only", "pm_ok")).await;
    let charged = Instant::now();
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
    until("the window has passed", SETTLED, || async {
        (charged.elapsed() > WINDOW).then_some(())
    })
    .await;
    let path = format!("/v1/payment_intents/{id}/resume");
    until("visibility knows the payment", SETTLED, || async {
        let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
        (woken.status == 202).then_some(())
    })
    .await;
    payment_in(&world, &id, &["ManualReview", "Persisted"]).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (1, 1));
    payment_in(&world, &id, &["ManualReview"]).await;
}
