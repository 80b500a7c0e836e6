//! Folders that are filled from a package registry once, and filled anew when what is wanted in
//! them changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paths;

/// Holds what the folder was filled from, to the letter.
const STAMP: &str = ".requirements";

/// Fills `target` unless it was filled from exactly `wanted` already. `fill` gets the path of a
/// folder that is not there yet, and makes it.
///
/// Safe beside another process that does the same: one fills, the other waits.
pub(crate) fn ensure(
    target: &Path,
    wanted: &str,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    if is_current(target, wanted) {
        return Ok(());
    }
    if let Some(parent) = target.parent() {
        paths::create_dir(parent)?;
    }
    let _lock = lock(target)?;
    if is_current(target, wanted) {
        return Ok(()); // Another process filled it while we waited for the lock.
    }
    eprintln!("installing into {} …", target.display());
    let draft = beside(target, "new");
    remove(&draft)?;
    let outcome = fill(&draft).and_then(|()| {
        fs::write(draft.join(STAMP), wanted).context("write the stamp of what is installed")
    });
    if let Err(error) = outcome {
        remove(&draft)?;
        return Err(error);
    }
    swap(&draft, target)
}

/// Whether the folder was filled from exactly this.
fn is_current(target: &Path, wanted: &str) -> bool {
    fs::read_to_string(target.join(STAMP)).is_ok_and(|installed| installed == wanted)
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
        let folder =
            std::env::temp_dir().join(format!("dev-installed-{name}-{}", std::process::id()));
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
    fn a_folder_that_could_not_be_filled_is_left_as_it_was() {
        let folder = folder("failed");
        let target = folder.join("py");
        ensure(&target, "a==1", |draft| Ok(fs::create_dir(draft)?)).unwrap();
        let failed = ensure(&target, "a==2", |draft| {
            fs::create_dir(draft)?;
            bail!("no network")
        });
        assert!(failed.is_err() && is_current(&target, "a==1"));
        assert!(!beside(&target, "new").exists());
        remove(&folder).unwrap();
    }
}
