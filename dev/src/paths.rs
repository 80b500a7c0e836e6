//! Where things lie: the workspace, its `.dev` folder, programs on the PATH.
//!
//! Nothing here creates anything outside `.dev`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The checkout that is being worked on.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the checkout: the parent of this crate, else the first parent of the current folder
    /// that holds `dev/requirements.txt` (the binary may have been copied elsewhere).
    pub fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let here = env::current_dir().context("read the current folder")?;
        let built = Path::new(env!("CARGO_MANIFEST_DIR"));
        let starts = [manifest.as_deref(), Some(here.as_path()), Some(built)];
        for folder in starts.into_iter().flatten().flat_map(Path::ancestors) {
            if folder.join("dev/requirements.txt").is_file() {
                return Ok(Self { root: folder.to_owned() });
            }
        }
        bail!("find the workspace: no parent of {} holds dev/requirements.txt", here.display())
    }

    /// The folder of the workspace's `Cargo.toml`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    #[must_use]
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// `.dev`: everything that the commands download, write or log. Git ignores it.
    #[must_use]
    pub fn dev_dir(&self) -> PathBuf {
        self.root.join(".dev")
    }

    /// `.dev/logs`, created if missing.
    pub fn logs_dir(&self) -> Result<PathBuf> {
        let folder = self.dev_dir().join("logs");
        create_dir(&folder)?;
        Ok(folder)
    }

    /// Where the pinned wheels are installed.
    #[must_use]
    pub fn python_dir(&self) -> PathBuf {
        self.dev_dir().join("py")
    }
}

/// Creates a folder and its parents.
pub fn create_dir(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))
}

/// Writes a file through a neighbour and a rename, so that no reader sees half of it.
pub fn write_atomically(path: &Path, content: &[u8]) -> Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    let draft = PathBuf::from(draft);
    fs::write(&draft, content).with_context(|| format!("write {}", draft.display()))?;
    fs::rename(&draft, path).with_context(|| format!("replace {}", path.display()))
}

/// The first executable of this name on the PATH.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Whether this is a file with an executable bit.
#[must_use]
pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_the_parent_of_this_crate() {
        let workspace = Workspace::find().unwrap();
        assert_eq!(workspace.join("dev"), Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(workspace.dev_dir().ends_with(".dev"));
    }

    #[test]
    fn a_text_file_is_no_program() {
        assert!(!is_executable(&Workspace::find().unwrap().join("dev/requirements.txt")));
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
    }
}
