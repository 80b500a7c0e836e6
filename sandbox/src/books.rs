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
                let open = |charge: &&mut Charge| charge.status == Status::Open;
                if let Some(charge) = self.under_mut(&account, &reference).find(open) {
                    charge.status = Status::Succeeded;
                    charge.transaction = Some(transaction);
                    charge.executed_at = Some(at);
                }
            }
            Event::Closed { account, reference } => {
                for charge in self.under_mut(&account, &reference) {
                    if charge.status != Status::Succeeded {
                        charge.status = Status::Closed;
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
        let place = (account.to_owned(), reference.to_owned());
        let places = self.places.get(&place);
        places.into_iter().flatten().map(|index| &self.charges[*index]).collect()
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

    fn under_mut(
        &mut self,
        account: &str,
        reference: &str,
    ) -> impl Iterator<Item = &mut Charge> + use<'_> {
        let place = (account.to_owned(), reference.to_owned());
        let places = self.places.get(&place).cloned().unwrap_or_default();
        let first = places.first().copied().unwrap_or(self.charges.len());
        let charges = self.charges[first..].iter_mut().enumerate();
        charges.filter(move |(at, _)| places.contains(&(first + at))).map(|(_, charge)| charge)
    }
}
