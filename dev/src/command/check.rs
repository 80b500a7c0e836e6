//! `cargo dev check` and `cargo dev prepare`.
//!
//! Every check is run even if one before it failed, so that one run names everything.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use dev::binaries;
use dev::paths::Workspace;

use super::sql_data;

/// The checks that are one cargo command, in CI's order.
const CARGO_CHECKS: [(&str, &[&str]); 3] = [
    ("formatting", &["fmt", "--all", "--", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("layout", &["test", "--workspace", "--test", "layout"]),
];

pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut failed = Vec::new();
    for (name, args) in CARGO_CHECKS {
        eprintln!("checking {name}: cargo {} …", args.join(" "));
        let status = binaries::cargo(workspace).args(args).status().context("start cargo")?;
        if !status.success() {
            failed.push(name);
        }
    }
    eprintln!("checking the SQL data in store/.sqlx …");
    if let Err(error) = compare(workspace) {
        eprintln!("{error:#}");
        failed.push("SQL data");
    }
    if failed.is_empty() {
        println!("all checks passed");
        return Ok(ExitCode::SUCCESS);
    }
    println!("failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

fn compare(workspace: &Workspace) -> Result<()> {
    let fresh = sql_data::describe(workspace)?;
    let differences = sql_data::differences(&sql_data::committed(workspace), &fresh.dir())?;
    if differences.is_empty() {
        return Ok(());
    }
    bail!(
        "store/.sqlx is not what the queries and migrations say:\n  {}\n\
         `cargo dev prepare` refreshes it",
        differences.join("\n  ")
    )
}

pub fn prepare(workspace: &Workspace) -> Result<ExitCode> {
    eprintln!("writing store/.sqlx anew …");
    let fresh = sql_data::describe(workspace)?;
    let count = sql_data::replace(&sql_data::committed(workspace), &fresh.dir())?;
    println!("store/.sqlx holds {count} queries");
    Ok(ExitCode::SUCCESS)
}
