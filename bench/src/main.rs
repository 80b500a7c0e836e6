//! What `cargo dev bench` measures payments against: a workflow that does nothing, behind the same
//! kind of door. Also reads what a workflow's history cost. It is no part of the product.
//!
//! `bench TEMPORAL_URL LISTEN` serves:
//! - `POST /noops`, key in `Idempotency-Key`: starts the workflow and waits for its end;
//! - `GET /costs?workflow=ID`: events, bytes and workflow tasks of its history;
//! - `GET /readyz`.

mod cost;
mod noop;

use anyhow::{Context, Result};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use noop::{NoopWorkflow, QUEUE};
use serde::Deserialize;
use serde_json::{Value, json};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, GrpcCompression,
    WorkflowGetResultOptions, WorkflowStartOptions,
};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use url::Url;

const NAMESPACE: &str = "default";
/// As many as a payment worker has.
const POLLERS: usize = 10;

type Failure = (StatusCode, String);

#[tokio::main]
async fn main() -> Result<()> {
    // Cannot fail: nothing has installed another provider before.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [temporal, listen] = args.as_slice() else {
        anyhow::bail!("bench TEMPORAL_URL LISTEN");
    };
    let client = connect(temporal).await.context("connecting to Temporal")?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let options = WorkerOptions::new(QUEUE)
        .register_workflow::<NoopWorkflow>()?
        .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLERS))
        .build();
    let mut worker = Worker::new(&runtime, client.clone(), options)?;
    let routes = Router::new()
        .route("/readyz", get(|| async { "ready" }))
        .route("/noops", post(noop))
        .route("/costs", get(cost))
        .with_state(client);
    let listener = tokio::net::TcpListener::bind(listen).await.context("listening")?;
    tokio::select! {
        result = worker.run() => result.context("the worker stopped"),
        result = axum::serve(listener, routes) => result.context("answering HTTP"),
    }
}

async fn connect(address: &str) -> Result<Client> {
    let options = ConnectionOptions::new(Url::parse(address)?)
        .identity(format!("bench@{}", std::process::id()))
        .grpc_compression(GrpcCompression::None)
        .build();
    let connection = Connection::connect(options).await?;
    Ok(Client::new(connection, ClientOptions::new(NAMESPACE).build())?)
}

async fn noop(State(client): State<Client>, headers: HeaderMap) -> Result<Json<Value>, Failure> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.ok_or((StatusCode::BAD_REQUEST, "no Idempotency-Key".to_owned()))?;
    let options = WorkflowStartOptions::new(QUEUE, format!("noop/{key}")).build();
    let started = client.start_workflow(NoopWorkflow::run, key.to_owned(), options).await;
    let handle = started.map_err(|error| failure(&error.into()))?;
    let ended = handle.get_result(WorkflowGetResultOptions::default()).await;
    ended.map_err(|error| failure(&error.into()))?;
    Ok(Json(json!({})))
}

#[derive(Deserialize)]
struct Wanted {
    workflow: String,
}

async fn cost(
    State(client): State<Client>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<cost::Cost>, Failure> {
    let read = cost::read(&client, &wanted.workflow).await;
    read.map(Json).map_err(|error| failure(&error))
}

fn failure(error: &anyhow::Error) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}"))
}
