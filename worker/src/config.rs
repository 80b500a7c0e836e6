//! The worker's settings: from the environment or the command line, read once, checked before
//! anything starts.

use activities::limits::{FourEyes, MAX_RUNGS, MIN_DECISION_KEY_LEN};
use anyhow::{Context, Result, bail, ensure};
use clap::{CommandFactory, Parser};
use secrecy::{ExposeSecret, SecretString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use url::Url;

/// Runs payment workflows and their activities.
#[derive(Debug, Parser)]
#[command(name = "worker", version)]
pub struct Config {
    /// PostgreSQL, under the role `oncepay_worker`.
    #[arg(long, env = "ONCEPAY_DATABASE_URL", hide_env_values = true)]
    database_url: Option<SecretString>,
    /// A file that holds the database address.
    #[arg(long, env = "ONCEPAY_DATABASE_URL_FILE")]
    database_url_file: Option<PathBuf>,
    /// Most connections to PostgreSQL.
    #[arg(long, env = "ONCEPAY_DATABASE_CONNECTIONS", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=500))]
    pub database_connections: u32,
    /// Temporal's address.
    #[arg(long, env = "ONCEPAY_TEMPORAL_ADDRESS", default_value = "http://127.0.0.1:7233")]
    pub temporal_address: Url,
    /// Temporal's namespace.
    #[arg(long, env = "ONCEPAY_TEMPORAL_NAMESPACE", default_value = "default")]
    pub temporal_namespace: String,
    /// Task queue to work on.
    #[arg(long, env = "ONCEPAY_TASK_QUEUE", default_value = workflows::ids::PAYMENTS_QUEUE)]
    pub task_queue: String,
    /// Where /healthz and /readyz are served.
    #[arg(long = "worker-listen", env = "ONCEPAY_WORKER_LISTEN", default_value = "127.0.0.1:8081")]
    pub listen: SocketAddr,
    /// Where metrics are served, under /metrics.
    #[arg(
        long = "worker-metrics-listen",
        env = "ONCEPAY_WORKER_METRICS_LISTEN",
        default_value = "127.0.0.1:9465"
    )]
    pub metrics_listen: SocketAddr,
    /// The sandbox channel's address.
    #[arg(long, env = "ONCEPAY_SANDBOX_URL")]
    pub sandbox_url: String,
    /// A file with the sandbox accounts, a JSON list.
    #[arg(long, env = "ONCEPAY_SANDBOX_ACCOUNTS_FILE")]
    sandbox_accounts_file: PathBuf,
    /// The merchant's address for fulfilment.
    #[arg(long, env = "ONCEPAY_FULFILMENT_URL")]
    pub fulfilment_url: String,
    /// Waits before each lookup of an unknown outcome, in milliseconds, separated by commas.
    #[arg(long = "lookup-ladder-ms", env = "ONCEPAY_LOOKUP_LADDER_MS", value_delimiter = ',',
          default_value = "1000,3000,10000,30000,300000,1800000",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    ladder_ms: Vec<u64>,
    /// Waits before each lookup while the payer may still pay, in milliseconds; the last repeats.
    #[arg(long, env = "ONCEPAY_AWAITING_PAYER_MS", value_delimiter = ',',
          default_value = "5000,30000,300000",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    awaiting_payer_ms: Vec<u64>,
    /// The key that proves decisions, in hex; the API has the same.
    #[arg(long, env = "ONCEPAY_DECISION_KEY", hide_env_values = true)]
    decision_key: Option<SecretString>,
    /// A file that holds the decision key.
    #[arg(long, env = "ONCEPAY_DECISION_KEY_FILE")]
    decision_key_file: Option<PathBuf>,
    /// Above these amounts two people must decide a review the same: `CUR:MINOR UNITS`, separated
    /// by commas. A currency that is not listed always needs two.
    #[arg(long, env = "ONCEPAY_FOUR_EYES_ABOVE", default_value = "CNY:100000")]
    four_eyes_above: FourEyes,
    /// How much is logged, as `tracing` filters are written.
    #[arg(long, env = "ONCEPAY_LOG", default_value = "info,temporalio_sdk_core=warn")]
    pub log: String,
}

impl Config {
    /// From the command line and the environment.
    ///
    /// # Errors
    /// What clap says, and the variables of the arguments that it names.
    pub fn read() -> Result<Self, (clap::Error, String)> {
        Self::try_parse().map_err(|error| {
            let variables = variables(&error);
            (error, variables)
        })
    }

    pub fn database_url(&self) -> Result<SecretString> {
        secret(
            "ONCEPAY_DATABASE_URL",
            self.database_url.as_ref(),
            self.database_url_file.as_deref(),
        )
    }

    pub fn decision_key(&self) -> Result<Vec<u8>> {
        const NAME: &str = "ONCEPAY_DECISION_KEY";
        let text = secret(NAME, self.decision_key.as_ref(), self.decision_key_file.as_deref())?;
        let key =
            hex::decode(text.expose_secret()).with_context(|| format!("{NAME} is not hex"))?;
        let least = MIN_DECISION_KEY_LEN;
        ensure!(key.len() >= least, "{NAME} must have at least {least} bytes");
        Ok(key)
    }

    pub fn channels(&self) -> Result<channels::Channels> {
        let (url, file) = (&self.sandbox_url, &self.sandbox_accounts_file);
        let name = "ONCEPAY_SANDBOX_ACCOUNTS_FILE";
        let list = std::fs::read_to_string(file).with_context(|| format!("reading {name}"))?;
        channels::sandbox::accounts(url, &list)
            .with_context(|| format!("ONCEPAY_SANDBOX_URL or {name} cannot be used"))
    }

    pub fn settings(&self) -> Result<activities::Settings> {
        for (name, ladder) in [
            ("ONCEPAY_LOOKUP_LADDER_MS", &self.ladder_ms),
            ("ONCEPAY_AWAITING_PAYER_MS", &self.awaiting_payer_ms),
        ] {
            let fits = (1..=MAX_RUNGS).contains(&ladder.len());
            ensure!(fits, "{name} must have 1 to {MAX_RUNGS} waits");
        }
        Ok(activities::Settings {
            ladder_ms: self.ladder_ms.clone(),
            awaiting_payer_ms: self.awaiting_payer_ms.clone(),
            decision_key: self.decision_key()?,
            four_eyes: self.four_eyes_above.clone(),
        })
    }
}

/// The variables of the arguments that an error names: most people set those.
fn variables(error: &clap::Error) -> String {
    let text = error.to_string();
    let named = text.split("Usage:").next().unwrap_or_default();
    let command = Config::command();
    let found = command.get_arguments().filter_map(|arg| {
        let is_named = named.contains(&format!("--{} ", arg.get_long()?));
        is_named.then(|| arg.get_env().map(|name| name.to_string_lossy().into_owned()))?
    });
    found.collect::<Vec<_>>().join(", ")
}

/// A secret from its variable, or from the file that the variable with `_FILE` names.
fn secret(name: &str, value: Option<&SecretString>, file: Option<&Path>) -> Result<SecretString> {
    match (value, file) {
        (Some(value), None) => Ok(value.clone()),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("reading the file of {name}_FILE"))?;
            Ok(SecretString::from(text.trim_end().to_owned()))
        }
        (Some(_), Some(_)) => bail!("{name} and {name}_FILE are both set"),
        (None, None) => bail!("{name} must be set"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &[&str]) -> Result<Config, String> {
        let base = [
            "worker",
            "--fulfilment-url=http://127.0.0.1:1/f",
            "--sandbox-url=http://127.0.0.1:1",
            "--sandbox-accounts-file=accounts.json",
        ];
        let parsed = Config::try_parse_from(base.iter().chain(more));
        parsed.map_err(|error| format!("{error} {}", variables(&error)))
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (flag, value) in [
            ("--temporal-address", "not an address"),
            ("--worker-listen", "nowhere"),
            ("--worker-metrics-listen", "nowhere"),
            ("--lookup-ladder-ms", "0"),
            ("--lookup-ladder-ms", "1,x"),
            ("--database-connections", "0"),
            ("--four-eyes-above", "1000"),
        ] {
            let error = parse(&[flag, value]).expect_err("refused");
            assert!(error.contains(flag), "{error}");
            let variable = flag[2..].replace('-', "_").to_uppercase();
            assert!(error.ends_with(&format!("ONCEPAY_{variable}")), "{error}");
        }
    }

    #[test]
    fn a_missing_setting_is_named_by_its_variable() {
        let error = Config::try_parse_from(["worker"]).expect_err("refused");
        for name in ["FULFILMENT_URL", "SANDBOX_URL", "SANDBOX_ACCOUNTS_FILE"] {
            assert!(variables(&error).contains(&format!("ONCEPAY_{name}")), "{error}");
        }
    }

    #[test]
    fn a_missing_or_short_key_stops_the_start() {
        let error = |config: Config| config.decision_key().expect_err("refused").to_string();
        assert!(error(parse(&[]).expect("parses")).contains("ONCEPAY_DECISION_KEY"));
        for key in ["abc", "zz", "00112233"] {
            let config = parse(&["--decision-key", key]).expect("parses");
            assert!(error(config).contains("ONCEPAY_DECISION_KEY"));
        }
    }

    #[test]
    fn a_ladder_has_a_limit() {
        let long = vec!["1"; MAX_RUNGS + 1].join(",");
        let config = parse(&["--lookup-ladder-ms", &long, "--decision-key", &"00".repeat(16)]);
        let error = config.expect("parses").settings().err().expect("refused").to_string();
        assert!(error.contains("ONCEPAY_LOOKUP_LADDER_MS"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = parse(&["--decision-key", "feedfacefeedfacefeedfacefeedface"]);
        assert!(!format!("{:?}", config.expect("parses")).contains("feedface"));
    }
}
