//! The servers that scenarios share: one PostgreSQL with a migrated template, one Temporal. Both
//! end with the test process.

use anyhow::{Context, Result};
use dev::binaries::{Binaries, build};
use dev::identity::Identity;
use dev::paths::Workspace;
use dev::postgres::{self, Postgres, PostgresOptions};
use dev::temporal::{self, TemporalServer};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const TEMPLATE: &str = "oncepay_template";
const FOLDER: &str = "oncepay-tests-";

/// What all scenarios of this process use.
pub struct Servers {
    pub workspace: Workspace,
    pub binaries: Binaries,
    pub postgres: Postgres,
    pub temporal: TemporalServer,
    folder: PathBuf,
    count: AtomicU32,
}

static SERVERS: OnceLock<Servers> = OnceLock::new();

/// The shared servers, started by whoever needs them first.
///
/// # Panics
/// When they cannot be started: the message says what to install.
pub fn servers() -> &'static Servers {
    SERVERS.get_or_init(|| {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Servers::start().unwrap_or_else(|error| panic!("starting the servers: {error:#}"))
    })
}

impl Servers {
    fn start() -> Result<Self> {
        let workspace = Workspace::find()?;
        remove_left_over_folders();
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
        dev::paths::create_dir(&folder)?;
        let postgres = start_postgres(&workspace, &folder.join("postgres"))?;
        let temporal = start_temporal(&workspace, &folder.join("temporal"))?;
        let binaries = build(&workspace)?;
        Ok(Self { workspace, binaries, postgres, temporal, folder, count: AtomicU32::new(0) })
    }

    /// A folder of a scenario's own, and a short name that no other scenario has.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn place(&self) -> Result<(String, PathBuf)> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("w{}-{number}", std::process::id());
        let folder = self.folder.join(&name);
        dev::paths::create_dir(&folder)?;
        Ok((name, folder))
    }
}

/// Starts a PostgreSQL with a migrated template database in it.
///
/// # Errors
/// When there is none, or it does not start.
pub fn start_postgres(workspace: &Workspace, folder: &Path) -> Result<Postgres> {
    let binaries = postgres::Binaries::find(workspace)?;
    let server = Postgres::start(&binaries, &PostgresOptions::for_tests(folder))?;
    let (admin, owner) = (server.url("postgres", "postgres"), store::migrate::OWNER_ROLE);
    let migrated = server.url(owner, TEMPLATE);
    on_own_runtime(async move {
        store::migrate::create_database(&admin, TEMPLATE).await?;
        let store = store::Store::connect_lazy(&migrated, 2)?;
        store.migrate().await?;
        store.close().await;
        Ok::<_, store::StoreError>(())
    })
    .context("migrating the template")?;
    Ok(server)
}

/// Starts a Temporal server without a UI.
///
/// # Errors
/// When there is none, or it does not start.
pub fn start_temporal(workspace: &Workspace, folder: &Path) -> Result<TemporalServer> {
    dev::paths::create_dir(folder)?;
    let cli = temporal::find(workspace)?;
    let (file, log) = (folder.join("temporal.db"), folder.join("temporal.log"));
    TemporalServer::start(&cli, &file, 0, None, &log)
}

/// A database of a scenario's own, copied from the template.
///
/// # Errors
/// When PostgreSQL refuses.
pub fn create_database(server: &Postgres, name: &str) -> Result<()> {
    let owner = store::migrate::OWNER_ROLE;
    let sql = format!("CREATE DATABASE \"{name}\" TEMPLATE {TEMPLATE} OWNER {owner}");
    postgres::script(server.port(), "postgres", "postgres", &sql)
}

/// Runs async work from a place that may or may not be inside a runtime already.
fn on_own_runtime<T, E>(work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T>
where
    T: Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work).map_err(anyhow::Error::new)
    });
    thread.join().map_err(|_| anyhow::anyhow!("the thread of the work ended early"))?
}

/// Folders of test processes that are gone.
fn remove_left_over_folders() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| Identity::of(pid).is_none()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
