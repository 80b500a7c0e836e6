//! What all handlers share: accounts, books, ledger, what is planned, and one lock for each
//! reference.
//!
//! The books show a change only after the ledger holds it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use crate::account::Accounts;
use crate::books::{Books, Event};
use crate::fault::Faults;
use crate::ledger::Ledger;
use crate::maintenance::Windows;
use crate::requests::Received;

/// Two references that share a lock wait for each other; that is slower and never wrong.
const LOCKS: usize = 4_096;

pub struct App {
    pub accounts: Accounts,
    books: Mutex<Books>,
    ledger: Ledger,
    faults: Mutex<Faults>,
    maintenance: Mutex<Windows>,
    locks: Vec<tokio::sync::Mutex<()>>,
}

impl App {
    pub fn open(accounts: Accounts, ledger: Option<&Path>) -> Result<Arc<Self>> {
        let mut books = Books::default();
        let ledger = match ledger {
            Some(path) => Ledger::open(path, &mut books)?,
            None => Ledger::in_memory(),
        };
        let locks = (0..LOCKS).map(|_| tokio::sync::Mutex::default()).collect();
        let (books, faults) = (Mutex::new(books), Mutex::default());
        let maintenance = Mutex::default();
        Ok(Arc::new(Self { accounts, books, ledger, faults, maintenance, locks }))
    }

    /// Makes an event true. The caller holds the lock of what it is about.
    pub async fn commit(&self, event: Event) {
        self.ledger.commit(&event).await;
        self.books().apply(event);
    }

    /// Puts a request on the list and returns its number.
    pub fn receive(&self, request: Received) -> u64 {
        let mut books = self.books();
        let number = books.requests.next_number();
        let event = Event::Received { request: Received { number, ..request } };
        self.ledger.write(&event);
        books.apply(event);
        number
    }

    /// Notes an event that need not be on the disk before the answer.
    pub fn note(&self, event: Event) {
        let mut books = self.books();
        self.ledger.write(&event);
        books.apply(event);
    }

    /// Held across an await by nobody.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn maintenance(&self) -> MutexGuard<'_, Windows> {
        self.maintenance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One at a time for each account and reference, or for each fulfilment key.
    pub async fn lock(&self, account: &str, reference: &str) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (account, reference).hash(&mut hasher);
        // Cannot fail: the rest of a division by a usize is a usize.
        let index = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or_default();
        self.locks[index].lock().await
    }
}
