//! The worker's settings: from the environment or the command line, read once, checked before
//! anything starts.

use activities::limits::{FourEyes, MAX_RUNGS, MIN_DECISION_KEY_LEN};
use anyhow::{Context, Result, bail, ensure};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use secrecy::{ExposeSecret, SecretString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use url::Url;

/// Runs payment workflows and their activities.
#[derive(Debug, Parser)]
#[command(name = "worker", version)]
pub struct Config {
    /// PostgreSQL, under the role `oncepay_worker`. This or its file is required.
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
    #[arg(long, env = "ONCEPAY_WORKER_LISTEN", default_value = "127.0.0.1:8081")]
    pub listen: SocketAddr,
    /// Where metrics are served, under /metrics.
    #[arg(long, env = "ONCEPAY_WORKER_METRICS_LISTEN", default_value = "127.0.0.1:9465")]
    pub metrics_listen: SocketAddr,
    /// The sandbox channel's address.
    #[arg(long, env = "ONCEPAY_SANDBOX_URL")]
    pub sandbox_url: String,
    /// A file with the sandbox accounts, a JSON list.
    #[arg(long, env = "ONCEPAY_SANDBOX_ACCOUNTS_FILE")]
    sandbox_accounts_file: PathBuf,
    /// The merchant's address for fulfilment; what it answers is told below.
    #[arg(long, env = "ONCEPAY_FULFILMENT_URL")]
    pub fulfilment_url: String,
    /// Waits before each lookup of an unknown outcome, in milliseconds, separated by commas.
    #[arg(long, env = "ONCEPAY_LOOKUP_LADDER_MS", value_delimiter = ',',
          default_value = "1000,3000,10000,30000,300000,1800000",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    ladder_ms: Vec<u64>,
    /// Waits before each lookup while the payer may still pay, in milliseconds; the last repeats.
    #[arg(long, env = "ONCEPAY_AWAITING_PAYER_MS", value_delimiter = ',',
          default_value = "5000,30000,300000",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    awaiting_payer_ms: Vec<u64>,
    /// The key that proves decisions, in hex, at least 16 bytes; the API has the same. This or its
    /// file is required.
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

/// The settings, from the command line and the environment. Ends the program with what is wrong,
/// and how the setting is called in the environment.
pub fn read() -> Config {
    Config::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        for variable in variables_of(&error) {
            eprintln!("It is also set by {variable}.");
        }
        std::process::exit(error.exit_code());
    })
}

/// The variables of the arguments that an error is about: whoever has set a variable does not know
/// the argument's name.
fn variables_of(error: &clap::Error) -> Vec<String> {
    let told = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => vec![argument.clone()],
        Some(ContextValue::Strings(arguments)) => arguments.clone(),
        _ => Vec::new(),
    };
    let command = Config::command();
    let variable = |told: String| {
        let long = told.split([' ', '=']).next()?.strip_prefix("--")?.to_owned();
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(&long))?;
        Some(arg.get_env()?.to_string_lossy().into_owned())
    };
    told.into_iter().filter_map(variable).collect()
}

impl Config {
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
        try_parse(more).map_err(|error| error.to_string())
    }

    fn try_parse(more: &[&str]) -> Result<Config, clap::Error> {
        let base = [
            "worker",
            "--fulfilment-url=http://127.0.0.1:1/f",
            "--sandbox-url=http://127.0.0.1:1",
            "--sandbox-accounts-file=accounts.json",
        ];
        Config::try_parse_from(base.iter().chain(more))
    }

    #[test]
    fn an_error_names_the_variable_as_well() {
        let error = try_parse(&["--ladder-ms", "0"]).expect_err("refused");
        assert_eq!(variables_of(&error), ["ONCEPAY_LOOKUP_LADDER_MS"]);
        let error = Config::try_parse_from(["worker"]).expect_err("nothing is set");
        let required =
            ["ONCEPAY_SANDBOX_URL", "ONCEPAY_SANDBOX_ACCOUNTS_FILE", "ONCEPAY_FULFILMENT_URL"];
        assert_eq!(variables_of(&error), required);
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (flag, value) in [
            ("--temporal-address", "not an address"),
            ("--listen", "nowhere"),
            ("--metrics-listen", "nowhere"),
            ("--ladder-ms", "0"),
            ("--ladder-ms", "1,x"),
            ("--database-connections", "0"),
            ("--four-eyes-above", "1000"),
        ] {
            let error = parse(&[flag, value]).expect_err("refused");
            assert!(error.contains(flag), "{error}");
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
        let config = parse(&["--ladder-ms", &long, "--decision-key", &"00".repeat(16)]);
        let error = config.expect("parses").settings().err().expect("refused").to_string();
        assert!(error.contains("ONCEPAY_LOOKUP_LADDER_MS"), "{error}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = parse(&["--decision-key", "feedfacefeedfacefeedfacefeedface"]);
        assert!(!format!("{:?}", config.expect("parses")).contains("feedface"));
    }
}
