//! The worker process: runs workflows and activities, answers health checks, stops gracefully.
//!
//! It starts while PostgreSQL or Temporal is down and is ready once both are back.

mod config;
mod health;
mod metrics;

use activities::PaymentActivities;
use anyhow::{Context, Result};
use channels::fulfilment::Fulfilment;
use config::Config;
use health::Health;
use secrecy::ExposeSecret;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::Store;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, GrpcCompression};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;
use url::{Host, Url};
use workflows::payment::PaymentWorkflow;

/// A killed worker's cached workflows wait this long before another takes them.
const STICKY_LIMIT: Duration = Duration::from_secs(1);
/// Longer than any charge: what was sent is settled before the process ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(35);
const POLLERS: usize = 10;
const CACHED_WORKFLOWS: usize = 1_000;
const CONNECT_AGAIN: Duration = Duration::from_millis(500);

#[tokio::main]
async fn main() -> Result<()> {
    // Cannot fail: nothing has installed another provider before.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let config = Config::read().unwrap_or_else(|(error, variables)| {
        if !variables.is_empty() {
            eprintln!("worker: set by {variables}");
        }
        error.exit()
    });
    let filter = EnvFilter::try_new(&config.log).context("ONCEPAY_LOG cannot be read")?;
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    let store = Store::connect_for_payments(
        config.database_url()?.expose_secret(),
        config.database_connections,
    )
    .context("ONCEPAY_DATABASE_URL cannot be read")?;
    let activities = PaymentActivities {
        store: store.clone(),
        channels: config.channels()?,
        fulfilment: Fulfilment::new(&config.fulfilment_url)
            .context("ONCEPAY_FULFILMENT_URL cannot be used")?,
        settings: config.settings()?,
    };
    let mut stop = Stop::new()?;
    let polling = Arc::new(AtomicBool::new(false));
    let health = Health { store: store.clone(), polling: polling.clone() };
    let listen = config.listen;
    let health = tokio::spawn(async move { health::serve(listen, health).await });
    let (sdk, telemetry) = metrics::of_the_sdk()?;
    tokio::spawn(metrics::serve(config.metrics_listen, sdk, store.clone()));
    tokio::spawn(metrics::count(store.clone()));
    let Some(client) = stop.before(connect(&config)).await else { return Ok(()) };
    let client = client?;
    let runtime = Runtime::from_current_tokio(
        RuntimeOptions::builder()
            .telemetry_options(telemetry)
            .build()
            .map_err(anyhow::Error::msg)?,
    )?;
    let mut worker = Worker::new(&runtime, client, options(&config, activities)?)?;
    let shut_down = worker.shutdown_handle();
    polling.store(true, Ordering::Relaxed);
    tracing::info!(task_queue = config.task_queue, "polling");
    tokio::spawn(async move {
        stop.wait().await;
        tracing::info!("stopping: what was begun is finished first");
        polling.store(false, Ordering::Relaxed);
        shut_down();
    });
    tokio::select! {
        result = worker.run() => result.context("the worker stopped")?,
        result = health => {
            result?.with_context(|| format!("ONCEPAY_WORKER_LISTEN: cannot listen on {listen}"))?;
        }
    }
    store.close().await;
    Ok(())
}

fn options(config: &Config, activities: PaymentActivities) -> Result<WorkerOptions> {
    Ok(WorkerOptions::new(config.task_queue.clone())
        .register_activities(activities)
        .activity_inbound_interceptor(activities::trace::Traced)
        .register_workflow::<PaymentWorkflow>()?
        .workflow_interceptor(workflows::trace::carrier())
        .max_cached_workflows(CACHED_WORKFLOWS)
        .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLERS))
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLERS))
        .sticky_queue_schedule_to_start_timeout(STICKY_LIMIT)
        .graceful_shutdown_period(DRAIN_LIMIT)
        .build())
}

/// Tries until Temporal answers: a worker may start before its server.
async fn connect(config: &Config) -> Result<Client> {
    let identity = format!("worker@{}", std::process::id());
    loop {
        let options = ConnectionOptions::new(config.temporal_address.clone())
            .identity(identity.clone())
            .grpc_compression(compression(&config.temporal_address));
        match Connection::connect(options.build()).await {
            Ok(connection) => {
                let namespace = config.temporal_namespace.clone();
                return Ok(Client::new(connection, ClientOptions::new(namespace).build())?);
            }
            Err(error) => {
                tracing::warn!(%error, "Temporal does not answer yet");
                tokio::time::sleep(CONNECT_AGAIN).await;
            }
        }
    }
}

/// Bytes that do not leave this machine cost less than compressing them.
fn compression(temporal: &Url) -> GrpcCompression {
    let here = match temporal.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if here { GrpcCompression::None } else { GrpcCompression::Gzip }
}

/// The signals that end the process.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// What the work gives, unless a signal comes first.
    async fn before<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            result = work => Some(result),
            () = self.wait() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    mod settings_page;
}
