//! What this program is told when it starts: one struct, the environment first. Nothing is read
//! later. A bad value stops the start with a message that names the setting; the value itself is
//! not repeated where it may be a secret.

use crate::web_ui::WebUi;
use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use domain::audit::MIN_DECISION_KEY_LEN;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tracing_subscriber::EnvFilter;
use url::Url;

/// Most connections to PostgreSQL that one process may be told to open.
const MAX_CONNECTIONS: u32 = 1_000;

/// Oncepay takes a payment exactly once in effect.
#[derive(Debug, Parser)]
#[command(name = "oncepay", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer HTTP until SIGTERM or Ctrl-C.
    Serve(ServeArgs),
    /// Take a payment for an order through the API.
    Pay(crate::cli::pay::PayArgs),
    /// Show a payment (`pay_…`), an order (`ord_…`) or a review (`rev_…`).
    Status(crate::cli::status::StatusArgs),
    /// Say why a payment is where it is, what it waits for, and what you may do about it.
    Explain(crate::cli::explain::ExplainArgs),
    /// Show everything that happened to an order.
    Trace(crate::cli::trace::TraceArgs),
    /// Wake the workflows of payments, or start them where none is open. Safe to repeat.
    Resume(crate::cli::resume::ResumeArgs),
    /// List, show and decide reviews.
    #[command(subcommand)]
    Review(crate::cli::review::ReviewCommand),
    /// Whether this machine is set up to take payments.
    #[command(subcommand)]
    Config(crate::cli::config::ConfigCommand),
    /// Bring the database's schema up to date.
    Migrate(crate::cli::migrate::MigrateArgs),
    /// Who may decide reviews.
    #[command(subcommand)]
    Operator(crate::cli::operator::OperatorCommand),
    /// Merchants and what they sell.
    #[command(subcommand)]
    Catalog(crate::cli::catalog::CatalogCommand),
}

/// Where PostgreSQL is, and under which role.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// Address of the database, with its role: `postgres://ROLE:PASSWORD@HOST/DATABASE`.
    #[arg(long, env = "ONCEPAY_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<SecretString>,
    /// A file that holds the address of the database.
    #[arg(long, env = "ONCEPAY_DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The address, from the setting or its file.
    ///
    /// # Errors
    /// A message that names the setting.
    pub(crate) fn read(&self) -> anyhow::Result<SecretString> {
        let file = self.database_url_file.as_deref();
        let url = secret("ONCEPAY_DATABASE_URL", self.database_url.as_ref(), file)?;
        let url = url.context("ONCEPAY_DATABASE_URL or ONCEPAY_DATABASE_URL_FILE is required")?;
        let parsed = Url::parse(url.expose_secret()).context("ONCEPAY_DATABASE_URL is no URL")?;
        if !matches!(parsed.scheme(), "postgres" | "postgresql") {
            bail!("ONCEPAY_DATABASE_URL must begin with postgres://");
        }
        Ok(url)
    }
}

/// Where the API is, for the commands that ask it.
#[derive(Debug, Args)]
pub(crate) struct ApiArgs {
    /// Address of the API.
    #[arg(
        long = "api",
        env = "ONCEPAY_API",
        default_value = "http://127.0.0.1:8080",
        value_parser = |text: &str| http_url("ONCEPAY_API", text)
    )]
    pub api: Url,
    /// Print the API's JSON instead of words for people.
    #[arg(long)]
    pub json: bool,
}

/// Who asks, where that is an operator.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Your operator's token.
    #[arg(long, env = "ONCEPAY_OPERATOR_TOKEN", hide_env_values = true)]
    token: Option<SecretString>,
    /// A file that holds your operator's token.
    #[arg(long, env = "ONCEPAY_OPERATOR_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// The token, from the setting or its file.
    ///
    /// # Errors
    /// A message that names the setting.
    pub(crate) fn read(&self) -> anyhow::Result<Option<SecretString>> {
        secret("ONCEPAY_OPERATOR_TOKEN", self.token.as_ref(), self.token_file.as_deref())
    }

    /// The token, which must be there.
    ///
    /// # Errors
    /// A message that names the setting.
    pub(crate) fn require(&self) -> anyhow::Result<SecretString> {
        self.read()?.context("ONCEPAY_OPERATOR_TOKEN or --token is required")
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port to answer HTTP on.
    #[arg(long, env = "ONCEPAY_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen)]
    listen: SocketAddr,
    /// Address and port to serve metrics on, under `/metrics`.
    #[arg(long, env = "ONCEPAY_METRICS_LISTEN", default_value = "127.0.0.1:9464",
        value_parser = |text: &str| metrics_listen(text))]
    metrics_listen: SocketAddr,
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Most connections to PostgreSQL.
    #[arg(
        long,
        env = "ONCEPAY_DATABASE_CONNECTIONS",
        default_value = "8",
        value_parser = connections
    )]
    database_connections: u32,
    /// Address of Temporal.
    #[arg(
        long,
        env = "ONCEPAY_TEMPORAL_ADDRESS",
        default_value = "http://127.0.0.1:7233",
        value_parser = |text: &str| http_url("ONCEPAY_TEMPORAL_ADDRESS", text)
    )]
    temporal_address: Url,
    /// Temporal's namespace.
    #[arg(long, env = "ONCEPAY_TEMPORAL_NAMESPACE", default_value = "default",
        value_parser = |text: &str| not_blank("ONCEPAY_TEMPORAL_NAMESPACE", text))]
    temporal_namespace: String,
    /// Task queue that the workers of payments listen to.
    #[arg(long, env = "ONCEPAY_TASK_QUEUE", default_value = workflows::ids::PAYMENTS_QUEUE,
        value_parser = |text: &str| not_blank("ONCEPAY_TASK_QUEUE", text))]
    task_queue: String,
    /// Key for decision stamps, in hex, at least 16 bytes; the worker has the same.
    #[arg(long, env = "ONCEPAY_DECISION_KEY", hide_env_values = true)]
    decision_key: Option<SecretString>,
    /// A file that holds the key for decision stamps.
    #[arg(long, env = "ONCEPAY_DECISION_KEY_FILE")]
    decision_key_file: Option<PathBuf>,
    /// Address of the Temporal Web UI, for links to a payment's workflow.
    #[arg(
        long,
        env = "ONCEPAY_WEB_UI_URL",
        value_parser = |text: &str| http_url("ONCEPAY_WEB_UI_URL", text)
    )]
    web_ui_url: Option<Url>,
    /// Which log lines are written: a level, or `target=level` pairs.
    #[arg(long, env = "ONCEPAY_LOG", default_value = "info",
        value_parser = |text: &str| log_filter(text).map(|_| text.to_owned()))]
    log: String,
}

/// Where Temporal is and which queue payments wait in.
#[derive(Clone, Debug)]
pub(crate) struct TemporalSettings {
    pub address: Url,
    pub namespace: String,
    pub task_queue: String,
}

/// What `oncepay serve` runs with: everything was checked.
#[derive(Debug)]
pub(crate) struct ServeSettings {
    pub listen: SocketAddr,
    pub metrics_listen: SocketAddr,
    pub database_url: SecretString,
    pub database_connections: u32,
    pub temporal: TemporalSettings,
    pub decision_key: SecretSlice<u8>,
    pub web_ui: Option<WebUi>,
    pub log: String,
}

impl ServeArgs {
    /// Checks what clap cannot check without repeating a secret.
    ///
    /// # Errors
    /// A message that names the setting.
    pub(crate) fn read(self) -> anyhow::Result<ServeSettings> {
        let (decision_key, temporal) = (self.key()?, self.temporal());
        let namespace = self.temporal_namespace.clone();
        Ok(ServeSettings {
            web_ui: self.web_ui_url.map(|address| WebUi { address, namespace }),
            listen: self.listen,
            metrics_listen: self.metrics_listen,
            database_url: self.database.read()?,
            database_connections: self.database_connections,
            temporal,
            decision_key,
            log: self.log,
        })
    }

    /// Where Temporal is; known also where another setting is missing.
    pub(crate) fn temporal(&self) -> TemporalSettings {
        TemporalSettings {
            address: self.temporal_address.clone(),
            namespace: self.temporal_namespace.clone(),
            task_queue: self.task_queue.clone(),
        }
    }

    /// # Errors
    /// A message that names the setting.
    pub(crate) fn key(&self) -> anyhow::Result<SecretSlice<u8>> {
        let (key, file) = (self.decision_key.as_ref(), self.decision_key_file.as_deref());
        let key = secret("ONCEPAY_DECISION_KEY", key, file)?;
        let key = key.context("ONCEPAY_DECISION_KEY or ONCEPAY_DECISION_KEY_FILE is required")?;
        decision_key(&key)
    }
}

/// A secret from its setting or from the file that the setting's `_FILE` names; not from both.
pub(crate) fn secret(
    setting: &str,
    value: Option<&SecretString>,
    file: Option<&Path>,
) -> anyhow::Result<Option<SecretString>> {
    let secret = match (value, file) {
        (Some(_), Some(_)) => bail!("{setting} and {setting}_FILE are both set; set one"),
        (None, None) => return Ok(None),
        (Some(value), None) => value.clone(),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("{setting}_FILE: reading {}", file.display()))?;
            SecretString::from(text.trim_end())
        }
    };
    if secret.expose_secret().trim().is_empty() {
        bail!("{setting} is empty");
    }
    Ok(Some(secret))
}

fn decision_key(hex_text: &SecretString) -> anyhow::Result<SecretSlice<u8>> {
    // The cause is dropped: it would repeat a character of the key.
    let key = hex::decode(hex_text.expose_secret()).ok();
    match key.filter(|key| key.len() >= MIN_DECISION_KEY_LEN) {
        Some(key) => Ok(SecretSlice::from(key)),
        None => bail!("ONCEPAY_DECISION_KEY must be hex of at least {MIN_DECISION_KEY_LEN} bytes"),
    }
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "ONCEPAY_LISTEN must be like 127.0.0.1:8080".to_owned())
}

fn metrics_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "ONCEPAY_METRICS_LISTEN must be like 127.0.0.1:9464".to_owned())
}

fn connections(text: &str) -> Result<u32, String> {
    let rule = || format!("ONCEPAY_DATABASE_CONNECTIONS must be 1 to {MAX_CONNECTIONS}");
    text.parse().ok().filter(|n| (1..=MAX_CONNECTIONS).contains(n)).ok_or_else(rule)
}

fn http_url(setting: &str, text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.filter(Url::has_host).ok_or_else(|| format!("{setting} must be like http://127.0.0.1:7233"))
}

fn not_blank(setting: &str, text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("{setting} is empty")) } else { Ok(text.to_owned()) }
}

/// Reads the filter of log lines.
///
/// # Errors
/// A message that names the setting.
pub(crate) fn log_filter(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(text).map_err(|error| format!("ONCEPAY_LOG: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn serve(args: &[&str]) -> Result<ServeSettings, String> {
        let all = ["oncepay", "serve"].iter().chain(args);
        match Cli::try_parse_from(all).map_err(|error| error.to_string())?.command {
            Command::Serve(args) => args.read().map_err(|error| format!("{error:#}")),
            other => Err(format!("{other:?}")),
        }
    }

    const GOOD: [&str; 2] = [
        "--database-url=postgres://oncepay_api@127.0.0.1/oncepay",
        "--decision-key=000102030405060708090a0b0c0d0e0f",
    ];

    #[test]
    fn the_least_that_must_be_set_is_the_database_and_the_key() {
        let settings = serve(&GOOD).expect("enough");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.temporal.task_queue, "payments");
        assert_eq!(settings.database_connections, 8);
    }

    #[test]
    fn a_bad_value_stops_the_start_and_names_its_setting() {
        let cases = [
            ("--listen=nowhere", "ONCEPAY_LISTEN"),
            ("--metrics-listen=nowhere", "ONCEPAY_METRICS_LISTEN"),
            ("--database-connections=0", "ONCEPAY_DATABASE_CONNECTIONS"),
            ("--temporal-address=localhost:7233", "ONCEPAY_TEMPORAL_ADDRESS"),
            ("--temporal-namespace=", "ONCEPAY_TEMPORAL_NAMESPACE"),
            ("--task-queue= ", "ONCEPAY_TASK_QUEUE"),
            ("--web-ui-url=localhost:8233", "ONCEPAY_WEB_UI_URL"),
            ("--log=a=b=c", "ONCEPAY_LOG"),
            ("--decision-key-file=/does/not/exist", "ONCEPAY_DECISION_KEY"),
            ("--database-url-file=/does/not/exist", "ONCEPAY_DATABASE_URL"),
        ];
        for (bad, setting) in cases {
            let error = serve(&[GOOD[0], GOOD[1], bad]).expect_err(bad);
            assert!(error.contains(setting), "{bad}: {error}");
        }
        for (args, setting) in [
            ([GOOD[0], "--decision-key=00"], "ONCEPAY_DECISION_KEY"),
            ([GOOD[0], "--decision-key="], "ONCEPAY_DECISION_KEY"),
            ([GOOD[1], "--database-url=mysql://x/y"], "ONCEPAY_DATABASE_URL"),
            ([GOOD[1], "--database-url=x"], "ONCEPAY_DATABASE_URL"),
        ] {
            let error = serve(&args).expect_err("refused");
            assert!(error.contains(setting), "{error}");
        }
    }

    #[test]
    fn no_secret_is_ever_printed() {
        let key = format!("--decision-key={TOKEN}{TOKEN}");
        let settings = serve(&[GOOD[0], &key]).expect("good");
        let printed = format!("{settings:?}");
        assert!(!printed.contains(TOKEN), "{printed}");
        assert!(!printed.contains("oncepay_api@"), "{printed}");
        let bad = format!("--decision-key=zz{TOKEN}");
        let error = serve(&[GOOD[0], &bad]).expect_err("refused");
        assert!(!error.contains(TOKEN), "{error}");
    }
}
