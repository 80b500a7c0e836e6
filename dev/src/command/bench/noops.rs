//! Workflows that do nothing, for comparison, and what the histories of payments cost.
//!
//! Both need a client of Temporal, which this crate is not: the program `bench` serves them.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use dev::http::{self, Connection};
use dev::ports;
use dev::process::{Child, Program};
use dev::stack::{Addresses, Stack};
use serde_json::json;

use super::load::{Answered, Arrivals, Batch};
use super::shop::{Shop, expect};

/// How many histories are looked at.
const HISTORIES: usize = 20;
const READY_LIMIT: Duration = Duration::from_secs(30);
const STOP_GRACE: Duration = Duration::from_secs(5);

/// The process that serves no-ops, and reads what a history cost.
pub struct Noops {
    child: Child,
    url: String,
}

/// Of the histories that were looked at.
#[derive(Default)]
pub struct Costs {
    pub events: Vec<u64>,
    pub workflow_tasks: Vec<u64>,
    pub bytes: Vec<u64>,
}

impl Noops {
    pub fn start(program: &Path, stack: &Stack, logs_dir: &Path) -> Result<Self> {
        let Addresses { temporal, .. } = stack.addresses();
        let listen = format!("127.0.0.1:{}", ports::free_port()?);
        let url = format!("http://{listen}");
        let child = Program::new("bench", program, logs_dir.join("bench.log"))
            .args([format!("http://{temporal}"), listen])
            .spawn()?;
        child.wait_until(READY_LIMIT, || http::is_ok(&format!("{url}/readyz")))?;
        Ok(Self { child, url })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Sends no-ops by the same kind of request as payments.
    pub fn send(
        &self,
        name: &str,
        requests: usize,
        concurrency: usize,
        arrivals: Arrivals,
        stop: &AtomicBool,
    ) -> Result<Answered> {
        let url = &self.url;
        Batch { name: "no-ops", url, requests, concurrency, arrivals, stop }
            .run(|connection, number| noop(connection, &format!("{name}-{number:06}")))
    }

    /// Of payments spread over the whole run.
    pub fn costs(&self, shop: &Shop<'_>, from: usize, payments: usize) -> Result<Costs> {
        let mut costs = Costs::default();
        let samples = HISTORIES.min(payments);
        for sample in 0..samples {
            let number = from + payments * sample / samples;
            let workflow = shop.workflow(number).context("a payment without a workflow")?;
            let answer = http::get(&format!("{}/costs?workflow={workflow}", self.url))?;
            let page = expect(&[200], "read a history's cost", &answer)?;
            let field = |name: &str| -> Result<u64> {
                page[name].as_u64().with_context(|| format!("no {name} in {page}"))
            };
            costs.events.push(field("events")?);
            costs.workflow_tasks.push(field("workflow_tasks")?);
            costs.bytes.push(field("bytes")?);
        }
        Ok(costs)
    }
}

impl Drop for Noops {
    fn drop(&mut self) {
        self.child.terminate(STOP_GRACE);
    }
}

fn noop(connection: &mut Connection, key: &str) -> Result<()> {
    let answer = connection.post("/noops", &[("Idempotency-Key", key)], &json!({}))?;
    expect(&[200], "run a no-op", &answer).map(drop)
}
