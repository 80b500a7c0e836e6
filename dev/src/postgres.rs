//! A PostgreSQL server of our own, from plain binaries, as our direct child.
//!
//! No `pg_ctl`: a detached server becomes a zombie that PostgreSQL itself takes for alive. Ready
//! means that a query was answered; no log is parsed. SIGKILL is for tests that want a crash.

mod owner;
mod program;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub use self::program::Binaries;
pub use self::wire::{query, script};

use self::owner::Home;
use crate::ports;
use crate::process::{Child, Program};

const INITDB_LIMIT: Duration = Duration::from_mins(2);
const READY_LIMIT: Duration = Duration::from_mins(1);
/// How long a predecessor's last processes may hold the data folder after it was killed.
const HANDOVER_LIMIT: Duration = Duration::from_secs(10);
const FAST_STOP: Duration = Duration::from_secs(10);
const QUICK_STOP: Duration = Duration::from_secs(5);
/// Above the kernel's largest pid (2^22).
const NO_PID: u32 = i32::MAX.unsigned_abs();

/// What to start.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Where the cluster is, created when missing. Its name should contain the major version.
    pub data_dir: PathBuf,
    /// 0 means any free port.
    pub port: u16,
    /// No fsync: fast; a killed server loses nothing, a power cut everything. For tests.
    pub fast: bool,
    /// Where its log goes.
    pub log: PathBuf,
}

impl PostgresOptions {
    /// A fast server on a free port, with its log beside the data.
    #[must_use]
    pub fn for_tests(data_dir: &Path) -> Self {
        let log = data_dir.with_added_extension("log");
        Self { data_dir: data_dir.to_owned(), port: 0, fast: true, log }
    }
}

/// A server. Dropping it stops it; the data stays.
#[derive(Debug)]
pub struct Postgres {
    home: Home,
    options: PostgresOptions,
    child: Child,
}

impl Postgres {
    /// Creates the cluster if needed, starts the server and waits until it answers.
    ///
    /// Run as root with `nobody` as owner, the data is not in `data_dir`: see [`Self::data_dir`].
    pub fn start(binaries: &Binaries, options: &PostgresOptions) -> Result<Self> {
        let mut options = options.clone();
        if options.port == 0 {
            options.port = ports::free_port()?;
        }
        options.data_dir = std::path::absolute(&options.data_dir)?;
        refuse_taken(options.port)?; // Before anything is created.
        let home = Home::prepare(binaries, &options.data_dir)?;
        if !home.data.join("PG_VERSION").exists() {
            initdb(&home, &options)?;
        }
        check_version(&home.data, binaries.major)?;
        let child = launch(&home, &options)?;
        Ok(Self { home, options, child })
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.options.port
    }

    /// The pid of the postmaster.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Where the data really is.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.home.data
    }

    /// `postgres://user@127.0.0.1:port/database`; no role needs a password.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.options.port)
    }

    /// Whether the postmaster runs.
    pub fn is_running(&self) -> bool {
        self.child.is_running()
    }

    /// Fast stop: sessions are ended, everything is written.
    pub fn stop(&self) -> Result<()> {
        self.child.interrupt();
        if self.child.wait(FAST_STOP).is_some() {
            return Ok(());
        }
        self.child.quit();
        if self.child.wait(QUICK_STOP).is_some() {
            return Ok(());
        }
        bail!("PostgreSQL (pid {}) ignores SIGINT and SIGQUIT", self.child.pid())
    }

    /// SIGKILL to the postmaster; its sessions notice and end.
    pub fn kill(&self) {
        self.child.kill_9();
    }

    /// SIGSTOP to the postmaster: no new session; open ones go on.
    pub fn pause(&self) {
        self.child.pause();
    }

    /// Ends [`Self::pause`].
    pub fn resume(&self) {
        self.child.resume();
    }

    /// Starts it again on the same port and data, whether it was stopped, killed or still runs.
    pub fn restart(&mut self) -> Result<()> {
        if self.is_running() {
            self.stop()?;
        }
        self.child = launch(&self.home, &self.options)?;
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.stop(); // The child's own drop is the last resort.
    }
}

/// Into a draft folder that is renamed at the end, so that half a cluster is never used.
fn initdb(home: &Home, options: &PostgresOptions) -> Result<()> {
    let draft = home.data.with_added_extension("new");
    if draft.exists() {
        fs::remove_dir_all(&draft).with_context(|| format!("remove {}", draft.display()))?;
    }
    home.create_data_dir(&draft)?;
    let flags = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions"];
    let mut program = Program::new("initdb", home.bin.join("initdb"), &options.log)
        .arg("-D")
        .arg(&draft)
        .args(flags);
    if options.fast {
        program = program.arg("--no-sync");
    }
    home.run(program).run(INITDB_LIMIT)?;
    fs::rename(&draft, &home.data).with_context(|| format!("rename to {}", home.data.display()))
}

fn check_version(data: &Path, major: u32) -> Result<()> {
    let text = fs::read_to_string(data.join("PG_VERSION")).context("read PG_VERSION")?;
    if text.trim() == major.to_string() {
        return Ok(());
    }
    bail!(
        "the data in {} is of PostgreSQL {}, the programs are {major}: \
         remove the folder, or set ONCEPAY_PG_BIN",
        data.display(),
        text.trim()
    )
}

/// Starts the server; tries again while a killed predecessor's processes let go of the folder.
fn launch(home: &Home, options: &PostgresOptions) -> Result<Child> {
    let program = home.run(server(home, options));
    let deadline = Instant::now() + HANDOVER_LIMIT;
    loop {
        disown_pid_file(&home.data)?;
        refuse_taken(options.port)?;
        let child = program.spawn()?;
        let data = home.data.display().to_string();
        // The folder is compared, so that another server on this port is never taken for ours.
        let ready = child.wait_until(READY_LIMIT, || {
            let answer = query(options.port, "postgres", "postgres", "SHOW data_directory");
            answer.is_ok_and(|folder| folder.is_some_and(|folder| folder == data))
        });
        match ready {
            Ok(()) => return Ok(child),
            Err(error) if child.is_running() || Instant::now() >= deadline => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(300)),
        }
    }
}

fn refuse_taken(port: u16) -> Result<()> {
    if ports::is_free(port) { Ok(()) } else { bail!("start PostgreSQL: port {port} is taken") }
}

fn server(home: &Home, options: &PostgresOptions) -> Program {
    let mut settings = vec![
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
        "timezone=UTC",
        "log_timezone=UTC",
    ];
    if options.fast {
        // Commits stay synchronous: what was committed must outlive a killed postmaster.
        settings.extend(["fsync=off", "full_page_writes=off"]);
    }
    Program::new("PostgreSQL", home.bin.join("postgres"), &options.log)
        .arg("-D")
        .arg(&home.data)
        .arg("-p")
        .arg(options.port.to_string())
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .parent_death("INT")
}

/// PostgreSQL takes a zombie, or whoever got the pid since, for a living predecessor.
///
/// Only the pid is replaced, by one that no process can have: the rest of the file is how
/// PostgreSQL finds out that sessions of a killed postmaster are still at work, and waits.
fn disown_pid_file(data: &Path) -> Result<()> {
    let path = data.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let Some((first, rest)) = text.split_once('\n') else { return Ok(()) };
    match first.trim().parse() {
        Ok(pid) if !may_own(pid, data) => fs::write(&path, format!("{NO_PID}\n{rest}"))
            .with_context(|| format!("disown the stale {}", path.display())),
        _ => Ok(()), // PostgreSQL decides; on systems without /proc it always does.
    }
}

/// Whether this process may be a postmaster on this folder: a postmaster's current folder is its
/// data folder for as long as it lives.
fn may_own(pid: u32, data: &Path) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        return true;
    }
    let process = PathBuf::from(format!("/proc/{pid}"));
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let folder = fs::read_link(process.join("cwd")); // A zombie has none.
    let same = folder.is_ok_and(|folder| fs::canonicalize(data).is_ok_and(|data| data == folder));
    name.trim() == "postgres" && same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_that_names_somebody_else_is_disowned_but_kept() {
        let data = std::env::temp_dir().join(format!("dev-pidfile-{}", std::process::id()));
        fs::create_dir_all(&data).unwrap();
        let file = data.join("postmaster.pid");
        fs::write(&file, format!("{}\n/data\n1234\n", std::process::id())).unwrap();
        disown_pid_file(&data).unwrap(); // This test is no postmaster.
        assert_eq!(fs::read_to_string(&file).unwrap(), "2147483647\n/data\n1234\n");
        fs::write(&file, "not a pid\n").unwrap();
        disown_pid_file(&data).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "not a pid\n");
        fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn data_of_another_major_version_is_refused_with_advice() {
        let data = std::env::temp_dir().join(format!("dev-version-{}", std::process::id()));
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("PG_VERSION"), "15\n").unwrap();
        assert!(check_version(&data, 15).is_ok());
        let error = check_version(&data, 18).unwrap_err().to_string();
        assert!(error.contains("ONCEPAY_PG_BIN"), "{error}");
        fs::remove_dir_all(&data).unwrap();
    }
}
