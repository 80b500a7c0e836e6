//! Reviews are opened while somebody reads the list of them, page after page.

use crate::support::{intent, order, pay, payment_in, world};
use serde_json::json;
use tests::World;

/// A payment that nobody but a person can decide, and its review.
async fn question(world: &World, key: &str) -> String {
    let order = order(world, key).await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let asked = pay(world, key, &intent(world, &order, "blind", "pm_lost")).await;
    payment_in(world, asked.text("id"), &["ManualReview"]).await.text("review").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_repeats_or_leaves_out_a_review_that_was_there() {
    let world = world().await;
    let mut opened = Vec::new();
    for key in ["k1", "k2", "k3"] {
        opened.push(question(&world, key).await);
    }
    let mut path = "/v1/reviews?limit=1".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = world.api.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let data = page.body["data"].as_array().expect("a list");
        assert_eq!(data.len(), 1, "{}", page.body);
        seen.push(data[0]["id"].as_str().expect("an id").to_owned());
        if seen.len() == 1 {
            opened.push(question(&world, "k4").await);
        }
        let next = page.body["next_cursor"].as_str();
        assert_eq!(page.body["has_more"], next.is_some());
        let Some(next) = next else { break };
        path = format!("/v1/reviews?limit=1&cursor={next}");
    }
    assert_eq!(seen, opened, "oldest first, the new one last");
    let all = world.api.get("/v1/reviews").await;
    assert_eq!(all.body["data"].as_array().map(Vec::len), Some(4));
    assert!(all.body["next_cursor"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_or_limit_that_is_none_of_ours_is_refused() {
    let world = world().await;
    for (query, field) in [("cursor=zz", "cursor"), ("limit=0", "limit"), ("limit=101", "limit")] {
        let answer = world.api.get(&format!("/v1/reviews?{query}")).await;
        assert_eq!((answer.status, answer.text("code")), (400, "invalid_input"), "{query}");
        assert_eq!(answer.text("field"), field);
    }
}
