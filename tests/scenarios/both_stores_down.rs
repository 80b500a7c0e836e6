//! PostgreSQL and Temporal are away at the same time, and come back.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay};
use serde_json::json;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_refused_and_none_of_them_starts_anything_later() {
    let setup = Setup { own_postgres: true, own_temporal: true, ..Setup::default() };
    let mut world = World::start(setup).await;
    let order_id = order(&world, "o1").await;
    let review = format!("rev_{}", "a".repeat(26));
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.stop()).expect("PostgreSQL stops");
    world.temporal.as_ref().expect("a Temporal of its own").kill_9();

    let tea = json!({ "merchant": world.merchant, "items": [{ "sku": "tea", "quantity": 1 }] });
    let decision = json!({
        "version": 1, "reason": "x", "choice": { "kind": "confirm_not_paid", "evidence": "x" },
    });
    let (payment, body) = (id_of(&world, "k1"), intent(&world, &order_id, "main", "pm_ok"));
    let posts = [
        ("/v1/orders".to_owned(), "o2", tea),
        ("/v1/payment_intents".to_owned(), "k1", body.clone()),
        (format!("/v1/reviews/{review}/decisions"), "d1", decision),
        (format!("/v1/payment_intents/{payment}/resume"), "r1", json!({})),
    ];
    // Twice each, as callers that do not give up do.
    for (path, key, body) in posts.iter().chain(&posts) {
        let refused = world.api.post_as(path, key, body, Some(ALICE)).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.body);
    }
    for path in [
        format!("/v1/payment_intents/{payment}"),
        format!("/v1/payment_intents/{payment}/explain"),
        format!("/v1/orders/{order_id}/trace"),
        "/v1/reviews".to_owned(),
    ] {
        let refused = world.api.get(&path).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.body);
    }

    let temporal = world.temporal.as_mut().expect("a Temporal of its own");
    tokio::task::block_in_place(|| temporal.restart()).expect("Temporal starts");
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.restart()).expect("PostgreSQL starts");
    // Another payment is taken from start to end: whatever the refused ones left behind has had
    // its time as well.
    let other = order(&world, "o3").await;
    until("payments are taken again", SETTLED, || async {
        let paid = pay(&world, "k3", &intent(&world, &other, "main", "pm_ok")).await;
        (paid.text("state") == "Persisted").then_some(())
    })
    .await;
    order_in(&world, &other, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (1, 1), "only the new one");
    let nothing = world.api.get(&format!("/v1/payment_intents/{payment}")).await;
    assert_eq!((nothing.status, nothing.text("code")), (404, "payment_not_found"));
    // The refusal bound nothing: the same key pays now.
    let paid = pay(&world, "k1", &body).await;
    assert_eq!((paid.status, paid.text("state"), paid.replayed), (200, "Persisted", false));
    order_in(&world, &order_id, "Fulfilled").await;
    world.check().await;
}
