//! Says whether the process lives and whether it can work. Nothing else is served here.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;

/// What readiness depends on.
#[derive(Clone)]
pub struct Health {
    pub store: Store,
    /// Whether the worker polls Temporal and is not stopping.
    pub polling: Arc<AtomicBool>,
}

/// Serves `/healthz` and `/readyz` until the process ends.
pub async fn serve(listen: SocketAddr, health: Health) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state(health);
    let listener = tokio::net::TcpListener::bind(listen).await?;
    axum::serve(listener, routes).await
}

async fn ready(State(health): State<Health>) -> (StatusCode, &'static str) {
    if !health.polling.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "not polling Temporal\n");
    }
    match health.store.ready().await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(error = ?error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database is not ready\n")
        }
    }
}
