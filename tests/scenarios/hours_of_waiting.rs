//! The default ladder, from its first second to a person's review and the hourly lookups in it, on
//! a server whose time jumps over waits.

use crate::support::SETTLED;
use domain::ids::IdempotencyKey;
use domain::recovery::DEFAULT_LADDER_MS;
use domain::{MerchantId, PaymentId, Sku};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::orders::{NewOrder, Placed};
use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_common::protos::temporal::api::testservice::v1::{
    LockTimeSkippingRequest, UnlockTimeSkippingRequest,
};
use tests::wait::until;
use tests::{Setup, World};

const LADDER: &str = "1000,3000,10000,30000,300000,1800000";
const HOUR_MS: i64 = 3_600_000;

async fn world() -> World {
    let setup = Setup { time_skips: true, api: false, ladder_ms: LADDER, ..Setup::default() };
    World::start(setup).await
}

async fn start(world: &World, lookups_that_fail: u32) -> (String, PaymentId) {
    let merchant = MerchantId::parse(world.merchant.clone()).expect("valid");
    let key = IdempotencyKey::parse("k1").expect("valid");
    let items = BTreeMap::from([(Sku::parse("tea").expect("valid"), 1)]);
    let order = NewOrder { merchant: merchant.clone(), key: key.clone(), items, coupon: None };
    let placed = world.store.place_order(&order).await.expect("places an order");
    let Placed::Created(order) = placed else { panic!("not created: {placed:?}") };
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let dark = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", json!({}), lookups_that_fail, dark).await;
    let input: Value = json!({
        "merchant": world.merchant, "key": "k1", "order": order, "amount": 1999,
        "currency": "CNY", "channel": "sandbox", "account": "main", "payment_method": "pm_ok",
    });
    let id = world.start_payment(&input).await;
    (id, PaymentId::of(&merchant, &key))
}

async fn let_time_skip(world: &World) {
    let mut time = world.client.connection().test_service();
    let request = tonic::Request::new(UnlockTimeSkippingRequest {});
    time.unlock_time_skipping(request).await.expect("time skips");
}

async fn hold_time(world: &World) {
    let mut time = world.client.connection().test_service();
    let request = tonic::Request::new(LockTimeSkippingRequest {});
    time.lock_time_skipping(request).await.expect("time runs");
}

async fn state_is(world: &World, id: &PaymentId, state: &str) {
    until(&format!("{id} is {state}"), SETTLED, || async {
        let record = world.store.read_payment(id).await.expect("reads")?;
        (record.view.state.name() == state).then_some(())
    })
    .await;
}

/// The waits that the workflow asked Temporal for, in order.
async fn waits_ms(world: &World, workflow_id: &str) -> Vec<i64> {
    let handle = world.client.get_workflow_handle::<UntypedWorkflow>(workflow_id.to_owned());
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let events = history.into_events().await.expect("a history");
    let timers = events.into_iter().filter_map(|event| match event.attributes {
        Some(Attributes::TimerStartedEventAttributes(timer)) => timer.start_to_fire_timeout,
        _ => None,
    });
    timers.map(|wait| wait.seconds * 1_000 + i64::from(wait.nanos) / 1_000_000).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_ladder_takes_its_six_rungs_and_then_asks_a_person() {
    let world = world().await;
    let (workflow_id, payment) = start(&world, 1_000).await;
    state_is(&world, &payment, "Unknown").await;
    let_time_skip(&world).await;
    state_is(&world, &payment, "ManualReview").await;
    hold_time(&world).await;
    let waits = waits_ms(&world, &workflow_id).await;
    let ladder: Vec<i64> =
        DEFAULT_LADDER_MS.iter().map(|wait| i64::try_from(*wait).expect("small")).collect();
    assert_eq!(waits[..6], ladder, "{waits:?}");
    assert!(waits[6..].iter().all(|wait| *wait == HOUR_MS), "{waits:?}");
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.count("charge")), (1, 1));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_in_review_finds_the_money_and_ends_the_question() {
    let world = world().await;
    let (workflow_id, payment) = start(&world, 8).await;
    state_is(&world, &payment, "Unknown").await;
    let_time_skip(&world).await;
    state_is(&world, &payment, "Persisted").await;
    hold_time(&world).await;
    let waits = waits_ms(&world, &workflow_id).await;
    assert_eq!(waits[6..], [HOUR_MS; 3], "{waits:?}");
    let reviews: i64 = sqlx::query_scalar("SELECT count(*) FROM review WHERE state = 'Open'")
        .fetch_one(&world.rows)
        .await
        .expect("reads");
    assert_eq!(reviews, 0);
    until("the order is fulfilled", SETTLED, || async {
        let record = world.store.read_payment(&payment).await.expect("reads")?;
        (record.view.order_state == domain::OrderState::Fulfilled).then_some(())
    })
    .await;
    world.check().await;
}
