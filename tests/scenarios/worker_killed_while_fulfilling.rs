//! The worker dies after the merchant has got the request to hand the goods over, and before that
//! is written down.

use crate::support::{SETTLED, intent, order, order_in, world};
use serde_json::json;
use tests::wait::until;

#[tokio::test(flavor = "multi_thread")]
async fn the_goods_leave_once() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let fault = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("fulfil", json!({ "order": order }), 1, fault).await;
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    until("the merchant has the request", SETTLED, || async {
        (world.sandbox.truth().await.fulfilments().len() == 1).then_some(())
    })
    .await;
    world.kill_workers();
    assert_eq!(world.api.get(&format!("/v1/orders/{order}")).await.text("state"), "Fulfilling");
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    order_in(&world, &order, "Fulfilled").await;
    let truth = world.sandbox.truth().await;
    let asked = truth.fulfilments()[0]["times_received"].as_u64();
    assert!(asked >= Some(2), "the next worker asked again: {asked:?}");
    assert_eq!((truth.fulfilments().len(), truth.charges().len()), (1, 1));
    world.check().await;
}
