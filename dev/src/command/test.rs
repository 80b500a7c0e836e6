//! `cargo dev test`: every test of the workspace, with one line at the end that counts them.
//!
//! The tests start their own servers; a running `up` is never used.

use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use dev::binaries;
use dev::paths::Workspace;
use dev::{node, python};

/// The sum of all `test result:` lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
}

pub fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    eprintln!("fetching what the tests need, then building worker, starter and sandbox …");
    python::ensure(&workspace.join("dev/requirements.txt"), &workspace.python_dir())?;
    for (requirements, folder) in [
        ("tests/python/requirements.txt", "py-client"),
        ("tests/python/fuzz-requirements.txt", "py-fuzz"),
    ] {
        let requirements = workspace.join(requirements);
        if requirements.is_file() {
            python::ensure(&requirements, &workspace.dev_dir().join(folder))?;
        }
    }
    node::ensure_client(workspace)?;
    binaries::build(workspace)?;
    let mut cargo = binaries::cargo(workspace);
    cargo.args(["test", "--workspace"]);
    if !args.iter().any(|arg| arg == "--no-fail-fast") {
        cargo.arg("--no-fail-fast");
    }
    let mut cargo = cargo.args(args).stdout(Stdio::piped()).spawn().context("start cargo test")?;
    let output = cargo.stdout.take().context("read the tests' output")?;
    let mut sum = Sum::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("read the tests' output")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        sum.add(&line);
    }
    let status = cargo.wait().context("wait for cargo test")?;
    println!("{} passed, {} failed", sum.passed, sum.failed);
    let good = status.success() && sum.failed == 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Sum {
    fn add(&mut self, line: &str) {
        let Some(counts) = line.trim().strip_prefix("test result: ") else { return };
        for count in counts.split(['.', ';']) {
            let mut words = count.split_whitespace();
            let Some(Ok(number)) = words.next().map(str::parse::<u64>) else { continue };
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_test_programs_are_summed() {
        let mut sum = Sum::default();
        let output = "\
            running 3 tests\n\
            test a_test ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; \
            finished in 0.43s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; \
            finished in 1.00s\n\
            a log line with test result: ok. 100 passed; 0 failed\n";
        output.lines().for_each(|line| sum.add(line));
        assert_eq!(sum, Sum { passed: 15, failed: 2 });
    }
}
