//! Recorded histories, one for each path, which today's workflow must still be able to replay: a
//! run that began under the code of yesterday goes on under the code of today.
//!
//! `UPDATE_HISTORIES=1 cargo test --workspace --test scenarios histories` records them anew.

use crate::paths::{self, PATHS, Path};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use temporalio_client::{UntypedWorkflow, WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};
use tests::World;
use tests::inside::{CACHED_WORKFLOWS, Undisturbed};
use workflows::payment::PaymentWorkflow;

/// The same every time, so that ids are.
const MERCHANT: &str = "histories";
const UPDATE: &str = "UPDATE_HISTORIES";

fn file(path: &Path) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("histories/{}.json", path.name))
}

/// Replays histories against today's workflow, and gives what is wrong with them.
pub async fn replay(histories: Vec<WorkflowHistory>) -> Vec<String> {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<PaymentWorkflow>()
        .expect("registers")
        .build();
    let replayer = WorkflowReplayer::new(options).expect("a replayer");
    let results = replayer.replay_workflows(histories).await.expect("replays");
    let failed = results.iter().filter_map(|result| {
        let failure = result.replay_failure.as_ref()?;
        Some(format!("{}: {failure}", result.history.workflow_id().unwrap_or_default()))
    });
    failed.collect()
}

/// Records a path, without the names of the world that it ran in.
async fn record(world: &World, path: &'static Path) {
    let payment = paths::begin(world, path, path.name).await;
    let view = paths::rest(world, &payment).await;
    assert_eq!(view.state.name(), path.ends, "{}", path.name);
    paths::ended(world, &payment).await;
    let handle = world.client.get_workflow_handle::<UntypedWorkflow>(payment.workflow_id);
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let json = history.to_json().await.expect("a history");
    let text = String::from_utf8(json).expect("text").replace(&world.task_queue, "payments");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON") + "\n";
    std::fs::create_dir_all(file(path).parent().expect("a folder")).expect("a folder");
    std::fs::write(file(path), pretty).expect("writes the history");
}

#[tokio::test(flavor = "multi_thread")]
async fn todays_workflow_replays_every_recorded_history() {
    if std::env::var_os(UPDATE).is_some() {
        let world = paths::world(Some(MERCHANT)).await;
        let _worker = world.work_inside(Arc::new(Undisturbed), CACHED_WORKFLOWS);
        futures::future::join_all(PATHS.iter().map(|path| record(&world, path))).await;
    }
    let histories = PATHS.iter().map(|path| {
        let bytes = std::fs::read(file(path)).unwrap_or_else(|error| {
            let name = file(path);
            panic!("{}: {error}; record it with {UPDATE}=1 (see the module)", name.display())
        });
        WorkflowHistory::from_json(&bytes).expect("a history")
    });
    let wrong = replay(histories.collect()).await;
    assert!(wrong.is_empty(), "not replayed:\n{}", wrong.join("\n"));
}

/// A replay that cannot fail proves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_another_workflow_is_noticed() {
    let bytes = std::fs::read(file(&PATHS[0])).expect("a history");
    let text = String::from_utf8(bytes).expect("text").replace("\"charge\"", "\"refund\"");
    let history = WorkflowHistory::from_json(text.as_bytes()).expect("a history");
    assert_eq!(replay(vec![history]).await.len(), 1);
}
