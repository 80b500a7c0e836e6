//! Runs the API: starts while PostgreSQL or Temporal is away, ends without dropping a request.

use crate::api::{self, App};
use crate::metrics;
use crate::settings::{ServeSettings, log_filter};
use crate::temporal::Temporal;
use anyhow::Context;
use secrecy::ExposeSecret;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// How long requests that are being answered may take once the process was told to end. The
/// longest wait of an endpoint is 5 s.
const DRAIN_LIMIT: Duration = Duration::from_secs(15);

/// Answers requests until the process is told to end.
///
/// # Errors
/// Only before the first request: a setting or the port is of no use.
pub(crate) async fn run(settings: ServeSettings) -> anyhow::Result<()> {
    start_logs(&settings.log)?;
    let store =
        Store::connect_lazy(settings.database_url.expose_secret(), settings.database_connections)
            .context("ONCEPAY_DATABASE_URL")?;
    let app = App::new(store, Temporal::connect(settings.temporal), settings.decision_key);
    let app = Arc::new(app.with_web_ui(settings.web_ui));
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("ONCEPAY_LISTEN: listening on {}", settings.listen))?;
    tokio::spawn(metrics::serve(settings.metrics_listen, app.store.clone()));
    tracing::info!(address = %listener.local_addr()?, "answering HTTP");
    serve(listener, &app).await?;
    app.store.close().await;
    tracing::info!("ended");
    Ok(())
}

fn start_logs(filter: &str) -> anyhow::Result<()> {
    let filter = log_filter(filter).map_err(anyhow::Error::msg)?;
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .try_init()
        .map_err(anyhow::Error::msg)
}

async fn serve(listener: TcpListener, app: &Arc<App>) -> anyhow::Result<()> {
    let (told, mut drain) = tokio::sync::watch::channel(false);
    let server = axum::serve(listener, api::router(app.clone()));
    let ended = told_to_end(app.clone(), told)?;
    let graceful = server.with_graceful_shutdown(ended);
    tokio::select! {
        result = graceful => result.context("answering HTTP"),
        () = async {
            // An error means that the sender is gone, which it is only once the server ended.
            let _ = drain.wait_for(|told| *told).await;
            tokio::time::sleep(DRAIN_LIMIT).await;
        } => {
            tracing::warn!("some requests took too long and were dropped");
            Ok(())
        }
    }
}

/// Completes at the first SIGTERM or Ctrl-C, after which the process says that it is not ready.
fn told_to_end(
    app: Arc<App>,
    told: tokio::sync::watch::Sender<bool>,
) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for Ctrl-C")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("told to end: answering what has begun");
        app.drain();
        told.send_replace(true);
    })
}
