//! Which process a pid in a file means.
//!
//! A pid alone may have been given to somebody else since it was written down; nothing is ever
//! signalled by a pid whose start time does not match.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::process::POLL;

/// A process by pid and start time: a pid alone may have been given to somebody else since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    pub started: String,
}

impl Identity {
    /// The identity of a running process.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        start_time(pid).map(|started| Self { pid, started })
    }

    /// Whether that very process still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        start_time(self.pid).is_some_and(|started| started == self.started)
    }

    /// Sends SIGTERM to it, if it still runs.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGINT to it, if it still runs.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    fn signal(&self, signal: Signal) {
        if self.is_running()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, signal); // Gone already is fine.
        }
    }

    /// Waits until it is gone.
    #[must_use]
    pub fn wait_gone(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.is_running() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(POLL);
        }
        true
    }
}

/// When a process started: boot id and ticks on Linux, the date of `ps` elsewhere.
fn start_time(pid: u32) -> Option<String> {
    if let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        return start_ticks(&stat).map(|ticks| format!("{} {ticks}", boot.trim()));
    }
    if Path::new("/proc/self/stat").exists() {
        return None;
    }
    let pid = pid.to_string();
    let output = Command::new("ps").args(["-o", "lstart=", "-p", &pid]).output().ok()?;
    let date = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!date.is_empty()).then_some(date)
}

/// Field 22 of `/proc/PID/stat`, unless the process is a zombie or dead.
fn start_ticks(stat: &str) -> Option<&str> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_with_another_start_time_is_somebody_else() {
        let me = Identity::of(std::process::id()).unwrap();
        assert!(me.is_running());
        let other = Identity { started: "some other boot 1".to_owned(), ..me };
        assert!(!other.is_running());
        other.terminate(); // Would end this test run if the start time were not compared.
    }

    #[test]
    fn a_zombie_has_no_start_time() {
        let rest = "1 1 1 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 1 0 777 0 0";
        assert_eq!(start_ticks(&format!("42 (a) b (c) S {rest}")), Some("777"));
        assert_eq!(start_ticks(&format!("42 (sleep) Z {rest}")), None);
    }
}
