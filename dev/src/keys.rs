//! Secrets of one developer's machine: made up at the first start and kept in `.dev`.
//!
//! They protect nothing but a demonstration; production never reads them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::paths;

/// The people who may decide a review in the demonstration.
const OPERATORS: [&str; 2] = ["alice", "bob"];

/// The secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Shared by starter and worker, hex.
    pub decision_key: String,
    /// Operator name to bearer token.
    pub operators: BTreeMap<String, String>,
}

impl Keys {
    /// Reads the file, or makes it.
    pub fn load_or_create(path: &Path) -> Result<Self> {
        if let Ok(text) = fs::read_to_string(path) {
            return serde_json::from_str(&text)
                .with_context(|| format!("read {} (remove it to get new keys)", path.display()));
        }
        let operators = OPERATORS.iter().map(|name| Ok(((*name).to_owned(), random_hex(32)?)));
        let operators = operators.collect::<Result<_>>()?;
        let keys = Self { decision_key: random_hex(32)?, operators };
        paths::write_atomically(path, &serde_json::to_vec_pretty(&keys)?)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(keys)
    }
}

fn random_hex(bytes: usize) -> Result<String> {
    use std::fmt::Write;
    let mut buffer = vec![0; bytes];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut buffer))
        .context("read /dev/urandom")?;
    let mut text = String::new();
    for byte in buffer {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_kept() {
        let path = std::env::temp_dir().join(format!("dev-keys-{}.json", std::process::id()));
        let _ = fs::remove_file(&path);
        let keys = Keys::load_or_create(&path).unwrap();
        assert_eq!(keys.decision_key.len(), 64);
        assert_ne!(keys.operators["alice"], keys.operators["bob"]);
        assert_eq!(Keys::load_or_create(&path).unwrap(), keys);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&path).unwrap();
    }
}
