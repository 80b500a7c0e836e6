//! The channel never says what happened, however often it is asked.

use crate::support::{intent, order, pay, payment_in};
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;
use temporalio_common::protos::temporal::api::query::v1::WorkflowQuery;
use temporalio_common::protos::temporal::api::workflowservice::v1::QueryWorkflowRequest;
use tests::{Setup, World};

/// What the Temporal UI shows as the current details of a workflow.
async fn current_details(world: &World, workflow_id: &str) -> String {
    let query = WorkflowQuery {
        query_type: "__temporal_workflow_metadata".to_owned(),
        ..Default::default()
    };
    let execution =
        WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() };
    let request = QueryWorkflowRequest {
        namespace: dev::temporal::NAMESPACE.to_owned(),
        execution: Some(execution),
        query: Some(query),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let answer = service.query_workflow(tonic::Request::new(request)).await.expect("answers");
    let payloads = answer.into_inner().query_result.expect("a result").payloads;
    let metadata: Value = serde_json::from_slice(&payloads[0].data).expect("JSON");
    metadata["currentDetails"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_reads_what_is_waited_for_and_not_to_charge_again() {
    let setup = Setup { ladder_ms: "100,60000", ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let dark = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", json!({}), 1, dark).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_dark")).await;
    assert_eq!(answer.text("state"), "Unknown", "{}", answer.body);
    let details = current_details(&world, answer.text("workflow_id")).await;
    assert!(details.contains("lookup 2 of 2, next "), "{details}");
    assert!(details.contains("do not charge again"), "{details}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_last_lookup_a_person_is_asked_and_nothing_is_failed() {
    let setup = Setup { ladder_ms: "100,200,300,400,500,600", ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let method = json!({ "payment_method": "pm_dark" });
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", method.clone(), 1, lost).await;
    let dark = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", json!({}), 100, dark).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_dark")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    assert!(payment.text("review").starts_with("rev_"), "{}", payment.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.count("lookup")), (1, 6));
    world.check().await;
}
