//! `cargo dev bench`: what a payment costs, and how that compares with a workflow that does
//! nothing.
//!
//! It brings up a stack of its own from release builds, sends payments through the HTTP API, and
//! throws the stack away. Slices of payments and of no-ops take turns on the same servers, because
//! a machine is never equally busy twice and a Temporal server grows slower with age.

mod load;
mod noops;
mod numbers;
mod shop;
mod usage;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dev::binaries;
use dev::paths::{self, Workspace};
use dev::stack::{External, Ports, Stack, StackOptions};
use dev::temporal;

use super::up;
use load::{Answered, Arrivals};
use noops::{Costs, Noops};
use numbers::{Machine, Report, Servers, Total, mean, percentile_ms, rounded, slices};
use shop::Shop;
use usage::Watched;

/// Payments, no-ops, no-ops, payments, and again: neither kind always has the younger server.
const SLICES: usize = 4;
/// After each slice, until what it left to be done in the background is done.
const QUIET: Duration = Duration::from_secs(1);
/// The sandbox's truth of so many payments is about 10 MB; it is read at once.
const MAX_PAYMENTS: usize = 10_000;
const MAX_CONCURRENCY: usize = 500;
/// Requests at a rate are sent by so many clients, so that one that waits holds up no other.
const CLIENTS_AT_A_RATE: usize = 200;

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    payments: usize,
    concurrency: usize,
    rate: Option<f64>,
    latency_ms: u64,
    warm_up: usize,
    json: Option<PathBuf>,
}

/// Takes the value of a flag out of the arguments.
type TakeValue = fn(&mut Vec<String>, &str) -> Result<Option<String>>;

impl Options {
    /// Takes the flags of this command out of the arguments.
    pub fn take(args: &mut Vec<String>, take: TakeValue) -> Result<Self> {
        let rate = take(args, "--rate")?.map(|text| text.parse::<f64>()).transpose();
        let rate = rate.context("--rate wants a number of payments each second")?;
        let concurrency = if rate.is_some() { CLIENTS_AT_A_RATE } else { 50 };
        let options = Self {
            payments: count(args, take, "--payments", 600)?,
            concurrency: count(args, take, "--concurrency", concurrency)?,
            rate,
            latency_ms: take(args, "--latency-ms")?
                .map_or(Ok(0), |text| text.parse())
                .context("--latency-ms wants a whole number")?,
            warm_up: count(args, take, "--warm-up", 100)?,
            json: take(args, "--json")?.map(PathBuf::from),
        };
        let fits = |value: usize, most: usize| (1..=most).contains(&value);
        ensure!(
            options.payments >= SLICES && options.payments + options.warm_up <= MAX_PAYMENTS,
            "--payments must be {SLICES} to {MAX_PAYMENTS}, the warm-up included"
        );
        ensure!(
            fits(options.concurrency, MAX_CONCURRENCY),
            "--concurrency must be 1 to {MAX_CONCURRENCY}"
        );
        ensure!(
            rate.is_none_or(|rate| rate.is_finite() && rate > 0.0),
            "--rate must be above zero"
        );
        Ok(options)
    }

    fn arrivals(&self) -> Arrivals {
        self.rate.map_or(Arrivals::Closed, Arrivals::PerSecond)
    }
}

fn count(args: &mut Vec<String>, take: TakeValue, flag: &str, usual: usize) -> Result<usize> {
    let text = take(args, flag)?;
    text.map_or(Ok(usual), |text| text.parse())
        .with_context(|| format!("{flag} wants a whole number"))
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    eprintln!("building everything for release (the first time takes many minutes) …");
    let (binaries, bench) = binaries::build_release(workspace)?;
    let load_average = usage::load_average();
    let stop = up::stop_flag()?;
    let data_dir = workspace.dev_dir().join(format!("bench-{}", std::process::id()));
    let logs_dir = data_dir.join("logs");
    paths::create_dir(&logs_dir)?;
    let stack_options = StackOptions {
        workspace: workspace.clone(),
        data_dir: data_dir.clone(),
        logs_dir: logs_dir.clone(),
        ports: Ports::ANY,
        external: External::default(),
        stop: stop.clone(),
    };
    let stack = Stack::start(&stack_options, &binaries)?;
    let postgres_data = stack.postgres_data();
    let measured = Noops::start(&bench, &stack, &logs_dir)
        .and_then(|noops| measure(options, &stack, &noops, &stop));
    drop(stack);
    match measured {
        Ok(measured) => {
            let report = report(options, measured, load_average);
            // Nobody needs the data of a run that was as it should be.
            for folder in [Some(data_dir), postgres_data].into_iter().flatten() {
                let _ = fs::remove_dir_all(folder);
            }
            println!("\n{}", report.show());
            if let Some(file) = &options.json {
                fs::write(file, serde_json::to_vec_pretty(&report)?)
                    .with_context(|| format!("write {}", file.display()))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(error.context(format!("logs and data are in {}", data_dir.display()))),
    }
}

/// What a run gave, before anything is divided.
struct Measured {
    ordered: Answered,
    paid: Total,
    idle: Total,
    memory_mb: BTreeMap<&'static str, u64>,
    costs: Costs,
}

fn measure(options: &Options, stack: &Stack, noops: &Noops, stop: &AtomicBool) -> Result<Measured> {
    let Options { warm_up, concurrency, payments, .. } = *options;
    let buyers = Shop::new(stack.addresses(), warm_up + payments, stop);
    if options.latency_ms > 0 {
        buyers.slow_down(options.latency_ms)?;
    }
    eprintln!("making {} orders …", warm_up + payments);
    let ordered = buyers.order_all(concurrency)?;
    eprintln!("warming up …");
    buyers.pay(0, warm_up, concurrency, Arrivals::Closed)?;
    noops.send("warm-up", warm_up, concurrency, Arrivals::Closed, stop)?;
    thread::sleep(QUIET);
    let watched = watched(stack, noops);
    let arrivals = options.arrivals();
    let (mut paid, mut idle) = (Total::default(), Total::default());
    let mut sent = warm_up;
    for (slice, size) in slices(payments, SLICES).into_iter().enumerate() {
        eprintln!("slice {} of {SLICES}: {size} payments and {size} no-ops …", slice + 1);
        let from = sent;
        sent += size;
        let mut pay =
            || timed(&mut paid, &watched, || buyers.pay(from, size, concurrency, arrivals));
        let name = slice.to_string();
        let mut do_nothing =
            || timed(&mut idle, &watched, || noops.send(&name, size, concurrency, arrivals, stop));
        if slice % 2 == 0 {
            pay()?;
            do_nothing()?;
        } else {
            do_nothing()?;
            pay()?;
        }
    }
    let memory_mb = watched.memory_mb();
    eprintln!("checking that each payment was taken once …");
    buyers.check()?;
    let costs = noops.costs(&buyers, warm_up, payments)?;
    Ok(Measured { ordered, paid, idle, memory_mb, costs })
}

fn report(options: &Options, measured: Measured, load_average: Option<f64>) -> Report {
    let Measured { ordered, paid, idle, memory_mb, costs } = measured;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let ratio = rounded(paid.per_second() / idle.per_second());
    Report {
        payments: options.payments,
        noops: idle.waits.len(),
        concurrency: options.concurrency,
        rate: options.rate,
        latency_ms: options.latency_ms,
        warm_up: options.warm_up,
        payments_per_s: rounded(paid.per_second()),
        noop_per_s: rounded(idle.per_second()),
        ratio_to_noop: options.rate.is_none().then_some(ratio),
        p50_ms: percentile_ms(&paid.waits, 50),
        p95_ms: percentile_ms(&paid.waits, 95),
        p99_ms: percentile_ms(&paid.waits, 99),
        noop_p50_ms: percentile_ms(&idle.waits, 50),
        noop_p95_ms: percentile_ms(&idle.waits, 95),
        noop_p99_ms: percentile_ms(&idle.waits, 99),
        orders_per_s: rounded(Total::of(ordered).per_second()),
        events_per_payment: mean(&costs.events),
        history_bytes_per_payment: mean(&costs.bytes),
        workflow_tasks_per_payment: mean(&costs.workflow_tasks),
        histories_sampled: costs.events.len(),
        cpu_ms_per_payment: paid.cpu_each(),
        cpu_ms_per_noop: idle.cpu_each(),
        rss_mb: memory_mb,
        machine: Machine {
            cores,
            processor: usage::processor(),
            load_average,
            others_percent: paid.others_percent(cores),
        },
        servers: Servers {
            postgres: "default settings but max_connections=300",
            temporal_settings: temporal::DYNAMIC_CONFIG.to_vec(),
            temporal_pragmas: temporal::SQLITE_PRAGMAS.to_vec(),
        },
    }
}

/// One slice, with the CPU time that it and the quiet after it took.
fn timed(
    total: &mut Total,
    watched: &Watched,
    send: impl FnOnce() -> Result<Answered>,
) -> Result<()> {
    let (before, begun) = (watched.cpu(), Instant::now());
    let answered = send()?;
    thread::sleep(QUIET);
    let cpu = watched.cpu().since(&before);
    total.add(answered, &cpu, begun.elapsed());
    Ok(())
}

fn watched(stack: &Stack, noops: &Noops) -> Watched {
    let name = |name: &str| match name {
        "starter" => Some("starter"),
        "worker" => Some("worker"),
        "sandbox" => Some("sandbox"),
        "Temporal" => Some("server"),
        "PostgreSQL" => Some("database"),
        _ => None,
    };
    let stack = stack.processes().into_iter();
    let stack = stack.filter_map(|one| Some((name(&one.name)?, one.identity.pid)));
    let others = [("noop", noops.pid()), ("load", std::process::id())];
    Watched { processes: stack.chain(others).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<Options> {
        let mut args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let take = |args: &mut Vec<String>, flag: &str| -> Result<Option<String>> {
            let Some(at) = args.iter().position(|arg| arg == flag) else { return Ok(None) };
            args.remove(at);
            Ok(Some(args.remove(at)))
        };
        Options::take(&mut args, take)
    }

    #[test]
    fn a_flag_that_cannot_be_read_is_named() {
        let usual = options("").unwrap();
        assert_eq!(
            (usual.payments, usual.concurrency, usual.arrivals()),
            (600, 50, Arrivals::Closed)
        );
        let at_a_rate = options("--rate 20 --payments 40").unwrap();
        assert_eq!(at_a_rate.arrivals(), Arrivals::PerSecond(20.0));
        assert_eq!(at_a_rate.concurrency, CLIENTS_AT_A_RATE);
        for bad in [
            "--payments x",
            "--payments 1",
            "--payments 10000",
            "--concurrency 0",
            "--concurrency 501",
            "--rate 0",
            "--rate often",
            "--latency-ms -1",
        ] {
            let flag = bad.split(' ').next().unwrap();
            let error = format!("{:#}", options(bad).unwrap_err());
            assert!(error.contains(flag), "{bad}: {error}");
        }
    }
}
