//! What operators find by search attributes in the Temporal UI.

use crate::support::{SETTLED, id_of, intent, order, pay, payment_in, run_ended, world};
use serde_json::{Value, json};
use tests::World;
use tests::wait::until;

/// The search attributes of a payment's newest run.
async fn attributes(world: &World, key: &str) -> Value {
    let id = format!("payment/{}/{key}", world.merchant);
    let info = crate::owner::describe(world, &id).await.workflow_execution_info;
    let fields = info.and_then(|info| info.search_attributes).unwrap_or_default().indexed_fields;
    let value = |data: &[u8]| serde_json::from_slice::<Value>(data).expect("JSON");
    fields.into_iter().map(|(name, payload)| (name, value(&payload.data))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payment_is_found_by_its_status() {
    let world = world().await;
    let order = order(&world, "o1").await;
    pay(&world, "k1", &intent(&world, &order, "main", "pm_decline")).await;
    run_ended(&world, &format!("payment/{}/k1", world.merchant)).await;
    let told = attributes(&world, "k1").await;
    assert_eq!(told["PaymentStatus"], "Failed", "{told}");
    assert_eq!((&told["NeedsReview"], &told["AmountMinor"]), (&json!(false), &json!(1999)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_needs_a_person_says_so_until_it_does_not() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    // Whoever starts a workflow by themselves sets no attribute.
    let mut input = intent(&world, &order, "blind", "pm_ok");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    payment_in(&world, &id_of(&world, "k1"), &["ManualReview"]).await;
    let told = until("the review is told", SETTLED, || async {
        let told = attributes(&world, "k1").await;
        (told["NeedsReview"] == true).then_some(told)
    })
    .await;
    assert_eq!(told["PaymentStatus"], "ManualReview", "{told}");
    assert_eq!(told["PaymentId"], id_of(&world, "k1"), "{told}");
    assert_eq!(told["OrderId"], order, "{told}");
    crate::owner::cancel(&world, &format!("payment/{}/k1", world.merchant)).await;
    payment_in(&world, &id_of(&world, "k1"), &["Persisted"]).await;
    run_ended(&world, &format!("payment/{}/k1", world.merchant)).await;
    let told = attributes(&world, "k1").await;
    assert_eq!(told["NeedsReview"], false, "{told}");
    let transaction = world.sandbox.truth().await.charges()[0]["transaction"].clone();
    assert_eq!(told["ChannelTransaction"], transaction, "{told}");
}
