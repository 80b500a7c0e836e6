//! Fifty callers, each with a key of its own, pay one order at the same moment.

use crate::support::{SETTLED, intent, order, order_in, world};
use std::collections::BTreeMap;
use tests::wait::until;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn one_of_fifty_callers_pays_the_order() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let body = intent(&world, &order, "main", "pm_ok");
    let mut callers = JoinSet::new();
    for number in 0..50 {
        let (api, body) = (world.api.clone(), body.clone());
        // Whoever is told that Temporal is too busy comes again, as the answer asks.
        callers.spawn(async move {
            until("a caller is answered", SETTLED, || async {
                let answer = api.post("/v1/payment_intents", &format!("k{number}"), &body).await;
                (answer.status != 503).then_some(answer)
            })
            .await
        });
    }
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    while let Some(answer) = callers.join_next().await {
        let answer = answer.expect("no caller panics");
        let said = if answer.status < 300 { answer.text("state") } else { answer.text("code") };
        *outcomes.entry(said.to_owned()).or_default() += 1;
    }
    let refused =
        outcomes.get("order_busy").unwrap_or(&0) + outcomes.get("order_not_payable").unwrap_or(&0);
    // Told after 3 s to ask again: nothing was recorded yet, or the charge was on its way.
    let waiting = outcomes.get("Created").unwrap_or(&0) + outcomes.get("Processing").unwrap_or(&0);
    let paid = outcomes.get("Persisted").unwrap_or(&0);
    assert!(*paid <= 1 && paid + refused + waiting == 50, "{outcomes:?}");
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1), "{outcomes:?}");
    world.check().await;
}
