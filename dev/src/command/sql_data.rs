//! The descriptions of our SQL queries that let the workspace build without a database.
//!
//! They are made against a scratch server with the migrations applied. None of our programs is
//! run for that: they do not compile while a query lacks its description.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use dev::binaries;
use dev::paths::{self, Workspace};
use dev::postgres::{Binaries, Postgres, PostgresOptions, script};
use dev::stack::DATABASE;

/// The table in which the migrator of the `store` crate keeps its book; a migration names it.
const MIGRATOR_TABLE: &str = "CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMPTZ NOT NULL DEFAULT now(),
    success BOOLEAN NOT NULL,
    checksum BYTEA NOT NULL,
    execution_time BIGINT NOT NULL
)";
const SUPERUSER: &str = "postgres";

/// Where the committed descriptions are.
pub fn committed(workspace: &Workspace) -> PathBuf {
    workspace.join("store/.sqlx")
}

/// A folder of fresh descriptions, removed when dropped.
pub struct Fresh {
    scratch: PathBuf,
}

impl Fresh {
    pub fn dir(&self) -> PathBuf {
        self.scratch.join("sqlx")
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch); // A leftover is only litter.
    }
}

/// Describes all queries of the `store` crate anew.
pub fn describe(workspace: &Workspace) -> Result<Fresh> {
    let scratch = workspace.dev_dir().join(format!("scratch/sql-data-{}", std::process::id()));
    let fresh = Fresh { scratch };
    paths::create_dir(&fresh.dir())?;
    let binaries = Binaries::find(workspace)?;
    let options = PostgresOptions::for_tests(&fresh.scratch.join("postgres"));
    let postgres = Postgres::start(&binaries, &options)?;
    migrate(workspace, postgres.port())?;
    expand(workspace, &postgres.url(SUPERUSER, DATABASE), &fresh.dir())?;
    postgres.stop()?;
    if !postgres.data_dir().starts_with(&fresh.scratch) {
        fs::remove_dir_all(postgres.data_dir()).context("remove the scratch data")?;
    }
    Ok(fresh)
}

fn migrate(workspace: &Workspace, port: u16) -> Result<()> {
    let role = "CREATE ROLE oncepay_owner LOGIN CREATEROLE";
    script(port, SUPERUSER, "postgres", role)?;
    // Alone: a database cannot be created in a transaction with something else.
    script(
        port,
        SUPERUSER,
        "postgres",
        &format!("CREATE DATABASE {DATABASE} OWNER oncepay_owner"),
    )?;
    script(port, "oncepay_owner", DATABASE, MIGRATOR_TABLE)?;
    let folder = workspace.join("store/migrations");
    for (name, sql) in files(&folder, "sql")? {
        script(port, "oncepay_owner", DATABASE, &sql).with_context(|| format!("apply {name}"))?;
    }
    Ok(())
}

/// Runs the query macros against the database: they write what they learn into `dir`.
fn expand(workspace: &Workspace, database_url: &str, dir: &Path) -> Result<()> {
    let library = workspace.join("store/src/lib.rs");
    let touch = |path: &Path| File::open(path)?.set_modified(SystemTime::now());
    touch(&library).with_context(|| format!("touch {}", library.display()))?;
    let status = binaries::cargo(workspace)
        // The whole workspace with the features that `check` gave it: only `store` and what
        // depends on it is compiled again.
        .args(["clippy", "--workspace", "--all-targets"])
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", dir)
        .env("DATABASE_URL", database_url)
        .status()
        .context("start cargo")?;
    if !status.success() {
        bail!("the queries of store do not fit the migrated database");
    }
    Ok(())
}

/// What differs, one line each.
pub fn differences(committed: &Path, fresh: &Path) -> Result<Vec<String>> {
    let (old, new) = (files(committed, "json")?, files(fresh, "json")?);
    let mut lines = Vec::new();
    for (name, text) in &new {
        match old.get(name) {
            None => lines.push(format!("missing: {} ({name})", query_name(text))),
            Some(before) if before != text => {
                lines.push(format!("changed: {} ({name})", query_name(text)));
            }
            Some(_) => {}
        }
    }
    let unused = old.iter().filter(|(name, _)| !new.contains_key(*name));
    lines.extend(unused.map(|(name, text)| format!("unused: {} ({name})", query_name(text))));
    Ok(lines)
}

/// Makes the committed folder equal to the fresh one; returns the number of queries.
pub fn replace(committed: &Path, fresh: &Path) -> Result<usize> {
    paths::create_dir(committed)?;
    let (old, new) = (files(committed, "json")?, files(fresh, "json")?);
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        fs::remove_file(committed.join(name)).with_context(|| format!("remove {name}"))?;
    }
    for (name, text) in &new {
        paths::write_atomically(&committed.join(name), text.as_bytes())?;
    }
    Ok(new.len())
}

/// The files with this ending by name; none when there is no folder.
fn files(folder: &Path, ending: &str) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry.context("list a folder")?.path();
        if path.extension().is_some_and(|extension| extension == ending)
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
        {
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("read {}", path.display()))?;
            found.insert(name.to_owned(), text);
        }
    }
    Ok(found)
}

/// The name that each query has in a comment on its first line.
fn query_name(description: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(description).unwrap_or_default();
    let sql = value["query"].as_str().unwrap_or("?");
    sql.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_changed_and_unused_descriptions_are_told_apart() {
        let root = std::env::temp_dir().join(format!("dev-sqlx-{}", std::process::id()));
        let (old, new) = (root.join("old"), root.join("new"));
        let write = |folder: &Path, name: &str, query: &str| {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(name), format!(r#"{{"query":"{query}"}}"#)).unwrap();
        };
        write(&old, "query-1.json", "-- same");
        write(&new, "query-1.json", "-- same");
        write(&old, "query-2.json", "-- before");
        write(&new, "query-2.json", "-- after");
        write(&old, "query-3.json", "-- gone");
        write(&new, "query-4.json", "-- orders.create\\nINSERT");
        let lines = differences(&old, &new).unwrap();
        assert_eq!(
            lines,
            [
                "changed: -- after (query-2.json)",
                "missing: -- orders.create (query-4.json)",
                "unused: -- gone (query-3.json)",
            ]
        );
        assert_eq!(replace(&old, &new).unwrap(), 3);
        assert!(differences(&old, &new).unwrap().is_empty());
        fs::remove_dir_all(&root).unwrap();
    }
}
