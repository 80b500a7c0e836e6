//! Which user runs PostgreSQL: it refuses to run as root.
//!
//! As root there are two ways. A user namespace shows root's own files as those of `nobody`, so
//! everything stays where it is and nothing is copied. Where user namespaces are forbidden (many
//! containers), the real `nobody` runs it, with the data in /var/tmp and, only if `nobody` cannot
//! reach the programs, a copy of them. The rights of existing folders are never changed.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::program::Binaries;
use crate::paths;
use crate::process::Program;

/// Who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The caller; not root.
    Caller,
    /// Root, seen as `nobody` in a user namespace.
    Namespace(Nobody),
    /// `nobody`.
    Nobody(Nobody),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Nobody {
    uid: u32,
    gid: u32,
}

/// Where the programs and the data are for the user who runs them.
#[derive(Clone, Debug)]
pub(super) struct Home {
    owner: Owner,
    pub bin: PathBuf,
    pub data: PathBuf,
}

impl Home {
    /// Decides, and creates what the decision needs. `wanted` is where the caller wants the data.
    pub(super) fn prepare(binaries: &Binaries, wanted: &Path) -> Result<Self> {
        let parent = wanted.parent().context("the data folder has no parent")?;
        paths::create_dir(parent)?;
        let owner = owner(&binaries.dir, parent)?;
        let Owner::Nobody(nobody) = owner else {
            return Ok(Self { owner, bin: binaries.dir.clone(), data: wanted.to_owned() });
        };
        let home = PathBuf::from(format!("/var/tmp/oncepay-{:016x}", fnv1a(wanted)));
        claim(&home)?;
        let bin = reachable_bin(binaries, &home, nobody)?;
        Ok(Self { owner, bin, data: home.join("data") })
    }

    /// An empty folder that the owner may fill.
    pub(super) fn create_data_dir(&self, folder: &Path) -> Result<()> {
        fs::create_dir(folder).with_context(|| format!("create {}", folder.display()))?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        if let Owner::Nobody(nobody) = self.owner {
            chown(folder, Some(nobody.uid), Some(nobody.gid))
                .with_context(|| format!("give {} to nobody", folder.display()))?;
        }
        Ok(())
    }

    /// Makes a program run as the owner.
    pub(super) fn run(&self, program: Program) -> Program {
        // The current folder may be one that `nobody` cannot enter.
        let program = program.folder("/");
        match self.owner {
            Owner::Caller => program,
            Owner::Namespace(nobody) => program.under(namespace_words(nobody)),
            Owner::Nobody(nobody) => program.user(nobody.uid, nobody.gid),
        }
    }
}

fn owner(bin: &Path, parent: &Path) -> Result<Owner> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Owner::Caller);
    }
    let nobody = nobody()?;
    let forced = env::var("ONCEPAY_PG_ROOT").ok();
    match forced.as_deref() {
        Some("unshare") => Ok(Owner::Namespace(nobody)),
        Some("nobody") => Ok(Owner::Nobody(nobody)),
        Some(other) => bail!("ONCEPAY_PG_ROOT={other}: unshare or nobody is known"),
        None if namespace_works(nobody, bin, parent) => Ok(Owner::Namespace(nobody)),
        None => Ok(Owner::Nobody(nobody)),
    }
}

fn namespace_words(nobody: Nobody) -> Vec<String> {
    vec![
        "unshare".to_owned(),
        "--user".to_owned(),
        format!("--map-user={}", nobody.uid),
        format!("--map-group={}", nobody.gid),
        "--".to_owned(),
    ]
}

/// Tries it: the programs must be executable and the folder writable from inside.
fn namespace_works(nobody: Nobody, bin: &Path, parent: &Path) -> bool {
    let words = namespace_words(nobody);
    let status = Command::new(&words[0])
        .args(&words[1..])
        .args(["sh", "-c", r#"test -x "$0" && test -w "$1" && test -x "$1""#])
        .args([bin.join("postgres"), parent.to_owned()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// `initdb` looks its user up, so it must be one that /etc/passwd knows.
fn nobody() -> Result<Nobody> {
    let passwd = fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
    nobody_in(&passwd).context("/etc/passwd has no user nobody, and PostgreSQL refuses root")
}

fn nobody_in(passwd: &str) -> Option<Nobody> {
    let line = passwd.lines().find(|line| line.starts_with("nobody:"))?;
    let mut fields = line.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some(Nobody { uid, gid })
}

/// Makes the folder root's own; refuses one that somebody else made in the shared /var/tmp.
fn claim(home: &Path) -> Result<()> {
    match fs::create_dir(home) {
        Ok(()) => fs::set_permissions(home, fs::Permissions::from_mode(0o755))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => bail!("create {}: {error}", home.display()),
    }
    let meta = fs::symlink_metadata(home)?;
    if !meta.is_dir() || meta.uid() != 0 {
        bail!("{} belongs to somebody else; remove it", home.display());
    }
    Ok(())
}

/// The folder of the programs, or of a copy if `nobody` cannot start them where they are.
fn reachable_bin(binaries: &Binaries, home: &Path, nobody: Nobody) -> Result<PathBuf> {
    if starts_as(&binaries.dir, nobody) {
        return Ok(binaries.dir.clone());
    }
    let copy = home.join(format!("postgresql-{}", binaries.major));
    let (from, folders, bin) = binaries.movable();
    if !starts_as(&copy.join(&bin), nobody) {
        for folder in folders {
            let target = copy.join(&folder);
            let parent = target.parent().context("a copied folder has no parent")?;
            paths::create_dir(parent)?;
            let status = Command::new("cp")
                .args(["-R", "-P", "--"])
                .args([from.join(&folder), parent.to_owned()])
                .status()
                .context("start cp")?;
            if !status.success() {
                bail!("copy {} to {}", from.join(&folder).display(), parent.display());
            }
        }
    }
    if !starts_as(&copy.join(&bin), nobody) {
        bail!("nobody cannot start the PostgreSQL in {}", copy.display());
    }
    Ok(copy.join(bin))
}

fn starts_as(bin: &Path, nobody: Nobody) -> bool {
    let status = Command::new(bin.join("initdb"))
        .arg("--version")
        .current_dir("/")
        .uid(nobody.uid)
        .gid(nobody.gid)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// A short name for a path that is the same in every run.
fn fnv1a(path: &Path) -> u64 {
    path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_read_from_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:99:n:/:/bin/false\n";
        assert_eq!(nobody_in(passwd), Some(Nobody { uid: 65534, gid: 99 }));
        assert_eq!(nobody_in("root:x:0:0::/root:/bin/sh\n"), None);
    }

    #[test]
    fn two_data_folders_have_two_names() {
        assert_ne!(fnv1a(Path::new("/a/pg")), fnv1a(Path::new("/b/pg")));
        assert_eq!(fnv1a(Path::new("")), 0xcbf2_9ce4_8422_2325);
    }
}
