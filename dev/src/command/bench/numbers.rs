//! The arithmetic of a run, and how it is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use dev::table;
use serde::Serialize;

use super::load::Answered;
use super::usage::CpuMs;

/// Everything that was sent of one kind, over all its slices.
#[derive(Clone, Debug, Default)]
pub struct Total {
    pub took: Duration,
    pub waits: Vec<Duration>,
    /// Until the stack was quiet again after each slice.
    pub cpu: CpuMs,
    /// Over which `cpu` was counted.
    pub watched_for: Duration,
}

impl Total {
    /// Of what was sent at once, without a look at the processes.
    pub fn of(slice: Answered) -> Self {
        Self { took: slice.took, waits: slice.waits, ..Self::default() }
    }

    pub fn add(&mut self, slice: Answered, cpu: &CpuMs, watched_for: Duration) {
        self.took += slice.took;
        self.waits.extend(slice.waits);
        self.cpu.add(cpu);
        self.watched_for += watched_for;
    }

    pub fn per_second(&self) -> f64 {
        number(self.waits.len()) / self.took.as_secs_f64()
    }

    /// CPU time of each process for one request, in milliseconds.
    pub fn cpu_each(&self) -> BTreeMap<&'static str, f64> {
        let each = |(name, ms): (&&'static str, &u64)| {
            (*name, rounded(whole(*ms) / number(self.waits.len())))
        };
        self.cpu.of.iter().map(each).collect()
    }

    /// Which part of the machine was busy with something else, in percent.
    pub fn others_percent(&self, cores: usize) -> f64 {
        let own: u64 = self.cpu.of.values().sum();
        let whole_ms = self.watched_for.as_secs_f64() * 1_000.0 * number(cores);
        rounded(100.0 * whole(self.cpu.machine.saturating_sub(own)) / whole_ms)
    }
}

/// The waits that this share of the requests did not exceed, by nearest rank, in milliseconds.
pub fn percentile_ms(waits: &[Duration], percent: usize) -> f64 {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    rounded(sorted.get(rank - 1).map_or(0.0, Duration::as_secs_f64) * 1_000.0)
}

/// The mean of what a few histories cost.
pub fn mean(values: &[u64]) -> f64 {
    if values.is_empty() { 0.0 } else { rounded(whole(values.iter().sum()) / number(values.len())) }
}

/// Two decimals: more would be noise.
pub fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Requests of a slice: as even as whole numbers can be.
pub fn slices(total: usize, count: usize) -> Vec<usize> {
    (0..count).map(|index| total * (index + 1) / count - total * index / count).collect()
}

fn number(count: usize) -> f64 {
    // Cannot fail: there are far fewer than 2^32 of anything.
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn whole(value: u64) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(u32::MAX))
}

/// What `--json` writes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub payments: usize,
    pub noops: usize,
    pub concurrency: usize,
    /// Requests each second; absent where a new one followed each answer.
    pub rate: Option<f64>,
    pub latency_ms: u64,
    pub warm_up: usize,
    pub payments_per_s: f64,
    pub noop_per_s: f64,
    /// Absent at a rate: both are then as fast as they were asked for.
    pub ratio_to_noop: Option<f64>,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub noop_p50_ms: f64,
    pub noop_p95_ms: f64,
    pub noop_p99_ms: f64,
    pub orders_per_s: f64,
    pub events_per_payment: f64,
    pub history_bytes_per_payment: f64,
    pub workflow_tasks_per_payment: f64,
    pub histories_sampled: usize,
    pub cpu_ms_per_payment: BTreeMap<&'static str, f64>,
    pub cpu_ms_per_noop: BTreeMap<&'static str, f64>,
    pub rss_mb: BTreeMap<&'static str, u64>,
    pub machine: Machine,
    pub servers: Servers,
}

/// Where it ran, and how much else ran there.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub processor: Option<String>,
    /// Before the stack was started.
    pub load_average: Option<f64>,
    /// Of all cores, while payments and no-ops were sent.
    pub others_percent: f64,
}

/// How the servers ran.
#[derive(Clone, Debug, Serialize)]
pub struct Servers {
    pub postgres: &'static str,
    pub temporal_settings: Vec<&'static str>,
    pub temporal_pragmas: Vec<&'static str>,
}

impl Report {
    /// The tables for people.
    pub fn show(&self) -> String {
        let text = |value: f64| format!("{value:.1}");
        let row = |cells: &[String]| cells.to_vec();
        let words = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let speed = [
            words(&["", "per second", "p50 ms", "p95 ms", "p99 ms"]),
            row(&[
                format!("{} payments", self.payments),
                text(self.payments_per_s),
                text(self.p50_ms),
                text(self.p95_ms),
                text(self.p99_ms),
            ]),
            row(&[
                format!("{} no-ops", self.noops),
                text(self.noop_per_s),
                text(self.noop_p50_ms),
                text(self.noop_p95_ms),
                text(self.noop_p99_ms),
            ]),
        ];
        let ratio = self.ratio_to_noop.map_or("none at a rate".to_owned(), |it| format!("{it:.2}"));
        let history = [
            vec!["ratio to no-op".to_owned(), ratio],
            vec!["events".to_owned(), text(self.events_per_payment)],
            vec!["workflow tasks".to_owned(), text(self.workflow_tasks_per_payment)],
            vec!["history bytes".to_owned(), text(self.history_bytes_per_payment)],
        ];
        let mut cpu = vec![words(&["", "CPU ms each payment", "CPU ms each no-op", "MB"])];
        for (name, ms) in &self.cpu_ms_per_payment {
            let noop = self.cpu_ms_per_noop.get(name).copied().unwrap_or(0.0);
            let memory = self.rss_mb.get(name).map_or(String::new(), u64::to_string);
            let cells = [(*name).to_owned(), format!("{ms:.2}"), format!("{noop:.2}"), memory];
            cpu.push(cells.to_vec());
        }
        let tables = [speed.to_vec(), history.to_vec(), cpu].map(|rows| table::render(&rows));
        let others = self.machine.others_percent;
        format!(
            "{}\n\n  {others:.0} % of the machine was busy with something else",
            tables.join("\n\n")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: &[u64]) -> Vec<Duration> {
        values.iter().map(|value| Duration::from_millis(*value)).collect()
    }

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn a_percentile_is_a_wait_that_somebody_had() {
        let waits = ms(&(1..=100).rev().collect::<Vec<_>>());
        assert!(near(percentile_ms(&waits, 50), 50.0));
        assert!(near(percentile_ms(&waits, 95), 95.0));
        assert!(near(percentile_ms(&waits, 99), 99.0));
        assert!(near(percentile_ms(&ms(&[7, 3]), 50), 3.0));
        assert!(near(percentile_ms(&ms(&[7, 3]), 99), 7.0));
        assert!(near(percentile_ms(&[], 50), 0.0));
    }

    #[test]
    fn slices_lose_no_request() {
        assert_eq!(slices(10, 4), [2, 3, 2, 3]);
        assert_eq!(slices(600, 4), [150; 4]);
        assert_eq!(slices(2, 4).iter().sum::<usize>(), 2);
    }

    #[test]
    fn slices_are_added_up_before_anything_is_divided() {
        let cpu = |server, machine| CpuMs { of: [("server", server)].into(), machine };
        let mut total = Total::default();
        let slice =
            |waits: &[u64], took| Answered { took: Duration::from_secs(took), waits: ms(waits) };
        total.add(slice(&[10; 30], 1), &cpu(300, 500), Duration::from_secs(2));
        total.add(slice(&[10; 10], 3), &cpu(100, 300), Duration::from_secs(3));
        assert!(near(total.per_second(), 10.0));
        assert!(near(total.cpu_each()["server"], 10.0));
        // 400 ms of others' work in 5 s of two cores.
        assert!(near(total.others_percent(2), 4.0));
    }

    #[test]
    fn a_mean_is_of_all_that_were_sampled() {
        assert!(near(mean(&[12, 12, 13]), 12.33));
        assert!(near(mean(&[]), 0.0));
    }
}
