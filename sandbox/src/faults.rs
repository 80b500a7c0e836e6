//! Faults on request: the next so many requests that match do something else than they should.

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most faults that may wait at the same time.
pub(crate) const MAX_FAULTS: usize = 1_000;
/// Longest delay or pause, in milliseconds.
const MAX_WAIT_MS: u64 = 120_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    Charge,
    Lookup,
    Close,
    Fulfil,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Fault {
    /// Answers later.
    Delay { ms: u64 },
    /// Executes nothing and never answers.
    TimeoutBeforeCommit,
    /// Executes and never answers.
    TimeoutAfterCommit,
    /// Executes nothing and answers with a page of this status.
    ErrorBeforeCommit { status: u16 },
    /// Executes and answers with a page of this status.
    ErrorAfterCommit { status: u16 },
    /// Ends the connection without an answer.
    DropConnection { after_commit: bool },
    /// Executes only after this time, also when the caller has left by then.
    PauseBeforeCommit { ms: u64 },
    /// A lookup does not find what is there.
    NotFound,
    /// The channel's signed word that it did not take the request.
    Refused,
    /// Executes and answers without a signature.
    Unsigned,
    /// Executes and answers with another amount.
    WrongAmount { amount: u64 },
    /// Executes and answers with a status that nobody knows.
    UnmappedStatus { status: String },
    /// Executes nothing and answers 200 with a page.
    MaintenancePage,
}

/// Which requests a fault is for: all that is given must be equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    pub account: Option<String>,
    pub reference: Option<String>,
    pub payment_method: Option<String>,
    pub order: Option<String>,
}

/// A request as faults see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub account: Option<String>,
    pub reference: Option<String>,
    pub payment_method: Option<String>,
    pub order: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planned {
    #[serde(default, skip_deserializing)]
    pub id: u64,
    #[serde(default, rename = "match")]
    pub matches: Match,
    pub operation: Operation,
    /// How many requests it is for.
    pub times: u32,
    pub fault: Fault,
}

#[derive(Default)]
pub(crate) struct Faults(Mutex<(u64, Vec<Planned>)>);

impl Faults {
    fn lock(&self) -> MutexGuard<'_, (u64, Vec<Planned>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans a fault; `None` when too many wait, or a wait in it is too long.
    pub(crate) fn add(&self, mut planned: Planned) -> Option<u64> {
        let mut faults = self.lock();
        if faults.1.len() >= MAX_FAULTS || !planned.fault.is_valid() || planned.times == 0 {
            return None;
        }
        faults.0 += 1;
        planned.id = faults.0;
        faults.1.push(planned);
        Some(faults.0)
    }

    pub(crate) fn list(&self) -> Vec<Planned> {
        self.lock().1.clone()
    }

    pub(crate) fn clear(&self) {
        self.lock().1.clear();
    }

    /// The first fault that is for this request; it has one time less afterwards.
    pub(crate) fn take(&self, operation: Operation, subject: &Subject) -> Option<Fault> {
        let mut faults = self.lock();
        let found = faults
            .1
            .iter_mut()
            .find(|planned| planned.operation == operation && planned.matches.fits(subject))?;
        found.times -= 1;
        let fault = found.fault.clone();
        faults.1.retain(|planned| planned.times > 0);
        Some(fault)
    }
}

impl Match {
    fn fits(&self, subject: &Subject) -> bool {
        let fits =
            |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
        fits(&self.account, &subject.account)
            && fits(&self.reference, &subject.reference)
            && fits(&self.payment_method, &subject.payment_method)
            && fits(&self.order, &subject.order)
    }
}

impl Fault {
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Delay { ms } | Self::PauseBeforeCommit { ms } => *ms <= MAX_WAIT_MS,
            Self::ErrorBeforeCommit { status } | Self::ErrorAfterCommit { status } => {
                (400..=599).contains(status)
            }
            _ => true,
        }
    }

    /// Its name, for the record of requests.
    pub(crate) fn name(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default().to_owned()
    }
}
