//! The truth: every charge, every request and every fulfilment, in the order in which they came.
//!
//! It changes only by an [`Event`], whether that has just happened or is read back from the
//! ledger. Nothing is ever removed, but for the oldest of very many requests.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::charge::{Charge, Status};
use crate::requests::{Progress, Received, Requests};

/// About 500 bytes each: 500 MB.
pub const MAX_CHARGES: usize = 1_000_000;

/// One line of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A request was executed, or a reference was closed before any charge.
    Charged {
        charge: Box<Charge>,
    },
    /// The payer of an open charge has paid.
    Paid {
        account: String,
        reference: String,
        transaction: String,
        at: DateTime<Utc>,
    },
    /// Money came for a charge that was refused or closed: late, and against the channel's word.
    PaidLate {
        account: String,
        reference: String,
        transaction: String,
        at: DateTime<Utc>,
    },
    /// Nothing under this reference can take money any more.
    Closed {
        account: String,
        reference: String,
    },
    Fulfilled {
        fulfilment: Fulfilment,
    },
    /// The same fulfilment was asked for once more.
    FulfilledAgain {
        key: String,
    },
    Received {
        request: Received,
    },
    Progressed {
        progress: Progress,
    },
}

/// What a merchant was asked to hand over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goods {
    pub merchant: String,
    pub order: String,
    pub payment: String,
    pub amount: u64,
    pub currency: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fulfilment {
    pub id: String,
    pub key: String,
    pub goods: Goods,
    pub times_received: u64,
    pub first_at: DateTime<Utc>,
}

type Place = (String, String);

#[derive(Default)]
pub struct Books {
    charges: Vec<Charge>,
    /// Where the charges of one account and reference stand in `charges`.
    places: HashMap<Place, Vec<usize>>,
    fulfilments: Vec<Fulfilment>,
    keys: HashMap<String, usize>,
    pub requests: Requests,
}

impl Books {
    /// The only function that changes the truth.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Charged { charge } => {
                let place = (charge.account.clone(), charge.reference.clone());
                self.places.entry(place).or_default().push(self.charges.len());
                self.charges.push(*charge);
            }
            Event::Paid { account, reference, transaction, at } => {
                let places = self.places(&account, &reference);
                let open = |place: &usize| self.charges[*place].status_at(at) == Status::Open;
                if let Some(place) = places.into_iter().find(open) {
                    self.charges[place].pay(transaction, at);
                }
            }
            Event::PaidLate { account, reference, transaction, at } => {
                let places = self.places(&account, &reference);
                let late = |place: &usize| self.charges[*place].can_be_paid_late();
                if let Some(place) = places.into_iter().find(late) {
                    self.charges[place].pay(transaction, at);
                }
            }
            Event::Closed { account, reference } => {
                for place in self.places(&account, &reference) {
                    if self.charges[place].status != Status::Succeeded {
                        self.charges[place].status = Status::Closed;
                    }
                }
            }
            Event::Fulfilled { fulfilment } => {
                self.keys.insert(fulfilment.key.clone(), self.fulfilments.len());
                self.fulfilments.push(fulfilment);
            }
            Event::FulfilledAgain { key } => {
                if let Some(index) = self.keys.get(&key) {
                    self.fulfilments[*index].times_received += 1;
                }
            }
            Event::Received { request } => self.requests.receive(request),
            Event::Progressed { progress } => self.requests.progress(progress),
        }
    }

    /// The charges of one account under one reference, oldest first.
    pub fn under(&self, account: &str, reference: &str) -> Vec<&Charge> {
        let places = self.places(account, reference).into_iter();
        places.map(|place| &self.charges[place]).collect()
    }

    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    pub fn fulfilments(&self) -> &[Fulfilment] {
        &self.fulfilments
    }

    pub fn fulfilment(&self, key: &str) -> Option<&Fulfilment> {
        self.keys.get(key).map(|index| &self.fulfilments[*index])
    }

    fn places(&self, account: &str, reference: &str) -> Vec<usize> {
        let place = (account.to_owned(), reference.to_owned());
        self.places.get(&place).cloned().unwrap_or_default()
    }
}
