//! The same request, a hundred times at the same moment, and once more when all is over.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use std::collections::BTreeSet;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_repeats_are_one_payment() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_ok");
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let (api, body) = (world.api.clone(), body.clone());
        callers.spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    }
    let mut ids = BTreeSet::new();
    while let Some(answer) = callers.join_next().await {
        let answer = answer.expect("no caller panics");
        assert!(matches!(answer.status, 200 | 202), "{}", answer.body);
        ids.insert(answer.text("id").to_owned());
    }
    assert_eq!(ids.len(), 1);
    order_in(&world, &order, "Fulfilled").await;
    let repeat = pay(&world, "k1", &body).await;
    assert!(repeat.replayed && repeat.status == 200, "{}", repeat.body);
    assert_eq!(repeat.text("state"), "Persisted");
    let payment = payment_in(&world, repeat.text("id"), &["Persisted"]).await;
    assert_eq!(payment.text("order_state"), "Fulfilled");
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}
