//! `oncepay config check`: whether this machine is set up to take payments. It reads and asks; it
//! changes nothing.

use super::say;
use crate::settings::{ServeArgs, ServeSettings};
use crate::temporal::Temporal;
use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use std::process::ExitCode;
use std::time::Duration;
use store::{Store, StoreError};

/// How long each server may take to answer.
const CHECK_LIMIT: Duration = Duration::from_secs(6);

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings of `oncepay serve`, the database's schema and Temporal's search
    /// attributes. One line for each finding; the exit status is 1 if any is a problem.
    Check(Box<CheckArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    serve: ServeArgs,
    /// Say also where the worker's settings are told.
    #[arg(long)]
    worker: bool,
}

/// What was found about one thing.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    of: &'static str,
    /// What is fine, or what is not and what to do.
    found: Result<String, String>,
}

/// # Errors
/// None: what cannot be checked is a finding.
pub(crate) async fn run(command: ConfigCommand) -> anyhow::Result<ExitCode> {
    let ConfigCommand::Check(args) = command;
    let findings = check(*args).await;
    for finding in &findings {
        say(&line(finding));
    }
    let good = findings.iter().all(|finding| finding.found.is_ok());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(finding: &Finding) -> String {
    match &finding.found {
        Ok(fine) => format!("ok       {}: {fine}", finding.of),
        Err(problem) => format!("problem  {}: {problem}", finding.of),
    }
}

async fn check(args: CheckArgs) -> Vec<Finding> {
    let mut findings = Vec::new();
    match args.serve.read() {
        Err(error) => {
            findings.push(Finding { of: "settings", found: Err(format!("{error:#}")) });
        }
        Ok(settings) => {
            let found = Ok(format!("read; HTTP on {}", settings.listen));
            findings.push(Finding { of: "settings", found });
            findings.extend(ask(settings).await);
        }
    }
    if args.worker {
        let found = "its own program reads its settings, and stops with the name of a bad one; \
                     they are told in docs/SETTINGS.md and by `worker --help`";
        findings.push(Finding { of: "worker", found: Ok(found.to_owned()) });
    }
    findings
}

async fn ask(settings: ServeSettings) -> Vec<Finding> {
    let address = settings.temporal.address.clone();
    let temporal = Temporal::connect(settings.temporal);
    let (database, attributes) = tokio::join!(
        database(settings.database_url.expose_secret()),
        temporal.missing_attributes(CHECK_LIMIT)
    );
    let attributes = match attributes {
        Err(error) => Err(format!("{address}: {:#}", anyhow::Error::from(error))),
        Ok(missing) if missing.is_empty() => {
            Ok(format!("{address} answers; every search attribute is registered"))
        }
        Ok(missing) => Err(format!(
            "search attributes are not registered: {}; create them with `temporal operator \
             search-attribute create`",
            missing.join(", ")
        )),
    };
    vec![
        Finding { of: "PostgreSQL", found: database },
        Finding { of: "Temporal", found: attributes },
    ]
}

async fn database(url: &str) -> Result<String, String> {
    let store = Store::connect_lazy(url, 1).map_err(|error| error.to_string())?;
    let ready = tokio::time::timeout(CHECK_LIMIT, store.ready()).await;
    let found = match ready {
        Ok(Ok(())) => Ok(format!("answers; schema {}", store::migrate::newest_version())),
        Ok(Err(StoreError::Missing { id, .. })) => {
            Err(format!("the schema is older than migration {id}; run `oncepay migrate`"))
        }
        Ok(Err(error)) => Err(format!("{:#}", anyhow::Error::from(error))),
        Err(_elapsed) => Err(format!("no answer within {} s", CHECK_LIMIT.as_secs())),
    };
    store.close().await;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Cli, Command};
    use clap::Parser;

    async fn found(more: &[&str]) -> Vec<Finding> {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let all = ["oncepay", "config", "check"].iter().chain(more);
        let Command::Config(ConfigCommand::Check(args)) =
            Cli::try_parse_from(all).expect("parses").command
        else {
            panic!("a check")
        };
        check(*args).await
    }

    #[tokio::test]
    async fn a_setting_that_is_missing_is_one_line_and_nobody_is_asked() {
        let findings = found(&["--worker"]).await;
        let lines: Vec<_> = findings.iter().map(line).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("problem  settings: ONCEPAY_DECISION_KEY"), "{lines:?}");
        assert!(lines[1].contains("docs/SETTINGS.md"), "{lines:?}");
    }

    #[tokio::test]
    async fn servers_that_do_not_answer_are_a_line_each() {
        let findings = found(&[
            "--database-url=postgres://oncepay_api@127.0.0.1:1/oncepay",
            "--temporal-address=http://127.0.0.1:1",
            "--decision-key=000102030405060708090a0b0c0d0e0f",
        ])
        .await;
        let bad: Vec<_> =
            findings.iter().filter(|one| one.found.is_err()).map(|one| one.of).collect();
        assert_eq!(bad, ["PostgreSQL", "Temporal"], "{findings:?}");
        assert!(findings.iter().map(line).all(|line| !line.contains('\n')));
    }
}
