//! An operator uses one Idempotency-Key for decisions about two reviews.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::json;
use tests::settings::ALICE;

#[tokio::test(flavor = "multi_thread")]
async fn the_second_is_refused_as_a_conflict_and_can_be_made_under_its_own_key() {
    let world = world().await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 2, lost).await;
    let mut asked = Vec::new();
    for (order_key, key) in [("o1", "k1"), ("o2", "k2")] {
        let order = order(&world, order_key).await;
        let answer = pay(&world, key, &intent(&world, &order, "blind", "pm_lost")).await;
        let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
        let taken = world.sandbox.truth().await;
        let transaction = taken.charges().last().expect("a charge")["transaction"].clone();
        asked.push((order, payment.text("review").to_owned(), transaction));
    }
    let mut said = Vec::new();
    for ((_, review, transaction), key) in [(&asked[0], "d1"), (&asked[1], "d1"), (&asked[1], "d2")]
    {
        let body = json!({
            "version": 1, "reason": "seen on the statement",
            "choice": { "kind": "confirm_paid", "transaction": transaction, "amount": 1999,
                        "currency": "CNY", "evidence": "line 7" },
        });
        let path = format!("/v1/reviews/{review}/decisions");
        said.push(world.api.post_as(&path, key, &body, Some(ALICE)).await);
    }
    assert_eq!(said[0].status, 200, "{}", said[0].body);
    assert!((400..500).contains(&said[1].status), "{}: {}", said[1].status, said[1].body);
    assert_eq!(said[2].status, 200, "{}", said[2].body);
    for (order, _, _) in &asked {
        order_in(&world, order, "Fulfilled").await;
    }
    world.check().await;
}
