//! A worker that sent a charge dies, and the next one has other settings: the account is not among
//! them. The payment is recorded, so this is no refusal.

use crate::owner;
use crate::support::{SETTLED, id_of, intent, order, order_in, payment_in, world};
use dev::ports::free_port;
use dev::process::{Child, Program};
use serde_json::json;
use temporalio_common::protos::temporal::api::workflow::v1::PendingActivityInfo;
use tests::World;
use tests::servers::servers;
use tests::settings::{DECISION_KEY, SECRET};
use tests::wait::until;

/// A worker that knows one account, which is not the payment's.
fn other_worker(world: &World) -> Child {
    let (_, folder) = servers().place().expect("a folder");
    let accounts = folder.join("accounts.json");
    let account = json!([{
        "account": "other", "secret": SECRET, "idempotent": false, "lookup": false,
        "refuses_known_reference": false, "grace_ms": 100, "call_limit_ms": 1_000,
    }]);
    std::fs::write(&accounts, account.to_string()).expect("written");
    let port = free_port().expect("a port");
    let worker = Program::new("worker", &servers().binaries.worker, folder.join("worker.log"))
        .env("ONCEPAY_DATABASE_URL", world.database_url("oncepay_worker"))
        .env("ONCEPAY_TEMPORAL_ADDRESS", servers().temporal.url())
        .env("ONCEPAY_TASK_QUEUE", &world.task_queue)
        .env("ONCEPAY_WORKER_LISTEN", format!("127.0.0.1:{port}"))
        .env("ONCEPAY_SANDBOX_URL", world.sandbox.url())
        .env("ONCEPAY_SANDBOX_ACCOUNTS_FILE", &accounts)
        .env("ONCEPAY_FULFILMENT_URL", world.sandbox.fulfilment_url())
        .env("ONCEPAY_DECISION_KEY", DECISION_KEY)
        .spawn()
        .expect("a worker starts");
    let ready = format!("http://127.0.0.1:{port}/readyz");
    worker.wait_until(SETTLED, || dev::http::is_ok(&ready)).expect("the worker is ready");
    worker
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_payment_is_not_refused_and_goes_on_where_the_account_is() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let (api, body) = (world.api.clone(), intent(&world, &order, "main", "pm_lost"));
    tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is executed", SETTLED, || async {
        (world.sandbox.truth().await.charges().len() == 1).then_some(())
    })
    .await;
    world.kill_workers();
    let other = tokio::task::block_in_place(|| other_worker(&world));
    let workflow_id = format!("payment/{}/k1", world.merchant);
    until("the other worker has tried", SETTLED, || async {
        let described = owner::describe(&world, &workflow_id).await;
        let tried = |a: &PendingActivityInfo| {
            a.last_failure.as_ref().is_some_and(|f| f.message.contains("not set up"))
        };
        let ended = described.workflow_execution_info.as_ref().is_some_and(|i| i.status != 1);
        (ended || described.pending_activities.iter().any(tried)).then_some(())
    })
    .await;
    other.kill_9();
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
