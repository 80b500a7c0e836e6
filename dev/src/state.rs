//! `.dev/state.json`: what a running `cargo dev up` has started and where it answers.
//!
//! It is a hint, never the truth: a process counts only if its start time matches, an address
//! only if it answers.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::paths::{self, Workspace};
use crate::stack::Addresses;

const LEFTOVER_GRACE: Duration = Duration::from_secs(20);

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The process that started and watches the others.
    pub up: Identity,
    pub addresses: Addresses,
    /// In the order in which they are stopped.
    pub processes: Vec<Listed>,
}

/// One started process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub name: String,
    pub port: u16,
    #[serde(flatten)]
    pub identity: Identity,
}

impl State {
    /// The file's content; `None` when there is none or an older program wrote it.
    #[must_use]
    pub fn load(workspace: &Workspace) -> Option<Self> {
        let text = fs::read_to_string(path(workspace)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Replaces the file.
    pub fn save(&self, workspace: &Workspace) -> Result<()> {
        paths::create_dir(&workspace.dev_dir())?;
        paths::write_atomically(&path(workspace), &serde_json::to_vec_pretty(self)?)
    }

    /// Removes the file.
    pub fn remove(workspace: &Workspace) {
        let _ = fs::remove_file(path(workspace)); // Not there is as good.
    }

    /// The state of an `up` that still runs.
    #[must_use]
    pub fn running(workspace: &Workspace) -> Option<Self> {
        Self::load(workspace).filter(|state| state.up.is_running())
    }

    /// The process of a part that this stack started, by the name that people know it by.
    #[must_use]
    pub fn pid_of(&self, part: &str) -> Option<u32> {
        let program = match part {
            "HTTP API" => "starter",
            "Web UI" => "Temporal",
            other => other,
        };
        let own = |listed: &&Listed| listed.name.eq_ignore_ascii_case(program);
        self.processes.iter().find(own).map(|listed| listed.identity.pid)
    }

    /// Stops what an `up` that was killed left behind.
    pub fn stop_leftovers(&self) -> Result<()> {
        for process in &self.processes {
            if !process.identity.is_running() {
                continue;
            }
            eprintln!("stopping {} (pid {}) …", process.name, process.identity.pid);
            match process.name.as_str() {
                "PostgreSQL" => process.identity.interrupt(),
                _ => process.identity.terminate(),
            }
            if !process.identity.wait_gone(LEFTOVER_GRACE) {
                bail!("{} (pid {}) does not stop", process.name, process.identity.pid);
            }
        }
        Ok(())
    }
}

/// Held by the one process that may start the stack; the system frees it when that process dies.
#[derive(Debug)]
pub struct UpLock(#[expect(dead_code, reason = "dropping the file frees the lock")] File);

impl UpLock {
    /// `None` when another process holds it.
    pub fn take(workspace: &Workspace) -> Result<Option<Self>> {
        paths::create_dir(&workspace.dev_dir())?;
        let path = workspace.dev_dir().join("up.lock");
        let file = File::create(&path).with_context(|| format!("open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => bail!("lock {}: {error}", path.display()),
        }
    }
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.dev_dir().join("state.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(started: &str) -> State {
        let identity = Identity { pid: std::process::id(), started: started.to_owned() };
        let listed = Listed { name: "worker".to_owned(), port: 8081, identity: identity.clone() };
        State { up: identity, addresses: Addresses::default(), processes: vec![listed] }
    }

    #[test]
    fn leftovers_with_another_start_time_are_left_alone() {
        let state = state("long ago");
        assert!(!state.up.is_running());
        state.stop_leftovers().unwrap(); // Would end this test run if the pid were trusted.
    }

    #[test]
    fn a_part_is_found_by_the_name_that_people_know() {
        let state = state("then");
        assert_eq!(state.pid_of("Worker"), Some(std::process::id()));
        assert_eq!(state.pid_of("Sandbox"), None);
    }

    #[test]
    fn the_file_says_pid_start_time_and_port_of_each_process() {
        let text = serde_json::to_value(state("then")).unwrap();
        assert_eq!(text["processes"][0]["started"], "then");
        assert_eq!(text["processes"][0]["port"], 8081);
        assert_eq!(serde_json::from_value::<State>(text).unwrap(), state("then"));
    }
}
