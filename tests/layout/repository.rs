//! The files of the repository as git sees them, and what a rule finds in them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use dev::paths::Workspace;

/// Not looked into where git is absent: what cargo, `cargo dev` and git keep for themselves.
const NOT_OURS: [&str; 3] = ["target", ".dev", ".git"];

/// What git tracks or would take, read once.
static REPOSITORY: LazyLock<Repository> = LazyLock::new(Repository::read);

/// One text file. The path is relative to the root, with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

pub struct Repository {
    pub root: PathBuf,
    pub files: Vec<File>,
}

/// A place that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Fails with every finding, one a line.
pub fn report(findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} to mend:\n  {}", lines.len(), lines.join("\n  "));
}

impl Repository {
    pub fn get() -> &'static Self {
        &REPOSITORY
    }

    fn read() -> Self {
        let root = Workspace::find().expect("the workspace is found").root().to_owned();
        let paths = tracked(&root).unwrap_or_else(|| walked(&root));
        let file = |path: String| {
            // A file that git knows may be deleted, and a picture is no text.
            let text = fs::read_to_string(root.join(&path)).ok()?;
            Some(File { path, text })
        };
        let files: Vec<_> = paths.into_iter().filter_map(file).collect();
        let has_manifest = files.iter().any(|file| file.path == "Cargo.toml");
        assert!(has_manifest, "no Cargo.toml in {}", root.display());
        Self { root, files }
    }

    /// What one rule finds in all files whose path is wanted.
    pub fn check(
        &self,
        wanted: impl Fn(&str) -> bool,
        rule: impl Fn(&str, &str) -> Vec<Finding>,
    ) -> Vec<Finding> {
        let files = self.files.iter().filter(|file| wanted(&file.path));
        files.flat_map(|file| rule(&file.path, &file.text)).collect()
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

pub fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// Also what is not added yet: a rule is broken before the commit, not after it.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    let git = git.current_dir(root).args(["ls-files", "-z", "-co", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let list = String::from_utf8(output.stdout).ok()?;
    let mut paths: Vec<_> =
        list.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Some(paths)
}

fn walked(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read").flatten() {
            let path = entry.path();
            if !path.is_dir() {
                let path = path.strip_prefix(root).unwrap_or(&path);
                paths.push(path.to_string_lossy().replace('\\', "/"));
            } else if !path.is_symlink() && !NOT_OURS.iter().any(|name| entry.file_name() == *name)
            {
                folders.push(path);
            }
        }
    }
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_sees_what_git_sees_and_not_what_cargo_keeps() {
        let Repository { root, files } = Repository::get();
        let walked = walked(root);
        assert!(files.iter().all(|file| walked.contains(&file.path)));
        let is_kept =
            |path: &String| NOT_OURS.iter().any(|name| path.split('/').next() == Some(name));
        assert!(!walked.iter().any(is_kept));
    }

    #[test]
    #[should_panic(expected = "a.rs:7: mend it")]
    fn a_finding_fails_with_its_place_and_what_to_do() {
        report(&[Finding::new("a.rs", 7, "mend it")]);
    }
}
