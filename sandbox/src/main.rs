//! The sandbox: a payment channel that we run ourselves, with faults on demand.
//!
//! It is a process with its own truth. It shares no code with the product that it judges, so that
//! a mistake cannot cancel itself out. It never moves real money, and the only way to it is HTTP.

mod account;
mod admin;
mod answer;
mod app;
mod books;
mod channel;
mod charge;
mod fault;
mod fulfilment;
mod ledger;
mod maintenance;
mod payer;
mod perform;
mod requests;
mod serve;
mod sign;
mod trace;
mod truth;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use account::Accounts;
use app::App;

/// A payment channel of our own, with faults on demand. It moves no real money.
#[derive(Parser)]
#[command(name = "sandbox")]
struct Config {
    /// Where the channel, its truth and its administration are served.
    #[arg(long, env = "SANDBOX_LISTEN")]
    listen: SocketAddr,
    /// Where a merchant's fulfilment address is played.
    #[arg(long, env = "SANDBOX_FULFILMENT_LISTEN")]
    fulfilment_listen: SocketAddr,
    /// The JSON list of accounts.
    #[arg(long, env = "SANDBOX_ACCOUNTS")]
    accounts: PathBuf,
    /// The file that holds the truth across a restart; without it the truth ends with the process.
    #[arg(long, env = "SANDBOX_LEDGER")]
    ledger: Option<PathBuf>,
    /// What is logged, as `tracing` directives.
    #[arg(long, env = "SANDBOX_LOG", default_value = "info")]
    log: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let config = Config::parse();
    let filter = EnvFilter::try_new(&config.log).context("SANDBOX_LOG cannot be read")?;
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    let accounts = Accounts::read(&config.accounts)?;
    let app = App::open(accounts, config.ledger.as_deref())?;
    let channel = bind(config.listen).await?;
    let fulfilment = bind(config.fulfilment_listen).await?;
    tracing::info!(
        listen = %channel.local_addr()?,
        fulfilment_listen = %fulfilment.local_addr()?,
        "listening"
    );
    tokio::select! {
        () = serve::forever(channel, admin::routes(app.clone())) => {}
        () = serve::forever(fulfilment, fulfilment::routes(app)) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopped");
    Ok(())
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}
