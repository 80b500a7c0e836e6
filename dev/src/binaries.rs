//! Our own programs, built and found through cargo's messages.
//!
//! The target folder is never guessed: `CARGO_TARGET_DIR` and cargo's settings may move it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::paths::Workspace;

/// The programs that a stack runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub worker: PathBuf,
    /// The starter's program: HTTP API, `migrate`, `catalog`.
    pub oncepay: PathBuf,
    pub sandbox: PathBuf,
}

/// The part of cargo's `compiler-artifact` message that says where a program is.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    #[serde(default)]
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
struct Target {
    #[serde(default)]
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

/// Builds them if needed, once per process; cargo's progress goes to stderr.
///
/// The whole workspace is selected (but for this crate, which runs), so that the dependencies are
/// compiled with the same features as in `cargo test --workspace` and not a second time.
pub fn build(workspace: &Workspace) -> Result<Binaries> {
    static BUILT: Mutex<Option<Binaries>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(binaries) = &*built {
        return Ok(binaries.clone());
    }
    // `bench` is only for its own command, and links the SDK once more.
    let binaries = select(&run(workspace, &["--exclude", "bench"])?)?;
    *built = Some(binaries.clone());
    Ok(binaries)
}

/// Builds them as production runs them, and the program that the bench alone needs.
pub fn build_release(workspace: &Workspace) -> Result<(Binaries, PathBuf)> {
    let found = run(workspace, &["--release"])?;
    let bench = found.get("bench").cloned().context("cargo built no program named bench")?;
    Ok((select(&found)?, bench))
}

fn run(workspace: &Workspace, args: &[&str]) -> Result<HashMap<String, PathBuf>> {
    let mut cargo = cargo(workspace)
        .args(["build", "--workspace", "--exclude", "dev", "--bins"])
        .args(args)
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo")?;
    let output = cargo.stdout.take().context("read cargo's messages")?;
    let found = programs(BufReader::new(output));
    let status = cargo.wait().context("wait for cargo")?;
    if !status.success() {
        bail!("build worker, starter and sandbox: cargo failed ({status})");
    }
    found
}

/// A cargo command in the workspace that never lets SQL checks reach for a database.
#[must_use]
pub fn cargo(workspace: &Workspace) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace.root()).stdin(Stdio::null());
    command.env_remove("DATABASE_URL").env("SQLX_OFFLINE", "true");
    // Cargo set these for this program; they are not meant for another run of cargo.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The executables of all `bin` targets, by target name.
fn programs(messages: impl BufRead) -> Result<HashMap<String, PathBuf>> {
    let mut found = HashMap::new();
    for line in messages.lines() {
        let line = line.context("read cargo's messages")?;
        // Build scripts and macros may print lines of their own.
        let Ok(artifact) = serde_json::from_str::<Artifact>(&line) else { continue };
        let is_program = artifact.target.kind.iter().any(|kind| kind == "bin");
        if artifact.reason == "compiler-artifact"
            && is_program
            && let Some(file) = artifact.executable
        {
            found.insert(artifact.target.name, file);
        }
    }
    Ok(found)
}

fn select(found: &HashMap<String, PathBuf>) -> Result<Binaries> {
    let file = |name: &str| {
        found.get(name).cloned().with_context(|| format!("cargo built no program named {name}"))
    };
    Ok(Binaries { worker: file("worker")?, oncepay: file("oncepay")?, sandbox: file("sandbox")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(reason: &str, name: &str, kind: &str, executable: &str) -> String {
        let target = format!(r#""target":{{"kind":["{kind}"],"name":"{name}"}}"#);
        format!(r#"{{"reason":"{reason}",{target},"executable":{executable},"fresh":true}}"#)
    }

    #[test]
    fn programs_are_taken_from_the_artifacts_and_nothing_else() {
        let lines = [
            message("compiler-artifact", "worker", "bin", r#""/t/worker""#),
            message("compiler-artifact", "worker", "test", r#""/t/worker-test""#),
            message("compiler-artifact", "oncepay", "bin", r#""/t/oncepay""#),
            message("compiler-artifact", "sandbox", "lib", "null"),
            message("compiler-artifact", "sandbox", "bin", r#""/t/sandbox""#),
            "a line of a build script".to_owned(),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let binaries = select(&programs(lines.join("\n").as_bytes()).unwrap()).unwrap();
        assert_eq!(binaries.worker, PathBuf::from("/t/worker"));
        assert_eq!(binaries.oncepay, PathBuf::from("/t/oncepay"));
        assert_eq!(binaries.sandbox, PathBuf::from("/t/sandbox"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let line = message("compiler-artifact", "worker", "bin", r#""/t/worker""#);
        let error = select(&programs(line.as_bytes()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("oncepay"), "{error}");
    }
}
