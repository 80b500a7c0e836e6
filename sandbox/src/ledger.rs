//! The ledger: a file of JSON lines that only grows, and from which the truth is read at a start.
//!
//! A commit returns only when its line is on the disk. Lines that come together share one fsync.
//! A ledger that cannot be written ends the process: then nothing is answered that could be lost.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result};
use tokio::sync::oneshot;

use crate::books::{Books, Event};

/// How many lines may wait for the same fsync.
const MAX_BATCH: usize = 1_000;

struct Line {
    bytes: Vec<u8>,
    durable: Option<oneshot::Sender<()>>,
}

/// The way to the file; without a file everything is kept in memory only.
pub struct Ledger(Option<Sender<Line>>);

impl Ledger {
    pub fn in_memory() -> Self {
        Self(None)
    }

    /// Opens or makes the file, and tells the books what it holds.
    pub fn open(path: &Path, books: &mut Books) -> Result<Self> {
        let doing = || format!("open the ledger {}", path.display());
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(path);
        let file = file.with_context(doing)?;
        file.try_lock().with_context(doing)?;
        replay(&file, books).with_context(|| format!("read the ledger {}", path.display()))?;
        file.sync_all().with_context(doing)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new("."))).with_context(doing)?;
        folder.sync_all().with_context(doing)?;
        let (sender, receiver) = channel();
        std::thread::Builder::new().name("ledger".to_owned()).spawn(move || {
            if let Err(error) = write_batches(file, &receiver) {
                tracing::error!(%error, "the ledger cannot be written; stopping");
                std::process::exit(1);
            }
        })?;
        Ok(Self(Some(sender)))
    }

    /// Writes an event and returns when it is on the disk.
    pub async fn commit(&self, event: &Event) {
        let (durable, done) = oneshot::channel();
        self.send(event, Some(durable));
        if self.0.is_some() {
            // An error means that the writer is gone, and the process with it: answer nobody.
            if done.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Writes an event behind those before it, without waiting for the disk.
    pub fn write(&self, event: &Event) {
        self.send(event, None);
    }

    fn send(&self, event: &Event, durable: Option<oneshot::Sender<()>>) {
        let Some(lines) = &self.0 else { return };
        // Cannot fail: an event has only string keys.
        let mut bytes = serde_json::to_vec(event).unwrap_or_default();
        bytes.push(b'\n');
        // A refused line drops its `durable`; see `commit`.
        let _ = lines.send(Line { bytes, durable });
    }
}

fn write_batches(mut file: File, lines: &Receiver<Line>) -> io::Result<()> {
    while let Ok(first) = lines.recv() {
        let mut batch = vec![first];
        batch.extend(lines.try_iter().take(MAX_BATCH - 1));
        let bytes: Vec<u8> = batch.iter().flat_map(|line| line.bytes.iter().copied()).collect();
        file.write_all(&bytes)?;
        if batch.iter().any(|line| line.durable.is_some()) {
            file.sync_data()?;
        }
        for durable in batch.into_iter().filter_map(|line| line.durable) {
            // Nobody waits any more: the commit stands all the same.
            let _ = durable.send(());
        }
    }
    Ok(())
}

/// Applies every whole line. A last line without its end was never answered for: it is cut off.
fn replay(file: &File, books: &mut Books) -> Result<()> {
    let mut reader = BufReader::new(file);
    let mut whole_len = 0u64;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let len = reader.read_until(b'\n', &mut line)?;
        if len == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            tracing::warn!(line = number, "the ledger's last line is torn; cutting it off");
            file.set_len(whole_len)?;
            break;
        }
        let event = serde_json::from_slice(&line).with_context(|| format!("line {number}"))?;
        books.apply(event);
        whole_len += len as u64;
    }
    Ok(())
}
