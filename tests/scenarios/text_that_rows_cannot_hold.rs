//! PostgreSQL holds every text but the NUL character. A caller who sends one is told so.

use crate::support::world;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_coupon_with_a_nul_is_refused_and_is_no_failure_of_ours() {
    let world = world().await;
    let body = json!({
        "merchant": world.merchant, "items": [{ "sku": "tea", "quantity": 1 }],
        "coupon": "a\u{0}b",
    });
    let answer = world.api.post("/v1/orders", "o1", &body).await;
    assert!((400..500).contains(&answer.status), "{}: {}", answer.status, answer.body);
}
