//! Where the parts of a stack listen, and what each program is told.
//!
//! The only place that knows the names of our programs' settings.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::binaries::Binaries;
use crate::keys::Keys;
use crate::paths::Workspace;
use crate::ports;
use crate::process::Program;
use crate::temporal::NAMESPACE;

/// The database's name.
pub const DATABASE: &str = "oncepay";
/// Waits before each lookup of a payment whose outcome is unknown: short, somebody is watching.
const LOOKUP_LADDER_MS: &str = "1000,2000,3000";
/// The same for the lookups while a payer must act.
const AWAITING_PAYER_MS: &str = "1000,2000,3000";

/// Wished ports; a taken one is replaced by a free one. 0 means any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub http: u16,
    pub temporal: u16,
    pub ui: u16,
    pub postgres: u16,
    pub sandbox: u16,
    pub fulfilment: u16,
    pub worker: u16,
}

impl Ports {
    /// The well-known ones of `cargo dev up`.
    pub const PREFERRED: Self = Self {
        http: 8080,
        temporal: 7233,
        ui: 8233,
        postgres: 5434,
        sandbox: 8090,
        fulfilment: 8091,
        worker: 8081,
    };

    /// Any free ones.
    pub const ANY: Self =
        Self { http: 0, temporal: 0, ui: 0, postgres: 0, sandbox: 0, fulfilment: 0, worker: 0 };

    /// Replaces taken ports; [`Addresses::replaced`] says which.
    pub(super) fn settle(self) -> Result<Self> {
        Ok(Self {
            http: ports::prefer(self.http)?,
            temporal: ports::prefer(self.temporal)?,
            ui: ports::prefer(self.ui)?,
            postgres: ports::prefer(self.postgres)?,
            sandbox: ports::prefer(self.sandbox)?,
            fulfilment: ports::prefer(self.fulfilment)?,
            worker: ports::prefer(self.worker)?,
        })
    }
}

/// What to tell about a port that is not the wished one.
fn replacement(name: &str, wished: u16, port: u16) -> Option<String> {
    let replaced = wished != 0 && port != wished;
    replaced.then(|| format!("port {wished} is taken; {name} gets {port}"))
}

/// Servers that somebody else runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// The URL of a role that may create roles and databases.
    pub database_admin_url: Option<String>,
    /// `HOST:PORT`.
    pub temporal_address: Option<String>,
}

impl External {
    /// From `ONCEPAY_DEV_DATABASE_ADMIN_URL` and `ONCEPAY_DEV_TEMPORAL_ADDRESS`.
    #[must_use]
    pub fn from_env() -> Self {
        let read = |name| env::var(name).ok().filter(|value: &String| !value.is_empty());
        let temporal_address = read("ONCEPAY_DEV_TEMPORAL_ADDRESS")
            .map(|address| address.trim_start_matches("http://").trim_end_matches('/').to_owned());
        Self { database_admin_url: read("ONCEPAY_DEV_DATABASE_ADMIN_URL"), temporal_address }
    }
}

/// Where everything answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// The starter's HTTP API.
    pub http: String,
    /// `HOST:PORT`.
    pub temporal: String,
    /// `None` for a Temporal that somebody else runs.
    pub ui: Option<String>,
    /// For the role that may create databases.
    pub database_admin: String,
    /// For the role that owns the schema.
    pub database: String,
    pub sandbox: String,
    pub fulfilment: String,
    pub worker: String,
}

impl Addresses {
    /// From settled ports and what somebody else runs.
    pub(super) fn new(ports: Ports, external: &External) -> Result<Self> {
        let local = |port: u16| format!("http://127.0.0.1:{port}");
        let own_admin = || format!("postgres://postgres@127.0.0.1:{}/postgres", ports.postgres);
        let database_admin = external.database_admin_url.clone().unwrap_or_else(own_admin);
        let own_temporal = external.temporal_address.is_none();
        let temporal = external.temporal_address.clone();
        Ok(Self {
            http: local(ports.http),
            temporal: temporal.unwrap_or_else(|| format!("127.0.0.1:{}", ports.temporal)),
            ui: own_temporal.then(|| local(ports.ui)),
            database: role_url(&database_admin, "oncepay_owner", DATABASE)?,
            database_admin,
            sandbox: local(ports.sandbox),
            fulfilment: local(ports.fulfilment),
            worker: local(ports.worker),
        })
    }

    /// What to tell about the ports that are not the well-known ones. Servers that somebody else
    /// runs have the port that they have.
    #[must_use]
    pub fn replaced(&self) -> Vec<String> {
        let own =
            |address: &str| address.rsplit_once("127.0.0.1:")?.1.split('/').next()?.parse().ok();
        let wished = Ports::PREFERRED;
        let ui = self.ui.as_deref().unwrap_or_default();
        let temporal = if ui.is_empty() { "" } else { &self.temporal };
        [
            ("the HTTP API", wished.http, self.http.as_str()),
            ("Temporal", wished.temporal, temporal),
            ("the Web UI", wished.ui, ui),
            ("PostgreSQL", wished.postgres, &self.database),
            ("the sandbox", wished.sandbox, &self.sandbox),
            ("fulfilment", wished.fulfilment, &self.fulfilment),
            ("the worker", wished.worker, &self.worker),
        ]
        .into_iter()
        .filter_map(|(name, wished, address)| replacement(name, wished, own(address)?))
        .collect()
    }

    /// The page of one workflow in the Web UI.
    #[must_use]
    pub fn workflow_page(&self, workflow_id: &str) -> Option<String> {
        let id = workflow_id.replace('%', "%25").replace('/', "%2F");
        let ui = self.ui.as_ref()?;
        Some(format!("{ui}/namespaces/{NAMESPACE}/workflows/{id}"))
    }

    /// The rows of the table that people see.
    #[must_use]
    pub fn rows(&self, workspace: &Workspace) -> Vec<Vec<String>> {
        let shown = |path: PathBuf| path.display().to_string();
        let rows = [
            ("HTTP API", self.http.clone()),
            ("Web UI", self.ui.clone().unwrap_or_else(|| "(not ours)".to_owned())),
            ("Temporal", self.temporal.clone()),
            ("PostgreSQL", self.database.clone()),
            ("Sandbox", self.sandbox.clone()),
            ("Fulfilment", self.fulfilment.clone()),
            ("Worker", self.worker.clone()),
            ("Operators", shown(workspace.dev_dir().join("keys.json"))),
            ("Logs", shown(workspace.dev_dir().join("logs"))),
        ];
        rows.map(|(name, value)| vec![name.to_owned(), value]).to_vec()
    }
}

/// The same server for another role and database; a password in the URL is kept for all roles.
pub(super) fn role_url(admin: &str, role: &str, database: &str) -> Result<String> {
    let (scheme, rest) = admin.split_once("://").context("the database URL has no ://")?;
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(a, b)| (a, Some(b)));
    let authority = rest.split('/').next().unwrap_or(rest);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let password = user.split_once(':').map_or(String::new(), |(_, word)| format!(":{word}"));
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    Ok(format!("{scheme}://{role}{password}@{host}/{database}{query}"))
}

/// What the programs of one stack share.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    pub workspace: &'a Workspace,
    pub binaries: &'a Binaries,
    pub addresses: &'a Addresses,
    pub keys: &'a Keys,
    pub data_dir: &'a Path,
    pub logs_dir: &'a Path,
}

impl Setting<'_> {
    fn program(&self, name: &str, file: &Path) -> Program {
        Program::new(name, file, self.logs_dir.join(format!("{name}.log")))
    }

    fn accounts_file(&self) -> PathBuf {
        self.workspace.join("dev/demo/sandbox-accounts.json")
    }

    fn with_temporal(&self, program: Program) -> Program {
        program
            .env("ONCEPAY_TEMPORAL_ADDRESS", format!("http://{}", self.addresses.temporal))
            .env("ONCEPAY_TEMPORAL_NAMESPACE", NAMESPACE)
            .env("ONCEPAY_TASK_QUEUE", "payments")
            .env("ONCEPAY_DECISION_KEY", &self.keys.decision_key)
    }

    pub(super) fn sandbox(&self) -> Program {
        self.program("sandbox", &self.binaries.sandbox)
            .args(["--listen", authority(&self.addresses.sandbox)])
            .args(["--fulfilment-listen", authority(&self.addresses.fulfilment)])
            .arg("--accounts")
            .arg(self.accounts_file())
            .arg("--ledger")
            .arg(self.data_dir.join("sandbox-ledger"))
    }

    pub(super) fn worker(&self) -> Result<Program> {
        let database = role_url(&self.addresses.database, "oncepay_worker", DATABASE)?;
        let fulfilment = format!("{}/fulfilments", self.addresses.fulfilment);
        let program = self
            .program("worker", &self.binaries.worker)
            .env("ONCEPAY_DATABASE_URL", database)
            .env("ONCEPAY_WORKER_LISTEN", authority(&self.addresses.worker))
            .env("ONCEPAY_SANDBOX_URL", &self.addresses.sandbox)
            .env("ONCEPAY_SANDBOX_ACCOUNTS_FILE", self.accounts_file())
            .env("ONCEPAY_FULFILMENT_URL", fulfilment)
            .env("ONCEPAY_LOOKUP_LADDER_MS", LOOKUP_LADDER_MS)
            .env("ONCEPAY_AWAITING_PAYER_MS", AWAITING_PAYER_MS);
        Ok(self.with_temporal(program))
    }

    pub(super) fn starter(&self) -> Result<Program> {
        let database = role_url(&self.addresses.database, "oncepay_api", DATABASE)?;
        let program = self
            .program("starter", &self.binaries.oncepay)
            .arg("serve")
            .env("ONCEPAY_LISTEN", authority(&self.addresses.http))
            .env("ONCEPAY_DATABASE_URL", database);
        let program = match &self.addresses.ui {
            Some(ui) => program.env("ONCEPAY_WEB_UI_URL", ui),
            None => program,
        };
        Ok(self.with_temporal(program))
    }

    pub(super) fn migrate(&self) -> Program {
        self.program("migrate", &self.binaries.oncepay)
            .args(["migrate", "--admin-url", &self.addresses.database_admin])
            .args(["--database", DATABASE])
    }

    /// With the token of the keys, whatever token the name had before.
    pub(super) fn add_operator(&self, name: &str, token: &str) -> Program {
        self.program("operator", &self.binaries.oncepay)
            .args(["operator", "add", name, "--replace"])
            .env("ONCEPAY_DATABASE_URL", &self.addresses.database)
            .env("ONCEPAY_NEW_OPERATOR_TOKEN", token)
    }

    pub(super) fn import_catalog(&self) -> Program {
        self.program("catalog", &self.binaries.oncepay)
            .args(["catalog", "import"])
            .arg(self.workspace.join("dev/demo/catalog.json"))
            .env("ONCEPAY_DATABASE_URL", &self.addresses.database)
    }
}

fn authority(url: &str) -> &str {
    url.strip_prefix("http://").unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_gets_the_same_server() {
        let own = "postgres://postgres@127.0.0.1:5434/postgres";
        let url = role_url(own, "oncepay_api", "oncepay").unwrap();
        assert_eq!(url, "postgres://oncepay_api@127.0.0.1:5434/oncepay");
        let other = "postgresql://admin:p%40ss@db.example:6432/x?sslmode=require";
        let url = role_url(other, "oncepay_worker", "oncepay").unwrap();
        assert_eq!(
            url,
            "postgresql://oncepay_worker:p%40ss@db.example:6432/oncepay?sslmode=require"
        );
        assert_eq!(role_url("postgres://h", "r", "d").unwrap(), "postgres://r@h/d");
        assert!(role_url("h:5432", "r", "d").is_err());
    }

    #[test]
    fn whoever_starts_in_the_background_hears_which_ports_were_replaced() {
        let ports = Ports { http: 21_001, ..Ports::PREFERRED };
        let addresses = Addresses::new(ports, &External::default()).unwrap();
        assert_eq!(addresses.replaced(), ["port 8080 is taken; the HTTP API gets 21001"]);
        let usual = Addresses::new(Ports::PREFERRED, &External::default()).unwrap();
        assert_eq!(usual.replaced(), Vec::<String>::new());
        let external = External {
            database_admin_url: None,
            temporal_address: Some("127.0.0.1:9999".to_owned()),
        };
        let other = Addresses::new(Ports::PREFERRED, &external).unwrap();
        assert_eq!(other.replaced(), Vec::<String>::new(), "it is not ours");
    }

    #[test]
    fn a_workflow_page_has_the_slashes_of_the_id_escaped() {
        let addresses = Addresses { ui: Some("http://h:1".to_owned()), ..Addresses::default() };
        let page = addresses.workflow_page("payment/demo/k").unwrap();
        assert_eq!(page, "http://h:1/namespaces/default/workflows/payment%2Fdemo%2Fk");
    }
}
