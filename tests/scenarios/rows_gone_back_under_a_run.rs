//! PostgreSQL comes back from a backup that has a payment's row as it was before the money, while
//! the payment's run knows of the money and waits for the merchant.

use crate::support::{SETTLED, intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::wait::until;

const MOST_EVENTS: i64 = 200;

const AN_ORDER_THAT_WAITS: [&str; 3] = [
    "UPDATE customer_order SET state = 'AwaitingPayment', paid_by = NULL, version = 1",
    "DELETE FROM order_event",
    "UPDATE product SET reserved = reserved + 1, sold = sold - 1",
];
const A_CHARGE_UNDER_WAY: [&str; 5] = [
    "DELETE FROM channel_exchange",
    "DELETE FROM money_fact",
    "DELETE FROM payment_event WHERE sequence > 1",
    "DELETE FROM outbox WHERE sequence > 1",
    "UPDATE payment SET state = 'Processing', version = 1, effect = NULL,
            transaction_id = NULL, transaction_amount = NULL, transaction_currency = NULL",
];
const NO_PAYMENT: [&str; 5] = [
    "DELETE FROM channel_exchange",
    "DELETE FROM money_fact",
    "DELETE FROM payment_event",
    "DELETE FROM outbox",
    "DELETE FROM payment",
];

/// While the merchant does not answer, the rows become what the statements make of them.
async fn gone_back(account: &str, statements: &[&[&'static str]]) {
    let world = world().await;
    let order = order(&world, "o1").await;
    let away = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("fulfil", json!({}), 3, away).await;
    let answer = pay(&world, "k1", &intent(&world, &order, account, "pm_ok")).await;
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    let mut backup = world.rows.begin().await.expect("begins");
    let quietly: &[&str] = &["SET LOCAL session_replication_role = replica"];
    for sql in [quietly].iter().chain(statements).copied().flatten() {
        sqlx::query(*sql).execute(&mut *backup).await.expect("the backup is older");
    }
    backup.commit().await.expect("commits");
    let id = answer.text("workflow_id").to_owned();
    let length = until("the run has ended", SETTLED, || async {
        let info = crate::owner::describe(&world, &id).await.workflow_execution_info?;
        let spins = info.history_length > MOST_EVENTS;
        (info.close_time.is_some() || spins).then_some(info.history_length)
    })
    .await;
    assert!(length <= MOST_EVENTS, "it spins: {length} events");
    payment_in(&world, answer.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.fulfilments().len()), (1, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_goes_on_from_the_row_and_its_money_is_written_down_again() {
    gone_back("main", &[&AN_ORDER_THAT_WAITS, &A_CHARGE_UNDER_WAY]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_where_the_channel_cannot_be_asked() {
    gone_back("blind", &[&AN_ORDER_THAT_WAITS, &A_CHARGE_UNDER_WAY]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_where_the_payment_is_gone_before_its_goods_left() {
    gone_back("main", &[&AN_ORDER_THAT_WAITS, &NO_PAYMENT]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_where_it_is_gone_and_the_channel_cannot_be_asked() {
    gone_back("blind", &[&AN_ORDER_THAT_WAITS, &NO_PAYMENT]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_its_order_has_already_is_no_surplus() {
    gone_back("main", &[&NO_PAYMENT]).await;
}
