//! CPU time and memory of the stack's processes, read from `/proc`; elsewhere nothing is known.
//!
//! A process counts with its user and system time. PostgreSQL is a family: the postmaster, its
//! children that live, and those that it has reaped.

use std::collections::BTreeMap;
use std::fs;

/// Linux counts CPU time in hundredths of a second for every program, on every machine.
const MS_PER_TICK: u64 = 10;

/// Which processes are looked at.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What the figures are called, and the pid.
    pub processes: Vec<(&'static str, u32)>,
}

/// CPU time since the processes began, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMs {
    pub of: BTreeMap<&'static str, u64>,
    /// Of the whole machine, without idling and waiting for disks.
    pub machine: u64,
}

impl CpuMs {
    /// What was used from an earlier look to this one.
    pub fn since(&self, earlier: &Self) -> Self {
        let used = |(name, now): (&&'static str, &u64)| {
            (*name, now.saturating_sub(earlier.of.get(*name).copied().unwrap_or(0)))
        };
        Self {
            of: self.of.iter().map(used).collect(),
            machine: self.machine.saturating_sub(earlier.machine),
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (name, used) in &other.of {
            *self.of.entry(*name).or_default() += used;
        }
        self.machine += other.machine;
    }
}

impl Watched {
    /// CPU time until now; processes that cannot be read are left out.
    pub fn cpu(&self) -> CpuMs {
        let all = stats();
        let mut of = BTreeMap::new();
        for (name, pid) in &self.processes {
            let Some(own) = all.get(pid) else { continue };
            let family = *name == "database";
            let children = all.values().filter(|stat| family && stat.parent == *pid);
            let living: u64 = children.map(|stat| stat.ticks).sum();
            let reaped = if family { own.reaped } else { 0 };
            of.insert(*name, (own.ticks + living + reaped) * MS_PER_TICK);
        }
        CpuMs { of, machine: machine_ticks().unwrap_or(0) * MS_PER_TICK }
    }

    /// Memory now, in megabytes: resident for one process, for PostgreSQL the sum of the family's
    /// proportional shares, because its processes share most of what each has.
    pub fn memory_mb(&self) -> BTreeMap<&'static str, u64> {
        let all = stats();
        let of = |(name, pid): &(&'static str, u32)| {
            let kilobytes = if *name == "database" {
                let children = all.iter().filter(|(_, stat)| stat.parent == *pid);
                let family = children.map(|(child, _)| *child).chain([*pid]);
                family.filter_map(|pid| field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")).sum()
            } else {
                field(&format!("/proc/{pid}/status"), "VmRSS:")?
            };
            Some((*name, kilobytes / 1_024))
        };
        self.processes.iter().filter_map(of).collect()
    }
}

/// Load average of the last minute.
pub fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// What the processor calls itself.
pub fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    ticks: u64,
    /// Of children that have ended and been waited for.
    reaped: u64,
}

fn stats() -> BTreeMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        Some((pid, stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))
    })
    .collect()
}

/// The name of the program stands in parentheses and may hold anything.
fn stat(line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
        reaped: number(13)? + number(14)?,
    })
}

/// user, nice, system, then idle and iowait, which are not work, irq, softirq, steal.
fn machine_ticks() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let numbers: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    Some([0, 1, 2, 5, 6, 7].iter().filter_map(|at| numbers.get(*at)).sum())
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_move_the_fields() {
        let line = "42 (a) (b) S 7 42 42 0 -1 4194560 1 2 3 4 150 30 20 10 20 0 1 0 5";
        assert_eq!(stat(line), Some(Stat { parent: 7, ticks: 180, reaped: 30 }));
        assert_eq!(stat("42 (a) S"), None);
    }

    #[test]
    fn only_what_was_used_between_two_looks_counts() {
        let look = |worker, machine| CpuMs { of: [("worker", worker)].into(), machine };
        let mut used = look(30, 100).since(&look(10, 40));
        assert_eq!(used, look(20, 60));
        used.add(&look(5, 5));
        assert_eq!(used, look(25, 65));
        assert_eq!(look(30, 100).since(&CpuMs::default()), look(30, 100));
    }

    #[test]
    fn this_process_is_seen_to_work() {
        let watched = Watched { processes: vec![("self", std::process::id())] };
        if cfg!(target_os = "linux") {
            assert!(watched.cpu().of.contains_key("self"));
            assert!(watched.memory_mb()["self"] > 0);
        }
    }
}
