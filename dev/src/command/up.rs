//! `cargo dev up`: start everything, or find that it runs already.
//!
//! Only the process that holds `.dev/up.lock` starts anything.

use std::fs::{self, File};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dev::binaries;
use dev::identity::Identity;
use dev::paths::Workspace;
use dev::stack::{Addresses, Stack, StackOptions};
use dev::state::{State, UpLock};
use dev::table;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Given to the copy of itself that `--detach` starts.
pub const DETACHED: &str = "--detached";
/// How long another `up` may take from its lock to its table: it may be building everything.
const OTHER_UP_LIMIT: Duration = Duration::from_mins(20);
const LOOK: Duration = Duration::from_millis(200);

/// How `up` stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Until Ctrl-C.
    Here,
    /// In the background: start a copy of itself and wait for its table.
    Detach,
    /// As that copy.
    Detached,
}

impl Stay {
    pub fn from_flags(detach: bool, detached: bool) -> Self {
        match (detach, detached) {
            (_, true) => Self::Detached,
            (true, false) => Self::Detach,
            (false, false) => Self::Here,
        }
    }
}

/// A stack to work with.
pub enum Session {
    /// Started by this process, which must watch and stop it.
    Ours(Box<Running>),
    /// Of another process.
    Theirs(Box<State>),
}

/// A stack that this process has started.
pub struct Running {
    stack: Stack,
    workspace: Workspace,
    stop: Arc<AtomicBool>,
    _lock: UpLock,
}

impl Session {
    /// Starts the stack unless another process has; then waits for that one to be ready.
    pub fn open(workspace: &Workspace) -> Result<Self> {
        match UpLock::take(workspace)? {
            Some(lock) => Running::start(workspace, lock).map(Box::new).map(Self::Ours),
            None => other(workspace, || true).map(Box::new).map(Self::Theirs),
        }
    }

    /// Set by Ctrl-C from now on.
    pub fn stop_flag(&self) -> Result<Arc<AtomicBool>> {
        match self {
            Self::Ours(running) => Ok(running.stop.clone()),
            Self::Theirs(_) => stop_flag(),
        }
    }

    pub fn addresses(&self) -> &Addresses {
        match self {
            Self::Ours(running) => running.stack.addresses(),
            Self::Theirs(state) => &state.addresses,
        }
    }
}

impl Running {
    fn start(workspace: &Workspace, lock: UpLock) -> Result<Self> {
        let stop = stop_flag()?;
        if let Some(state) = State::load(workspace) {
            state.stop_leftovers()?;
            State::remove(workspace);
        }
        eprintln!("building worker, starter and sandbox (the first time takes a few minutes) …");
        let binaries = binaries::build(workspace)?;
        let options = StackOptions::for_up(workspace, stop.clone())?;
        let stack = Stack::start(&options, &binaries)?;
        let running = Self { stack, workspace: workspace.clone(), stop, _lock: lock };
        running.save()?;
        Ok(running)
    }

    /// Watches the stack until a signal comes.
    pub fn hold(&mut self) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            self.watch()?;
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Looks once; says and writes down what was started again.
    pub fn watch(&mut self) -> Result<()> {
        let told = self.stack.supervise()?;
        if !told.is_empty() {
            for line in told {
                eprintln!("{line}");
            }
            self.save()?;
        }
        Ok(())
    }

    /// Stops everything in order.
    pub fn stop(mut self) {
        eprintln!("stopping starter, worker, sandbox, Temporal and PostgreSQL …");
        self.stack.stop();
        State::remove(&self.workspace);
    }

    fn save(&self) -> Result<()> {
        let up = Identity::of(std::process::id()).context("read the own start time")?;
        let addresses = self.stack.addresses().clone();
        State { up, addresses, processes: self.stack.processes() }.save(&self.workspace)
    }
}

pub fn run(workspace: &Workspace, stay: Stay) -> Result<ExitCode> {
    if stay == Stay::Detach {
        return detach(workspace);
    }
    if stay == Stay::Detached {
        // Its own session, so that closing the terminal does not end it.
        let _ = rustix::process::setsid();
    }
    eprintln!("cargo dev up in {}", workspace.root().display());
    let session = Session::open(workspace)?;
    print_table(session.addresses(), workspace);
    match session {
        Session::Theirs(state) => println!("\nruns already (pid {})", state.up.pid),
        Session::Ours(mut running) => {
            println!("\nCtrl-C or `cargo dev down` stops everything; the data in .dev stays");
            let outcome = running.hold();
            running.stop();
            outcome?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where everything answers, and which ports are not the well-known ones.
pub fn print_table(addresses: &Addresses, workspace: &Workspace) {
    println!("\n{}", table::render(&addresses.rows(workspace)));
    let replaced = addresses.replaced();
    if !replaced.is_empty() {
        println!("\n{}", replaced.join("\n"));
    }
}

fn detach(workspace: &Workspace) -> Result<ExitCode> {
    let log = workspace.logs_dir()?.join("up.log");
    eprintln!("starting in the background; progress is in {} …", log.display());
    let out = File::options()
        .create(true)
        .append(true)
        .open(&log)
        .with_context(|| format!("open {}", log.display()))?;
    let err = out.try_clone().context("share the log")?;
    let program = std::env::current_exe().context("find this program")?;
    let mut child = Command::new(program)
        .args(["up", DETACHED])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .context("start the background process")?;
    // It ends early without an error when another `up` runs; the state then is that one's.
    let mut failed = false;
    let state = other(workspace, || {
        failed = matches!(child.try_wait(), Ok(Some(status)) if !status.success());
        !failed
    });
    let Ok(state) = state else {
        let text = fs::read_to_string(&log).unwrap_or_default();
        bail!("`cargo dev up` failed:\n{text}");
    };
    print_table(&state.addresses, workspace);
    println!("\nruns in the background (pid {}); `cargo dev down` stops it", state.up.pid);
    Ok(ExitCode::SUCCESS)
}

/// Waits for the state of another `up`, as long as `go_on` says so.
fn other(workspace: &Workspace, mut go_on: impl FnMut() -> bool) -> Result<State> {
    let deadline = Instant::now() + OTHER_UP_LIMIT;
    loop {
        if let Some(state) = State::running(workspace) {
            return Ok(state);
        }
        if !go_on() || Instant::now() >= deadline {
            bail!("another `cargo dev` holds .dev/up.lock but does not get ready");
        }
        thread::sleep(LOOK);
    }
}

/// Set by the first Ctrl-C, SIGTERM or SIGHUP; the second one ends this process at once.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
