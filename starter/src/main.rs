//! `oncepay`: the HTTP API that takes payments, and the command line that asks it.
//!
//! What never happens here: a call to a channel, a write about money to PostgreSQL. About money
//! this program writes to Temporal only, and answers with what the row or the workflow says.

mod api;
mod cli;
mod metrics;
mod openapi;
mod resources;
mod serve;
mod settings;
mod temporal;
mod web_ui;

use clap::Parser;
use settings::{Cli, Command};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    // A second installation is refused; the first one, of the same library, is in place then.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match run(Cli::parse().command).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("oncepay: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        // The two commands whose exit status says more than whether they worked.
        Command::Config(command) => return cli::config::run(command).await,
        Command::Pay(args) => return cli::pay::run(&args).await,
        Command::Serve(args) => serve::run(args.read()?).await,
        Command::Status(args) => cli::status::run(&args).await,
        Command::Explain(args) => cli::explain::run(&args).await,
        Command::Trace(args) => cli::trace::run(&args).await,
        Command::Resume(args) => cli::resume::run(&args).await,
        Command::Review(command) => cli::review::run(command).await,
        Command::Migrate(args) => cli::migrate::run(&args).await,
        Command::Operator(command) => cli::operator::run(&command).await,
        Command::Catalog(command) => cli::catalog::run(&command).await,
    }
    .map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    mod settings_page;
}
