//! `oncepay config check`: whether this machine is set up to take payments. It reads and asks; it
//! changes nothing.

use super::say;
use crate::settings::{ServeArgs, TemporalSettings};
use crate::temporal::Temporal;
use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
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
        say(line(finding));
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
    // One that is missing hides nothing about the others.
    let (key, url) = (args.serve.key().map(|_| ()), args.serve.database.read());
    let temporal = args.serve.temporal();
    for error in [key.err(), url.as_ref().err().map(|error| anyhow::anyhow!("{error:#}"))] {
        let found = error.map(|error| Err(format!("{error:#}")));
        findings.extend(found.map(|found| Finding { of: "settings", found }));
    }
    if findings.is_empty() {
        let read = args.serve.read().map(|settings| format!("read; HTTP on {}", settings.listen));
        let found = read.map_err(|error| format!("{error:#}"));
        findings.push(Finding { of: "settings", found });
    }
    findings.extend(ask(url.ok(), temporal).await);
    if args.worker {
        let found = "its own program reads its settings, and stops with the name of a bad one; \
                     they are told in docs/SETTINGS.md and by `worker --help`";
        findings.push(Finding { of: "worker", found: Ok(found.to_owned()) });
    }
    findings
}

/// Asks the servers; the database only where its address is known.
async fn ask(url: Option<SecretString>, temporal: TemporalSettings) -> Vec<Finding> {
    let address = temporal.address.clone();
    let temporal = Temporal::connect(temporal);
    let asked = async {
        match url {
            Some(url) => Some(database(url.expose_secret()).await),
            None => None,
        }
    };
    let (database, attributes) = tokio::join!(asked, temporal.missing_attributes(CHECK_LIMIT));
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
    let database = database.map(|found| Finding { of: "PostgreSQL", found });
    let temporal = Finding { of: "Temporal", found: attributes };
    database.into_iter().chain([temporal]).collect()
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
    async fn each_setting_that_is_missing_is_one_line_and_the_rest_is_checked() {
        let findings = found(&["--worker", "--temporal-address=http://127.0.0.1:1"]).await;
        let lines: Vec<_> = findings.iter().map(line).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].starts_with("problem  settings: ONCEPAY_DECISION_KEY"), "{lines:?}");
        assert!(lines[1].starts_with("problem  settings: ONCEPAY_DATABASE_URL"), "{lines:?}");
        assert!(lines[2].starts_with("problem  Temporal: http://127.0.0.1:1"), "{lines:?}");
        assert!(lines[3].contains("docs/SETTINGS.md"), "{lines:?}");
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
