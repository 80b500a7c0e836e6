//! Every path of a payment is gone once undisturbed, which tells the activities that run on it.
//! Then it is gone again for each of them: with that activity run twice, failed before or after its
//! work, or panicking after it, and with the workflow terminated, reset or cancelled at that point.
//! Whatever happens, the payment comes to rest where the undisturbed one did, and the laws hold.

mod disturbance;

use crate::histories::replay;
use crate::paths::{self, PATHS, Path, Payment};
use disturbance::{Case, Disturbance, Plan};
use futures::StreamExt;
use std::sync::Arc;
use temporalio_client::WorkflowHistory;
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;
use temporalio_common::protos::temporal::api::workflowservice::v1 as requests;
use tests::World;
use tests::inside::CACHED_WORKFLOWS;

/// Payments under way at the same time.
const AT_ONCE: usize = 16;
/// At most one of so many disturbances may not be met.
const MISSED_SHARE: usize = 10;
/// All of a history of ours fits into one page.
const MAX_EVENTS: i32 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn every_payment_comes_to_its_end_whatever_happens_to_one_activity() {
    let world = paths::world(None).await;
    let plan = Arc::new(Plan::default());
    let worker = world.work_inside(plan.clone(), CACHED_WORKFLOWS);
    let undisturbed = futures::future::join_all(PATHS.iter().map(|path| go(&world, &plan, path)));
    let cases: Vec<Case> = undisturbed.await.into_iter().flatten().collect();
    let most = cases.len() / MISSED_SHARE;
    let run = |case| disturbed(&world, &plan, case);
    let missed = futures::stream::iter(cases).map(run).buffer_unordered(AT_ONCE);
    let missed: Vec<String> = missed.filter_map(std::future::ready).collect().await;
    plan.is_idle().await;
    println!("{} runs, {} disturbances never met: {missed:?}", plan.runs().len(), missed.len());
    assert!(missed.len() <= most, "too little was disturbed");
    world.check().await;
    let histories = plan.runs().into_iter().map(|(id, run)| history(&world, id, run));
    let histories = futures::future::join_all(histories).await;
    let wrong = replay(histories).await;
    assert!(wrong.is_empty(), "not replayed:\n{}", wrong.join("\n"));
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_payment_needs_what_a_worker_remembers() {
    let world = paths::world(None).await;
    let plan = Arc::new(Plan::default());
    let worker = world.work_inside(plan.clone(), 0);
    futures::future::join_all(PATHS.iter().map(|path| go(&world, &plan, path))).await;
    world.check().await;
    drop(worker);
}

/// Goes a path undisturbed, and gives every disturbance that is possible on it.
async fn go(world: &World, plan: &Plan, path: &'static Path) -> Vec<Case> {
    let payment = paths::begin(world, path, path.name).await;
    let view = paths::rest(world, &payment).await;
    assert_eq!(view.state.name(), path.ends, "{}", path.name);
    paths::ended(world, &payment).await;
    let ran = plan.ran(&payment.workflow_id);
    assert_eq!(ran.first().map(|ran| ran.activity.as_str()), Some("charge"), "{}", path.name);
    println!("{}: {}", path.name, ran.iter().map(|r| &*r.activity).collect::<Vec<_>>().join(", "));
    let cases = ran.iter().flat_map(|ran| Disturbance::ALL.map(|how| Case::of(path, ran, how)));
    cases.flatten().collect()
}

/// Goes a path with one disturbance; gives the case when its activity never came. That may be of a
/// second use of an activity: how many lookups are needed, and whether the first attempt to fulfil
/// is in time, is a matter of time.
async fn disturbed(world: &World, plan: &Plan, case: Case) -> Option<String> {
    let key = case.key();
    plan.add(paths::workflow_id(world, &key), &case);
    let payment = paths::begin(world, case.path, &key).await;
    let (view, ()) =
        futures::join!(paths::rest(world, &payment), disturbance::act(world, &payment, &case));
    paths::ended(world, &payment).await;
    // What a cancelled payment becomes is not for this test to say.
    if case.how != Disturbance::Cancelled {
        assert_eq!(view.state.name(), case.path.ends, "{key}");
    }
    if plan.is_met(&payment.workflow_id) {
        return None;
    }
    assert!(case.number > 1, "{key} was not disturbed");
    Some(key)
}

async fn history(world: &World, workflow_id: String, run_id: String) -> WorkflowHistory {
    let request = requests::GetWorkflowExecutionHistoryRequest {
        namespace: dev::temporal::NAMESPACE.to_owned(),
        execution: Some(WorkflowExecution { workflow_id, run_id }),
        maximum_page_size: MAX_EVENTS,
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let answer = service.get_workflow_execution_history(tonic::Request::new(request)).await;
    answer.expect("Temporal has it").into_inner().history.expect("a history").into()
}

/// Whether the payment has come to rest without meeting its disturbance.
async fn has_passed(world: &World, payment: &Payment) -> bool {
    paths::at_rest(world, payment).await.is_some()
}
