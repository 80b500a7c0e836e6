//! A service in another language starts a payment by its id, with plain JSON or with nonsense, once
//! or again. The clients are those of docs/CLIENTS.md, in Python and in TypeScript.

use crate::support::{id_of, intent, order, order_in, payment_in, world};
use dev::{node, python};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::World;
use tests::servers::servers;

/// A client with what it imports, ready to run.
struct Foreign {
    language: &'static str,
    program: PathBuf,
    file: PathBuf,
    packages: Option<PathBuf>,
}

impl Foreign {
    /// Both clients; what is not yet installed is fetched, or the scenario fails and says why.
    fn all(world: &World) -> [Self; 2] {
        tokio::task::block_in_place(|| [Self::python(), Self::typescript(world)])
    }

    fn python() -> Self {
        let workspace = &servers().workspace;
        let folder = workspace.join("tests/python");
        let packages = workspace.dev_dir().join("py-client");
        python::ensure(&folder.join("requirements.txt"), &packages).expect("the Python client");
        Self {
            language: "python",
            program: "python3".into(),
            file: folder.join("start_payment.py"),
            packages: Some(packages),
        }
    }

    /// Node looks for packages beside the file that imports them, so the world's folder has both.
    fn typescript(world: &World) -> Self {
        let workspace = &servers().workspace;
        node::ensure_client(workspace).expect("the TypeScript client");
        let folder = world.folder().join("typescript");
        dev::paths::create_dir(&folder).expect("a folder");
        for name in ["package.json", "start_payment.ts", "tsconfig.json"] {
            let source = node::source(workspace).join(name);
            std::fs::copy(&source, folder.join(name)).expect("a copy");
        }
        let packages = node::packages(workspace).join("node_modules");
        std::os::unix::fs::symlink(packages, folder.join("node_modules")).expect("a link");
        Self {
            language: "typescript",
            program: node::program(workspace),
            file: folder.join("start_payment.ts"),
            packages: None,
        }
    }

    /// Runs the client, and gives what it says.
    fn start(&self, world: &World, workflow_id: &str, argument: &str, more: &[&str]) -> Value {
        let mut command = Command::new(&self.program);
        command
            .arg(&self.file)
            .args([&servers().temporal.address(), &world.task_queue, workflow_id, argument])
            .args(more)
            .envs(self.packages.iter().map(|packages| ("PYTHONPATH", packages)));
        let output = tokio::task::block_in_place(|| command.output()).expect("the client runs");
        let (text, errors) = told(&output);
        let language = self.language;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{language} said {text:?}: {errors}"))
    }
}

fn told(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn with_key(mut intent: Value, key: &str) -> Value {
    intent["key"] = json!(key);
    intent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_service_pays_once_however_often_it_starts_the_same_id() {
    let world = world().await;
    for (number, client) in (1..).zip(Foreign::all(&world)) {
        let order = order(&world, &format!("o{number}")).await;
        let key = format!("{}/1", client.language);
        let input = with_key(intent(&world, &order, "main", "pm_ok"), &key);
        let id = format!("payment/{}/{key}", world.merchant);
        let said = client.start(&world, &id, &input.to_string(), &[]);
        assert_eq!(said["result"]["payment"]["state"]["name"], "Persisted", "{said}");
        assert_eq!(said["result"]["payment"]["payment"], id_of(&world, &key), "{said}");
        assert_eq!(said["result"]["intent"], input, "the result echoes the intent");
        order_in(&world, &order, "Fulfilled").await;

        let again = client.start(&world, &id, &input.to_string(), &[]);
        assert_eq!(again, said, "the same id has the same outcome");
        let mut other = input.clone();
        other["payment_method"] = json!("pm_other");
        let other = client.start(&world, &id, &other.to_string(), &[]);
        assert_eq!(other, json!({ "differs": "payment_method" }));
        assert_eq!(world.sandbox.truth().await.count("charge"), number);
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_service_stops_waiting_and_is_told_what_the_payment_waits_for() {
    let world = world().await;
    for (number, client) in (1..).zip(Foreign::all(&world)) {
        let order = order(&world, &format!("o{number}")).await;
        let lost = json!({ "kind": "timeout_after_commit" });
        world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
        let key = format!("{}-2", client.language);
        let input = with_key(intent(&world, &order, "blind", "pm_lost"), &key);
        let id = world.start_payment(&input).await;
        payment_in(&world, &id_of(&world, &key), &["ManualReview"]).await;
        // The run is open: starting its id again attaches to it.
        let said = client.start(&world, &id, &input.to_string(), &["--wait=0.2"]);
        let details = said["waiting"]["details"].as_str().unwrap_or_default();
        assert!(details.contains("A person must decide"), "{}: {said}", client.language);
        assert!(said["waiting"]["until_ms"].is_i64(), "{said}");
        assert_eq!(world.sandbox.truth().await.count("charge"), number);
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_with_a_typed_code_and_charges_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    for client in Foreign::all(&world) {
        let key = format!("{}-3", client.language);
        let id = format!("payment/{}/{key}", world.merchant);
        let mut float = with_key(intent(&world, &order, "main", "pm_ok"), &key);
        float["amount"] = json!(19.99);
        let mut other_key = with_key(float.clone(), "another");
        other_key["amount"] = json!(1999);
        let cases = [
            (float.to_string(), "invalid_input", Some("amount"), vec![]),
            (json!([1, 2]).to_string(), "invalid_input", None, vec![]),
            ("{\"merchant\": ".to_owned(), "invalid_input", None, vec!["--text"]),
            (other_key.to_string(), "workflow_id_mismatch", None, vec![]),
        ];
        for (argument, code, field, more) in cases {
            let said = client.start(&world, &id, &argument, &more);
            assert_eq!(said["failure"], code, "{}: {said}", client.language);
            assert_eq!(said["details"][0]["field"].as_str(), field, "{said}");
        }
    }
    assert_eq!(world.sandbox.truth().await.count("charge"), 0);
    world.check().await;
}

/// Node runs TypeScript without looking at its types, so the compiler does.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_in_typescript_agrees_with_the_types_of_temporals_client() {
    let world = world().await;
    let client = tokio::task::block_in_place(|| Foreign::typescript(&world));
    let folder = client.file.parent().unwrap_or(Path::new("."));
    let compile = || {
        let compiler = folder.join("node_modules/typescript/bin/tsc");
        Command::new(&client.program).arg(compiler).arg("-p").arg(folder).output()
    };
    let output = tokio::task::block_in_place(compile).expect("the compiler runs");
    let (text, errors) = told(&output);
    assert!(output.status.success(), "{text}{errors}");
}

/// The headers and the body of the page's request, for another order and merchant.
#[tokio::test(flavor = "multi_thread")]
async fn the_request_of_the_page_pays_an_order() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let page = std::fs::read_to_string(servers().workspace.join("docs/CLIENTS.md"));
    let page = page.expect("the page").replace("ord_…", &order);
    let page = page.replace("\"demo\"", &format!("\"{}\"", world.merchant));
    let between = |text: &str, start: &str, end: &str| {
        let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start} on the page"));
        rest.split_once(end).map(|(found, _)| found.to_owned()).expect("an end")
    };
    let curl = between(&page, "curl -s localhost:8080/v1/payment_intents", "```");
    let key = between(&curl, "-H 'Idempotency-Key: ", "'");
    let body = between(&curl, "-d '", "'");
    let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}"));
    let answer = world.api.post("/v1/payment_intents", &key, &body).await;
    assert_eq!((answer.status, answer.text("state")), (200, "Persisted"), "{}", answer.body);
    let again = world.api.post("/v1/payment_intents", &key, &body).await;
    assert!(again.replayed, "{}", again.body);
    assert_eq!(again.text("id"), answer.text("id"));
    world.check().await;
}
