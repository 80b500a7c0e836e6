//! The channel refuses a charge, and its object can still be paid. That is no decline before the
//! object is closed: else a payer could pay an order twice.

use crate::support::{intent, order, order_in, pay, payment_in};
use serde_json::{Value, json};
use std::time::Duration;
use tests::wait::until;
use tests::{Setup, World};

const PATIENCE: Duration = Duration::from_secs(20);

/// Time for a charge and a close one after the other, also where the machine is slow.
const LONG_MS: u64 = 10_000;

/// A world where the next charge of `pm_poor` is refused and stays payable, and the close that
/// follows meets this fault.
async fn refusing(call_limit_ms: u64, close: Option<Value>) -> (World, String) {
    let world = World::start(Setup { call_limit_ms, ..Setup::default() }).await;
    let order = order(&world, "o1").await;
    let method = json!({ "payment_method": "pm_poor" });
    let stays = json!({ "kind": "stays_payable" });
    world.sandbox.fault("charge", method.clone(), 1, stays).await;
    if let Some(fault) = close {
        world.sandbox.fault("close", method, 1, fault).await;
    }
    (world, order)
}

async fn poor(world: &World, order: &str, account: &str) -> tests::api::Answer {
    pay(world, "k1", &intent(world, order, account, "pm_poor")).await
}

/// Waits until the channel has an object in this status, and gives its reference.
async fn object_in(world: &World, status: &str) -> String {
    until(&format!("an object is {status}"), PATIENCE, || async {
        let truth = world.sandbox.truth().await;
        let object = truth.objects().iter().find(|object| object["status"] == status)?;
        object["reference"].as_str().map(str::to_owned)
    })
    .await
}

/// Each request to the channel on record, with its outcome, in order.
async fn exchanges(world: &World) -> Vec<(String, String)> {
    sqlx::query_as("SELECT operation, outcome FROM channel_exchange ORDER BY started_at, id")
        .fetch_all(&world.rows)
        .await
        .expect("reads")
}

async fn another_key_pays(world: &World, order: &str) {
    order_in(world, order, "AwaitingPayment").await;
    let again = pay(world, "k2", &intent(world, order, "main", "pm_ok")).await;
    payment_in(world, again.text("id"), &["Persisted"]).await;
    order_in(world, order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 2));
    world.check().await;
}

/// The late payment is this payment's money, and the goods leave once.
async fn this_payment_pays(world: &World, order: &str, id: &str) {
    payment_in(world, id, &["Persisted"]).await;
    order_in(world, order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_closed_and_then_declined_and_another_key_pays() {
    for account in ["main", "lookup-only", "blind"] {
        let (world, order) = refusing(LONG_MS, None).await;
        let failed = poor(&world, &order, account).await;
        let said = (failed.text("state"), failed.text("failure"));
        assert_eq!(said, ("Failed", "declined"), "{}", failed.body);
        object_in(&world, "closed").await;
        let truth = world.sandbox.truth().await;
        assert_eq!((truth.count("close"), truth.count("lookup")), (1, 0));
        let record = [("charge", "still_payable"), ("close", "closed")];
        assert_eq!(exchanges(&world).await, record.map(|(o, w)| (o.to_owned(), w.to_owned())));
        another_key_pays(&world, &order).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_whose_answer_is_lost_is_found_by_lookup() {
    let lost = json!({ "kind": "timeout_after_commit" });
    let (world, order) = refusing(2_000, Some(lost)).await;
    let answer = poor(&world, &order, "lookup-only").await;
    let ended = payment_in(&world, answer.text("id"), &["Closed", "Failed"]).await;
    assert_eq!(ended.text("state"), "Closed", "{}", ended.body);
    let kinds: Vec<String> = sqlx::query_scalar("SELECT kind FROM payment_event ORDER BY sequence")
        .fetch_all(&world.rows)
        .await
        .expect("reads");
    assert!(kinds.contains(&"answer_lost".to_owned()), "it was Unknown in between: {kinds:?}");
    assert_eq!(world.sandbox.truth().await.count("close"), 1);
    another_key_pays(&world, &order).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_pays_before_the_close_has_paid() {
    let delay = json!({ "kind": "delay", "ms": 2_000 });
    let (world, order) = refusing(LONG_MS, Some(delay)).await;
    let payer = async {
        let reference = object_in(&world, "open").await;
        world.sandbox.pay("main", &reference).await;
    };
    let (answer, ()) = tokio::join!(poor(&world, &order, "main"), payer);
    this_payment_pays(&world, &order, answer.text("id")).await;
    assert_eq!(world.sandbox.truth().await.count("lookup"), 0, "the close itself told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_pays_after_a_lost_close_is_found_by_lookup() {
    let lost = json!({ "kind": "error_before_commit" });
    let (world, order) = refusing(LONG_MS, Some(lost.clone())).await;
    // The close that follows the first lookup is lost as well.
    let method = json!({ "payment_method": "pm_poor" });
    world.sandbox.fault("close", method, 1, lost).await;
    let answer = poor(&world, &order, "lookup-only").await;
    let reference = object_in(&world, "open").await;
    world.sandbox.pay("lookup-only", &reference).await;
    this_payment_pays(&world, &order, answer.text("id")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_cannot_close_never_calls_it_declined() {
    let (world, order) = refusing(LONG_MS, None).await;
    let answer = poor(&world, &order, "unclosable").await;
    let reference = object_in(&world, "open").await;
    let open = payment_in(&world, answer.text("id"), &["Unknown", "Failed"]).await;
    assert_eq!(open.text("state"), "Unknown", "{}", open.body);
    assert_eq!(world.sandbox.truth().await.count("close"), 0);
    world.sandbox.pay("unclosable", &reference).await;
    this_payment_pays(&world, &order, answer.text("id")).await;
}
