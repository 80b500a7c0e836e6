//! Workers stop for longer than a heartbeat may take, while they wait for slow answers: Temporal
//! takes them for dead, gives their charges to others, and they come back.

use crate::owner::describe;
use crate::support::{SETTLED, id_of, intent, order, payment_in};
use serde_json::json;
use tests::wait::until;
use tests::{Setup, World};

const PAYMENTS: usize = 20;
/// Each round stops one worker, in turn, with its share of the payments under way.
const ROUNDS: usize = 4;
const ACCOUNTS: [&str; 3] = ["main", "lookup-only", "careless"];

async fn start(world: &World, number: usize) -> String {
    let key = format!("k{number}");
    let order = order(world, &key).await;
    let mut input = intent(world, &order, ACCOUNTS[number % ACCOUNTS.len()], "pm_slow");
    input["key"] = json!(key);
    world.start_payment(&input).await
}

/// How many charges Temporal has given to another attempt, and whether all have ended.
async fn progress(world: &World, ids: &[String]) -> (usize, bool) {
    let (mut tried_again, mut ended) = (0, true);
    for id in ids {
        let described = describe(world, id).await;
        ended &= described.workflow_execution_info.is_some_and(|info| info.close_time.is_some());
        tried_again += usize::from(described.pending_activities.iter().any(|a| a.attempt >= 2));
    }
    (tried_again, ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_payment_is_charged_once() {
    let setup = Setup { workers: 2, call_limit_ms: 6_000, ..Setup::default() };
    let world = World::start(setup).await;
    let slow = json!({ "kind": "pause_before_commit", "ms": 1_500 });
    let times = u32::try_from(PAYMENTS).expect("few");
    world.sandbox.fault("charge", json!({}), times, slow).await;
    let mut spurious = 0;
    for round in 0..ROUNDS {
        let numbers = round * PAYMENTS / ROUNDS..(round + 1) * PAYMENTS / ROUNDS;
        let sent = world.sandbox.truth().await.count("charge");
        let ids = futures::future::join_all(numbers.map(|number| start(&world, number))).await;
        until("the charges are on their way", SETTLED, || async {
            (world.sandbox.truth().await.count("charge") >= sent + ids.len()).then_some(())
        })
        .await;
        let worker = &world.workers[round % world.workers.len()];
        worker.pause();
        spurious += until("a heartbeat is missed, or nothing waits for one", SETTLED, || async {
            let (tried_again, ended) = progress(&world, &ids).await;
            (tried_again > 0 || ended).then_some(tried_again)
        })
        .await;
        worker.resume();
    }
    assert!(spurious > 0, "no attempt was taken for dead");
    for number in 0..PAYMENTS {
        payment_in(&world, &id_of(&world, &format!("k{number}")), &["Persisted"]).await;
    }
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (PAYMENTS, PAYMENTS));
    world.check().await;
}
