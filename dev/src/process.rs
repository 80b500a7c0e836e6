//! Child processes that cannot be forgotten: each has its own process group, a log file, and on
//! Linux dies with the process that started it.
//!
//! A child is never detached, so it is always reaped here and a zombie is never taken for a
//! running server. No signal is ever sent to a pid that has been reaped.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::paths;

/// How often a condition is looked at again.
pub const POLL: Duration = Duration::from_millis(20);
/// How long a dropped child has between SIGTERM and SIGKILL.
const DROP_GRACE: Duration = Duration::from_secs(5);
/// How much of a log an error message quotes.
const TAIL_LINES: usize = 15;

/// What to run; the same description can be spawned again after the child has died.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    log: PathBuf,
    under: Vec<OsString>,
    user: Option<(u32, u32)>,
    parent_death: &'static str,
}

impl Program {
    /// A program whose two outputs are appended to `log`.
    pub fn new(name: &str, path: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        Self {
            name: name.to_owned(),
            path: path.into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            log: log.into(),
            under: Vec::new(),
            user: None,
            parent_death: "TERM",
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets one variable; the rest of the environment is inherited.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Runs it under another program that ends in an exec of its arguments, such as `unshare`.
    #[must_use]
    pub fn under<A: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.under = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Runs it as another user and group.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> Self {
        self.user = Some((uid, gid));
        self
    }

    /// The signal (`TERM`, `INT`, `KILL`) it gets when this process dies.
    #[must_use]
    pub fn parent_death(mut self, signal: &'static str) -> Self {
        self.parent_death = signal;
        self
    }

    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The log file.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Starts it.
    pub fn spawn(&self) -> Result<Child> {
        if let Some(folder) = self.log.parent() {
            paths::create_dir(folder)?;
        }
        let out = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .with_context(|| format!("open the log {}", self.log.display()))?;
        let err = out.try_clone().context("share the log")?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        let child = spawn_from_lasting_thread(command)
            .with_context(|| format!("start {} ({})", self.name, self.path.display()))?;
        let pid = child.id();
        Ok(Child { name: self.name.clone(), pid, log: self.log.clone(), inner: Mutex::new(child) })
    }

    /// Runs it to its end; a failure quotes the end of the log.
    pub fn run(&self, limit: Duration) -> Result<()> {
        let child = self.spawn()?;
        match child.wait(limit) {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{} failed ({status}):\n{}", self.name, tail(&self.log)),
            None => bail!("{} took longer than {limit:?}:\n{}", self.name, tail(&self.log)),
        }
    }

    fn command(&self) -> Command {
        let mut words = self.under.clone();
        if let Some(setpriv) = setpriv() {
            words.extend([setpriv.into(), "--pdeathsig".into(), self.parent_death.into()]);
        }
        words.push(self.path.clone().into());
        words.extend(self.args.iter().cloned());
        let mut words = words.into_iter();
        // Cannot fail: the path was pushed above.
        let first = words.next().unwrap_or_default();
        let mut command = Command::new(first);
        command.args(words).envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// A running (or ended) program. Dropping it stops it.
#[derive(Debug)]
pub struct Child {
    name: String,
    pid: u32,
    log: PathBuf,
    inner: Mutex<std::process::Child>,
}

impl Child {
    /// The pid; also the id of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it still runs; a zombie is reaped and counts as gone.
    pub fn is_running(&self) -> bool {
        matches!(self.lock().try_wait(), Ok(None))
    }

    /// Waits for the end; `None` when it still runs after `limit`.
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.lock().try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }

    /// SIGTERM to the group, then SIGKILL if it still runs after `grace`. Says whether SIGTERM
    /// was enough.
    pub fn terminate(&self, grace: Duration) -> bool {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT); // A paused process would never see the SIGTERM.
        if self.wait(grace).is_some() {
            return true;
        }
        self.kill_9();
        false
    }

    /// SIGKILL to the group, and waits until it is gone.
    pub fn kill_9(&self) {
        self.signal(Signal::KILL);
        self.wait(Duration::from_secs(10));
    }

    /// SIGINT to the group, also when it is paused.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
        self.signal(Signal::CONT);
    }

    /// SIGQUIT to the group, also when it is paused.
    pub fn quit(&self) {
        self.signal(Signal::QUIT);
        self.signal(Signal::CONT);
    }

    /// SIGSTOP: it stays, but does nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// The end of its log, for an error message.
    #[must_use]
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// Waits until `ready` says so; fails when the child ends first or after `limit`.
    pub fn wait_until(&self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if !self.is_running() {
                bail!("{} ended while starting; its log:\n{}", self.name, self.log_tail());
            }
            if ready() && self.is_running() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                bail!("{} not ready after {limit:?}; its log:\n{}", self.name, self.log_tail());
            }
            thread::sleep(POLL);
        }
    }

    fn signal(&self, signal: Signal) {
        // The lock is held from the check to the signal, so that nobody reaps the pid in between.
        let mut child = self.lock();
        if matches!(child.try_wait(), Ok(None))
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(pid, signal); // It can only fail when the group is gone.
        }
    }

    fn lock(&self) -> MutexGuard<'_, std::process::Child> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.is_running() {
            self.terminate(DROP_GRACE);
        }
    }
}

/// The last lines of a file.
fn tail(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Ok(text) = text else { return format!("  ({} cannot be read)", log.display()) };
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n  ");
    format!("  {last}\n  ({})", log.display())
}

/// The parent-death signal fires when the *thread* that forked ends, so one thread that lives as
/// long as the process forks all children.
fn spawn_from_lasting_thread(command: Command) -> io::Result<std::process::Child> {
    type Job = (Command, Sender<io::Result<std::process::Child>>);
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, incoming) = channel::<Job>();
        thread::spawn(move || {
            for (mut command, answer) in incoming {
                let _ = answer.send(command.spawn()); // The asker waits; it cannot have left.
            }
        });
        jobs
    });
    let (answer, outcome) = channel();
    let gone = |_| io::Error::other("the spawner thread has ended");
    spawner.send((command, answer)).map_err(|_| io::Error::other("the spawner thread ended"))?;
    outcome.recv().map_err(gone)?
}

/// The path of a `setpriv` that knows `--pdeathsig` (that of busybox does not).
fn setpriv() -> Option<&'static Path> {
    static SETPRIV: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = SETPRIV.get_or_init(|| {
        let path = paths::find_program("setpriv")?;
        let probe = Command::new(&path)
            .args(["--pdeathsig", "TERM", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        probe.is_ok_and(|status| status.success()).then_some(path)
    });
    found.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        let log = std::env::temp_dir().join(format!("dev-process-{}.log", std::process::id()));
        Program::new("shell", "/bin/sh", log).args(["-c", script])
    }

    #[test]
    fn a_killed_child_is_gone_at_once_and_not_a_zombie() {
        let child = shell("exec sleep 60").spawn().unwrap();
        assert!(child.is_running());
        child.kill_9();
        assert!(!child.is_running());
        assert_eq!(crate::identity::Identity::of(child.pid()), None);
    }

    #[test]
    fn a_paused_child_still_ends_at_sigterm() {
        let child = shell("exec sleep 60").spawn().unwrap();
        child.pause();
        assert!(child.is_running());
        assert!(child.terminate(Duration::from_secs(5)));
    }

    #[test]
    fn a_child_deaf_to_sigterm_is_killed_after_the_grace() {
        let child = shell("trap '' TERM; while :; do sleep 0.05; done").spawn().unwrap();
        thread::sleep(Duration::from_millis(200)); // The trap must be set; the shell cannot say.
        assert!(!child.terminate(Duration::from_millis(200)));
        assert!(!child.is_running());
    }

    #[test]
    fn a_failed_run_quotes_the_log() {
        let error = shell("echo the reason; exit 3").run(Duration::from_secs(5)).unwrap_err();
        assert!(error.to_string().contains("the reason"), "{error}");
    }
}
