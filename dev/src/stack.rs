//! The whole system on one machine: PostgreSQL, Temporal, sandbox, worker and starter.
//!
//! Started in that order and stopped in the reverse one. What dies is started again. A server
//! that somebody else runs is used by its address and never stopped.

mod settings;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub use self::settings::{Addresses, DATABASE, External, Ports};

use self::settings::Setting;
use crate::binaries::Binaries;
use crate::http;
use crate::identity::Identity;
use crate::keys::Keys;
use crate::paths::Workspace;
use crate::postgres::{self, Postgres, PostgresOptions};
use crate::process::{Child, Program};
use crate::state::Listed;
use crate::temporal::{self, TemporalServer};

const READY_LIMIT: Duration = Duration::from_mins(1);
const STEP_LIMIT: Duration = Duration::from_mins(1);
const STOP_GRACE: Duration = Duration::from_secs(15);
/// How long a dead program stays down: long enough to read what happened.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// What to start.
#[derive(Clone, Debug)]
pub struct StackOptions {
    pub workspace: Workspace,
    /// Where the data lives on: the cluster, Temporal's file, the sandbox's ledger, the keys.
    pub data_dir: PathBuf,
    pub logs_dir: PathBuf,
    pub ports: Ports,
    pub external: External,
    /// Set from outside to give up between two steps of the start.
    pub stop: Arc<AtomicBool>,
}

/// A running stack. Dropping it stops it; the data stays.
#[derive(Debug)]
pub struct Stack {
    addresses: Addresses,
    ports: Ports,
    // In the order of stopping.
    programs: Vec<Supervised>,
    temporal: Option<TemporalServer>,
    postgres: Option<Postgres>,
}

impl Stack {
    /// Starts everything and waits until everything is ready.
    pub fn start(options: &StackOptions, binaries: &Binaries) -> Result<Self> {
        let ports = options.ports.settle()?;
        let mut addresses = Addresses::new(ports, &options.external)?;
        let keys = Keys::load_or_create(&options.data_dir.join("keys.json"))?;
        let postgres = start_postgres(options, ports.postgres)?;
        if let Some(own) = &postgres {
            addresses.database_admin = own.url("postgres", "postgres");
        }
        let temporal = start_temporal(options, ports)?;
        let mut stack = Self { addresses, ports, programs: Vec::new(), temporal, postgres };
        let addresses = stack.addresses.clone();
        let setting = Setting {
            workspace: &options.workspace,
            binaries,
            addresses: &addresses,
            keys: &keys,
            data_dir: &options.data_dir,
            logs_dir: &options.logs_dir,
        };
        options.go_on()?;
        setting.migrate().run(STEP_LIMIT).context("create and migrate the database")?;
        setting.import_catalog().run(STEP_LIMIT).context("import the demonstration's catalog")?;
        for (name, token) in &keys.operators {
            let added = setting.add_operator(name, token).run(STEP_LIMIT);
            added.with_context(|| format!("add the operator {name}"))?;
        }
        let programs = [
            (setting.sandbox(), format!("{}/healthz", addresses.sandbox), ports.sandbox),
            (setting.worker()?, format!("{}/readyz", addresses.worker), ports.worker),
            (setting.starter()?, format!("{}/readyz", addresses.http), ports.http),
        ];
        for (program, ready_url, port) in programs {
            options.go_on()?;
            let started = Supervised::start(program, ready_url, port)?;
            stack.programs.insert(0, started);
        }
        Ok(stack)
    }

    /// Where everything answers.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The processes that run now, in the order in which they are stopped.
    #[must_use]
    pub fn processes(&self) -> Vec<Listed> {
        let programs = self.programs.iter();
        let programs = programs.map(|one| (one.program.name(), one.port, one.child.pid()));
        let temporal = self.temporal.iter().map(|one| ("Temporal", one.port(), one.pid()));
        let postgres = self.postgres.iter().map(|one| ("PostgreSQL", one.port(), one.pid()));
        programs
            .chain(temporal)
            .chain(postgres)
            .filter_map(|(name, port, pid)| {
                Some(Listed { name: name.to_owned(), port, identity: Identity::of(pid)? })
            })
            .collect()
    }

    /// Starts again what has died; returns what to tell.
    pub fn supervise(&mut self) -> Result<Vec<String>> {
        let mut told = Vec::new();
        if let Some(postgres) = self.postgres.as_mut().filter(|one| !one.is_running()) {
            postgres.restart().context("start PostgreSQL again")?;
            told.push("PostgreSQL had ended and runs again".to_owned());
        }
        if let Some(temporal) = self.temporal.as_mut().filter(|one| !one.is_running()) {
            thread::sleep(RESTART_DELAY);
            temporal.restart().context("start Temporal again")?;
            told.push("Temporal had ended and runs again".to_owned());
        }
        for program in &mut self.programs {
            told.extend(program.supervise()?);
        }
        Ok(told)
    }

    /// Stops starter, worker, sandbox, Temporal and PostgreSQL, in this order.
    pub fn stop(&mut self) {
        for program in self.programs.drain(..) {
            program.child.terminate(STOP_GRACE);
        }
        if let Some(temporal) = self.temporal.take() {
            temporal.stop();
        }
        drop(self.postgres.take());
    }

    /// Where PostgreSQL's data really is; `None` for a server that somebody else runs.
    #[must_use]
    pub fn postgres_data(&self) -> Option<PathBuf> {
        self.postgres.as_ref().map(|postgres| postgres.data_dir().to_owned())
    }

    /// The ports that were settled on.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.ports
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.stop();
    }
}

impl StackOptions {
    /// For `cargo dev up`: data in `.dev`, the well-known ports, other servers by environment.
    pub fn for_up(workspace: &Workspace, stop: Arc<AtomicBool>) -> Result<Self> {
        Ok(Self {
            workspace: workspace.clone(),
            data_dir: workspace.dev_dir(),
            logs_dir: workspace.logs_dir()?,
            ports: Ports::PREFERRED,
            external: External::from_env(),
            stop,
        })
    }

    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }

    /// Each start has its own logs.
    fn fresh_log(&self, name: &str) -> PathBuf {
        let log = self.logs_dir.join(name);
        let _ = fs::remove_file(&log); // Not there is as good.
        log
    }
}

fn start_postgres(options: &StackOptions, port: u16) -> Result<Option<Postgres>> {
    if options.external.database_admin_url.is_some() {
        return Ok(None);
    }
    options.go_on()?;
    let binaries = postgres::Binaries::find(&options.workspace)?;
    eprintln!("starting PostgreSQL {} ({}) …", binaries.major, binaries.dir.display());
    let options = PostgresOptions {
        data_dir: options.data_dir.join(format!("postgres-{}", binaries.major)),
        port,
        fast: false,
        log: options.fresh_log("postgres.log"),
    };
    Postgres::start(&binaries, &options).map(Some)
}

fn start_temporal(options: &StackOptions, ports: Ports) -> Result<Option<TemporalServer>> {
    if let Some(address) = &options.external.temporal_address {
        let cli = temporal::find(&options.workspace);
        if cli.is_ok_and(|cli| !temporal::is_ready(&cli, address)) {
            eprintln!("Temporal at {address} does not answer, or lacks our search attributes");
        }
        return Ok(None);
    }
    options.go_on()?;
    let cli = temporal::find(&options.workspace)?;
    eprintln!("starting Temporal ({}) …", cli.display());
    let db_file = options.data_dir.join("temporal.db");
    let log = options.fresh_log("temporal.log");
    TemporalServer::start(&cli, &db_file, ports.temporal, Some(ports.ui), &log).map(Some)
}

/// One of our programs, started again when it dies.
#[derive(Debug)]
struct Supervised {
    program: Program,
    ready_url: String,
    port: u16,
    child: Child,
    start_again_at: Option<Instant>,
}

impl Supervised {
    fn start(program: Program, ready_url: String, port: u16) -> Result<Self> {
        eprintln!("starting {} …", program.name());
        let _ = fs::remove_file(program.log()); // Each start has its own log.
        let child = program.spawn()?;
        child.wait_until(READY_LIMIT, || http::is_ok(&ready_url))?;
        Ok(Self { program, ready_url, port, child, start_again_at: None })
    }

    fn supervise(&mut self) -> Result<Option<String>> {
        let name = self.program.name();
        let Some(due) = self.start_again_at else {
            let Some(status) = self.child.wait(Duration::ZERO) else { return Ok(None) };
            self.start_again_at = Some(Instant::now() + RESTART_DELAY);
            let delay = RESTART_DELAY.as_secs();
            let line = format!("{name} ended ({status}); starting it again in {delay} s");
            return Ok(Some(line));
        };
        if Instant::now() < due {
            return Ok(None);
        }
        self.child = self.program.spawn()?;
        self.start_again_at = None;
        Ok(Some(format!("{name} started again (pid {}; {})", self.child.pid(), self.ready_url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dies_is_started_again_after_a_second() {
        let log = std::env::temp_dir().join(format!("dev-stack-{}.log", std::process::id()));
        let program = Program::new("sleeper", "/bin/sh", log).args(["-c", "exec sleep 60"]);
        let child = program.spawn().unwrap();
        let first = child.pid();
        let ready_url = String::new();
        let mut sleeper = Supervised { program, ready_url, port: 0, child, start_again_at: None };
        assert_eq!(sleeper.supervise().unwrap(), None);
        sleeper.child.kill_9();
        let line = sleeper.supervise().unwrap().unwrap();
        assert!(line.contains("again in 1 s"), "{line}");
        assert_eq!(sleeper.supervise().unwrap(), None, "not at once");
        sleeper.start_again_at = Some(Instant::now());
        let line = sleeper.supervise().unwrap().unwrap();
        assert!(line.starts_with("sleeper started again"), "{line}");
        assert!(sleeper.child.is_running() && sleeper.child.pid() != first);
    }
}
