//! The longest call limit that may be set, and a channel that uses all of it without an answer.
//! The lookups still end, and a person is asked.

use crate::support::{id_of, intent, order, pay};
use serde_json::json;
use std::time::Duration;
use tests::wait::until;
use tests::{Setup, World};

/// One lookup that takes its whole limit, and the work around it.
const ONE_LOOKUP: Duration = Duration::from_secs(55);

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_without_an_answer_ends_before_temporal_gives_it_up() {
    let setup = Setup { call_limit_ms: 30_000, ladder_ms: "100", ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let broken = json!({ "kind": "error_after_commit", "status": 500 });
    world.sandbox.fault("charge", json!({}), 1, broken).await;
    let silent = json!({ "kind": "timeout_before_commit" });
    world.sandbox.fault("lookup", json!({}), 10, silent).await;
    pay(&world, "k1", &intent(&world, &order, "lookup-only", "pm_slow")).await;
    let path = format!("/v1/payment_intents/{}", id_of(&world, "k1"));
    until("a person is asked", ONE_LOOKUP, || async {
        (world.api.get(&path).await.text("state") == "ManualReview").then_some(())
    })
    .await;
    assert_eq!(world.sandbox.truth().await.count("lookup"), 1);
    world.check().await;
}
