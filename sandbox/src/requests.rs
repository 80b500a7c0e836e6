//! The list of every request that was received, also of those that were never answered.
//!
//! A request is on the list before anything is done about it.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::books::Event;
use crate::fault::Operation;

/// About 200 bytes each: 200 MB. The oldest goes when one more comes.
const MAX_REQUESTS: usize = 1_000_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Received {
    /// Counts from 0; set where the request is put on the list.
    pub number: u64,
    pub operation: Operation,
    pub account: Option<String>,
    pub reference: Option<String>,
    pub at: DateTime<Utc>,
}

/// What is newly known of a request; what is absent stays as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    pub number: u64,
    pub outcome: Option<String>,
    pub fault: Option<String>,
    pub status: Option<u16>,
}

/// A request as the truth shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    pub operation: Operation,
    pub account: Option<String>,
    pub reference: Option<String>,
    pub at: DateTime<Utc>,
    pub outcome: String,
    pub fault: Option<String>,
    /// The HTTP status of the answer; absent if there was none.
    pub status: Option<u16>,
}

#[derive(Default)]
pub struct Requests {
    /// The number of the oldest that is still listed.
    first: u64,
    list: VecDeque<Listed>,
}

impl Requests {
    pub fn next_number(&self) -> u64 {
        self.first + self.list.len() as u64
    }

    pub fn iter(&self) -> impl Iterator<Item = &Listed> {
        self.list.iter()
    }

    pub fn receive(&mut self, request: Received) {
        if self.list.len() == MAX_REQUESTS {
            self.list.pop_front();
            self.first += 1;
        }
        let Received { number: _, operation, account, reference, at } = request;
        let outcome = "received".to_owned();
        let listed =
            Listed { operation, account, reference, at, outcome, fault: None, status: None };
        self.list.push_back(listed);
    }

    pub fn progress(&mut self, progress: Progress) {
        let index = progress.number.checked_sub(self.first).map(usize::try_from);
        let Some(Ok(index)) = index else { return };
        let Some(listed) = self.list.get_mut(index) else { return };
        if let Some(outcome) = progress.outcome {
            listed.outcome = outcome;
        }
        listed.fault = progress.fault.or(listed.fault.take());
        listed.status = progress.status.or(listed.status);
    }
}

/// One request's place on the list.
#[derive(Clone)]
pub struct Entry {
    app: Arc<App>,
    number: u64,
}

impl Entry {
    pub fn open(
        app: &Arc<App>,
        operation: Operation,
        account: Option<&str>,
        reference: Option<&str>,
    ) -> Self {
        let owned = |text: &str| text.chars().take(64).collect();
        let request = Received {
            number: 0,
            operation,
            account: account.map(owned),
            reference: reference.map(owned),
            at: Utc::now(),
        };
        Self { app: app.clone(), number: app.receive(request) }
    }

    /// What the channel did, whether or not anybody hears of it.
    pub fn outcome(&self, outcome: &str) {
        self.note(Progress { outcome: Some(outcome.to_owned()), ..Progress::default() });
    }

    pub fn fault(&self, kind: &str) {
        self.note(Progress { fault: Some(kind.to_owned()), ..Progress::default() });
    }

    pub fn status(&self, status: u16) {
        self.note(Progress { status: Some(status), ..Progress::default() });
    }

    fn note(&self, progress: Progress) {
        let progress = Progress { number: self.number, ..progress };
        self.app.note(Event::Progressed { progress });
    }
}
