//! What really happened: every charge object, every request, every fulfilment. Entries are
//! appended and never changed; with a file, an entry is on disk before its answer is sent.

use crate::sign::unix_ms;
use anyhow::{Context, Result};
use aws_lc_rs::rand;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Succeeded,
    Declined,
    Open,
    Closed,
}

/// A charge as the channel knows it. It holds money exactly when it has a transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub account: String,
    pub reference: String,
    pub transaction: Option<String>,
    pub amount: u64,
    pub currency: String,
    pub payment_method: String,
    pub status: Status,
    pub decline_code: Option<String>,
    pub decline_final: Option<bool>,
    pub action: Option<Value>,
    pub created_at_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fulfilment {
    pub key: String,
    pub merchant: String,
    pub order: String,
    pub payment: String,
    pub amount: u64,
    pub currency: String,
    pub id: String,
    pub times_received: u64,
    pub first_at_ms: u64,
}

/// A request that was received, whether it was answered or not.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Request {
    pub operation: &'static str,
    pub account: Option<String>,
    pub reference: Option<String>,
    pub at_ms: u64,
    pub fault: Option<String>,
    pub outcome: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
enum Entry {
    Charged { charge: Charge },
    Closed { account: String, reference: String },
    Paid { account: String, reference: String, transaction: String, at_ms: u64 },
    Fulfilled { fulfilment: Fulfilment },
    FulfilledAgain { key: String },
}

#[derive(Default)]
struct Books {
    charges: BTreeMap<(String, String), Vec<Charge>>,
    fulfilments: BTreeMap<String, Fulfilment>,
    requests: Vec<Request>,
    file: Option<File>,
}

/// The books, behind one lock: requests of one reference are executed one after the other.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Books>);

/// The books while nobody else may write.
pub(crate) struct Open<'a>(MutexGuard<'a, Books>);

impl Ledger {
    /// Opens the books, reading what a former process left.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let mut books = Books::default();
        if let Some(path) = path {
            if path.exists() {
                let file = File::open(path).with_context(|| path.display().to_string())?;
                for line in BufReader::new(file).lines() {
                    let line = line?;
                    // A line that was cut off by the end of the process was never answered.
                    let Ok(entry) = serde_json::from_str(&line) else { continue };
                    books.apply(entry);
                }
            }
            let file = OpenOptions::new().create(true).append(true).open(path);
            books.file = Some(file.with_context(|| path.display().to_string())?);
        }
        Ok(Self(Mutex::new(books)))
    }

    pub(crate) fn lock(&self) -> Open<'_> {
        Open(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a request came; the number is for [`Ledger::answered`].
    pub(crate) fn received(&self, request: Request) -> usize {
        let mut books = self.lock();
        books.0.requests.push(request);
        books.0.requests.len() - 1
    }

    pub(crate) fn answered(&self, number: usize, outcome: String) {
        if let Some(request) = self.lock().0.requests.get_mut(number) {
            request.outcome = Some(outcome);
        }
    }
}

impl Books {
    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Charged { charge } => {
                let key = (charge.account.clone(), charge.reference.clone());
                self.charges.entry(key).or_default().push(charge);
            }
            Entry::Closed { account, reference } => {
                for charge in self.charges.entry((account, reference)).or_default() {
                    if charge.transaction.is_none() {
                        charge.status = Status::Closed;
                    }
                }
            }
            Entry::Paid { account, reference, transaction, at_ms } => {
                let charges = self.charges.entry((account, reference)).or_default();
                if let Some(charge) = charges.first_mut() {
                    charge.status = Status::Succeeded;
                    charge.transaction = Some(transaction);
                    charge.created_at_ms = at_ms;
                }
            }
            Entry::Fulfilled { fulfilment } => {
                self.fulfilments.insert(fulfilment.key.clone(), fulfilment);
            }
            Entry::FulfilledAgain { key } => {
                if let Some(fulfilment) = self.fulfilments.get_mut(&key) {
                    fulfilment.times_received += 1;
                }
            }
        }
    }
}

impl Open<'_> {
    /// Appends an entry: on disk first, in memory after. A write that fails ends the process, for
    /// a channel that cannot keep its books takes no money.
    fn commit(&mut self, entry: Entry) {
        if let Some(file) = &mut self.0.file {
            let line = format!("{}\n", serde_json::to_value(&entry).unwrap_or_default());
            let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
            if let Err(error) = written {
                tracing::error!(%error, "the ledger cannot be written");
                std::process::exit(1);
            }
        }
        self.0.apply(entry);
    }

    pub(crate) fn find(&self, account: &str, reference: &str) -> &[Charge] {
        let key = (account.to_owned(), reference.to_owned());
        self.0.charges.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn charge(&mut self, charge: Charge) -> Charge {
        self.commit(Entry::Charged { charge: charge.clone() });
        charge
    }

    pub(crate) fn close(&mut self, account: &str, reference: &str) {
        let (account, reference) = (account.to_owned(), reference.to_owned());
        self.commit(Entry::Closed { account, reference });
    }

    pub(crate) fn pay(&mut self, account: &str, reference: &str) {
        let (account, reference) = (account.to_owned(), reference.to_owned());
        let transaction = new_id("sbx_");
        self.commit(Entry::Paid { account, reference, transaction, at_ms: unix_ms() });
    }

    pub(crate) fn fulfilment(&self, key: &str) -> Option<&Fulfilment> {
        self.0.fulfilments.get(key)
    }

    pub(crate) fn fulfil(&mut self, fulfilment: Fulfilment) {
        self.commit(Entry::Fulfilled { fulfilment });
    }

    pub(crate) fn fulfil_again(&mut self, key: &str) {
        self.commit(Entry::FulfilledAgain { key: key.to_owned() });
    }

    /// What each payer really paid, and every request that led to it.
    pub(crate) fn truth(&self, account: Option<&str>, reference: Option<&str>) -> Value {
        let wanted = |a: Option<&str>, r: Option<&str>| {
            account.is_none_or(|account| a == Some(account))
                && reference.is_none_or(|reference| r == Some(reference))
        };
        let objects: Vec<_> = self
            .0
            .charges
            .values()
            .flatten()
            .filter(|c| wanted(Some(&c.account), Some(&c.reference)))
            .collect();
        let charges: Vec<_> = objects.iter().filter(|c| c.transaction.is_some()).collect();
        let requests: Vec<_> = self
            .0
            .requests
            .iter()
            .filter(|r| wanted(r.account.as_deref(), r.reference.as_deref()))
            .collect();
        let fulfilments: Vec<_> = self.0.fulfilments.values().collect();
        json!({
            "charges": charges, "objects": objects, "requests": requests,
            "fulfilments": fulfilments,
        })
    }
}

/// A new identity of the channel's own.
pub(crate) fn new_id(prefix: &str) -> String {
    let mut bytes = [0u8; 12];
    // Cannot fail on a system that has an entropy source.
    let _ = rand::fill(&mut bytes);
    format!("{prefix}{}", hex::encode(bytes))
}
