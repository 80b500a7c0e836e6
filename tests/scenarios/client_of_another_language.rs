//! A service in another language starts a payment by its id, with plain JSON or with nonsense.

use crate::support::{intent, order, order_in, world};
use serde_json::{Value, json};
use std::process::Command;
use tests::World;
use tests::servers::servers;

/// Runs the Python client; whatever is missing is an error that says what to run.
fn python(world: &World, workflow_id: &str, argument: &str, more: &[&str]) -> Value {
    let workspace = &servers().workspace;
    let packages = workspace.dev_dir().join("py-client");
    assert!(packages.exists(), "the Python client is missing: run `cargo dev test`");
    let output = Command::new("python3")
        .arg(workspace.join("tests/python/start_payment.py"))
        .args([&servers().temporal.address(), &world.task_queue, workflow_id, argument])
        .args(more)
        .env("PYTHONPATH", packages)
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("the client said {text:?}: {errors}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_service_starts_a_payment_by_its_id() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let mut input = intent(&world, &order, "main", "pm_ok");
    input["key"] = json!("py-1");
    let id = format!("payment/{}/py-1", world.merchant);
    let said = tokio::task::block_in_place(|| python(&world, &id, &input.to_string(), &[]));
    assert_eq!(said["result"]["payment"]["state"]["name"], "Persisted", "{said}");
    assert_eq!(said["result"]["intent"], input, "the result echoes the intent");
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_with_a_typed_code_and_charges_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let id = format!("payment/{}/py-2", world.merchant);
    let mut float = intent(&world, &order, "main", "pm_ok");
    float["key"] = json!("py-2");
    float["amount"] = json!(19.99);
    let mut other_key = float.clone();
    other_key["amount"] = json!(1999);
    other_key["key"] = json!("py-3");
    let cases = [
        (float.to_string(), "invalid_input", Some("amount"), vec![]),
        (json!([1, 2]).to_string(), "invalid_input", None, vec![]),
        ("{\"merchant\": ".to_owned(), "invalid_input", None, vec!["--text"]),
        (other_key.to_string(), "workflow_id_mismatch", None, vec![]),
    ];
    for (argument, code, field, more) in cases {
        let said = tokio::task::block_in_place(|| python(&world, &id, &argument, &more));
        assert_eq!(said["failure"], code, "{said}");
        assert_eq!(said["details"][0]["field"].as_str(), field, "{said}");
    }
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    world.check().await;
}
