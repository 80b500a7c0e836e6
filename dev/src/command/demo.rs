//! `cargo dev demo`: some payments, each with another fate, and the proof of what happened.
//!
//! Everything goes through the public HTTP API; what the sandbox really charged is compared.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use dev::keys::Keys;
use dev::paths::Workspace;
use dev::table;

use super::scenario::{Outcome, SCENARIOS};
use super::shop::Shop;
use super::up::{self, Session};

/// What happens after the scenarios to a stack that this command started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Stop,
    Stay,
}

pub fn run(workspace: &Workspace, after: After, json: Option<&Path>) -> Result<ExitCode> {
    eprintln!("cargo dev demo in {}", workspace.root().display());
    let session = Session::open(workspace)?;
    // First where everything is, so that somebody may watch.
    up::print_table(session.addresses(), workspace);
    if let Session::Theirs(state) = &session {
        println!("\n{}", elsewhere(state.up.pid));
    }
    let played = play(workspace, &session, after, json);
    let code = match &played {
        Ok(Verdict::AsExpected) => ExitCode::SUCCESS,
        Ok(Verdict::Different) | Err(_) => ExitCode::FAILURE,
    };
    if let Session::Ours(mut running) = session {
        // A failure is looked into with everything still up, unless nobody is there to look.
        let held = match (after, &played) {
            (After::Stop, _) => Ok(()),
            (After::Stay, outcome) => {
                if let Err(error) = outcome {
                    eprintln!("error: {error:#}");
                }
                println!("\nCtrl-C or `cargo dev down` stops everything; the data in .dev stays");
                running.hold()
            }
        };
        running.stop();
        held?;
    }
    played.map(|_| code)
}

/// Said where another `up` has the stack: it is not this command's to stop.
fn elsewhere(pid: u32) -> String {
    format!("playing on the stack that runs already (pid {pid}); it is left up afterwards")
}

/// Whether all scenarios ended as they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    AsExpected,
    Different,
}

fn play(
    workspace: &Workspace,
    session: &Session,
    after: After,
    json: Option<&Path>,
) -> Result<Verdict> {
    let keys = Keys::load_or_create(&workspace.dev_dir().join("keys.json"))?;
    let addresses = session.addresses();
    let interrupted = session.stop_flag()?;
    let shop = Shop::new(addresses.clone(), keys, interrupted.clone());
    let mut outcomes = Vec::new();
    let mut problems = Vec::new();
    println!();
    for scenario in SCENARIOS {
        match shop.play(scenario) {
            Ok(outcome) => {
                problems.extend(scenario.problem(&outcome));
                outcomes.push(outcome);
            }
            Err(error) if interrupted.load(Ordering::Relaxed) => return Err(error),
            Err(error) => problems.push(format!("{}: {error:#}", scenario.name)),
        }
    }
    println!("\n{}", table::render(&rows(&outcomes)));
    let links = outcomes.iter().filter_map(|outcome| addresses.workflow_page(&outcome.workflow_id));
    let links: Vec<String> = links.map(|link| format!("  {link}")).collect();
    if after == After::Stay && !links.is_empty() {
        println!("\nIn the Web UI:\n{}", links.join("\n"));
    }
    if let Some(file) = json {
        fs::write(file, serde_json::to_vec_pretty(&outcomes)?)
            .with_context(|| format!("write {}", file.display()))?;
    }
    if problems.is_empty() {
        println!("\nall {} scenarios ended as expected", SCENARIOS.len());
        return Ok(Verdict::AsExpected);
    }
    for problem in &problems {
        println!("\nFAILED {problem}");
    }
    Ok(Verdict::Different)
}

fn rows(outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let head = ["scenario", "payment", "order", "its charges", "open question", "payment id"]
        .map(str::to_owned)
        .to_vec();
    let row = |outcome: &Outcome| {
        let charges = outcome.charges.to_string();
        let none = String::from("-");
        let review = outcome.review.as_ref().unwrap_or(&none);
        let cells = [&outcome.scenario, &outcome.state, &outcome.order_state, &charges, review];
        let mut cells: Vec<String> = cells.into_iter().cloned().collect();
        cells.push(outcome.payment.clone());
        cells
    };
    std::iter::once(head).chain(outcomes.iter().map(row)).collect()
}
