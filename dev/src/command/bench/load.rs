//! Sending many requests at once: a fixed number in flight, or a fixed number each second.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use dev::http::Connection;

/// How often progress is told.
const TELL: Duration = Duration::from_secs(2);

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A new one whenever one is answered.
    Closed,
    /// So many each second, whether or not the earlier ones are answered.
    PerSecond(f64),
}

impl Arrivals {
    /// How long after the beginning request `number` is due.
    fn due(self, number: usize) -> Option<Duration> {
        match self {
            Self::Closed => None,
            // Cannot fail: there are far fewer requests than 2^32.
            Self::PerSecond(rate) => {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                Some(Duration::from_secs_f64(f64::from(number) / rate))
            }
        }
    }
}

/// A batch of requests of one kind.
pub struct Batch<'a> {
    pub name: &'a str,
    pub url: &'a str,
    pub requests: usize,
    /// At most so many at once.
    pub concurrency: usize,
    pub arrivals: Arrivals,
    pub stop: &'a AtomicBool,
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// From the beginning to the last answer.
    pub took: Duration,
    /// How long each answer was waited for. Where requests come at a rate, from the moment at which
    /// each was due, so that a server that is late does not hide it.
    pub waits: Vec<Duration>,
}

impl Batch<'_> {
    /// Sends request 0, 1, 2 … by `send`; the first error ends the batch.
    pub fn run(
        &self,
        send: impl Fn(&mut Connection, usize) -> Result<()> + Sync,
    ) -> Result<Answered> {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::with_capacity(self.requests));
        let failed = Mutex::new(None);
        let begun = Instant::now();
        let one_client = || -> Result<()> {
            let mut connection = Connection::open(self.url)?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.requests {
                    return Ok(());
                }
                if self.stop.load(Ordering::Relaxed) {
                    bail!("interrupted");
                }
                let from = match self.arrivals.due(number) {
                    None => Instant::now(),
                    Some(after) => {
                        let due = begun + after;
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        due
                    }
                };
                send(&mut connection, number)?;
                let answered = (from.elapsed(), begun.elapsed());
                answers.lock().unwrap_or_else(PoisonError::into_inner).push(answered);
            }
        };
        let client = || {
            if let Err(error) = one_client() {
                next.store(self.requests, Ordering::Relaxed);
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        thread::scope(|scope| {
            let clients: Vec<_> =
                (0..self.concurrency.min(self.requests)).map(|_| scope.spawn(client)).collect();
            self.tell(begun, || {
                let answered = answers.lock().unwrap_or_else(PoisonError::into_inner).len();
                (answered, clients.iter().all(thread::ScopedJoinHandle::is_finished))
            });
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.context(format!("{} broke off", self.name)));
        }
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let took = answers.iter().map(|(_, at)| *at).max().unwrap_or_default();
        Ok(Answered { took, waits: answers.into_iter().map(|(wait, _)| wait).collect() })
    }

    /// Tells how far it is until everything is answered: one line that changes on a terminal, a
    /// line every two seconds elsewhere.
    fn tell(&self, begun: Instant, look: impl Fn() -> (usize, bool)) {
        let terminal = std::io::stderr().is_terminal();
        let mut told = Instant::now();
        loop {
            let (answered, over) = look();
            if over {
                if terminal {
                    eprint!("\r\x1b[K");
                }
                return;
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                let seconds = begun.elapsed().as_secs();
                let line = format!("  {}: {answered} of {}, {seconds} s", self.name, self.requests);
                if terminal { eprint!("\r{line}\x1b[K") } else { eprintln!("{line}") }
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_at_a_rate_are_due_evenly() {
        assert_eq!(Arrivals::PerSecond(50.0).due(0), Some(Duration::ZERO));
        assert_eq!(Arrivals::PerSecond(50.0).due(25), Some(Duration::from_millis(500)));
        assert_eq!(Arrivals::Closed.due(25), None);
    }

    #[test]
    fn an_error_ends_the_batch_and_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = AtomicBool::new(false);
        let batch = Batch {
            name: "payments",
            url: &url,
            requests: 10,
            concurrency: 2,
            arrivals: Arrivals::Closed,
            stop: &stop,
        };
        assert_eq!(batch.run(|_, _| Ok(())).unwrap().waits.len(), 10);
        let error = batch.run(|_, number| if number == 3 { bail!("no") } else { Ok(()) });
        assert!(format!("{:#}", error.unwrap_err()).contains("payments broke off: no"));
        stop.store(true, Ordering::Relaxed);
        assert!(batch.run(|_, _| Ok(())).is_err());
    }
}
