//! Faults on demand: what may go wrong, for which requests, and how often.
//!
//! A fault is used up by the request that it hits. Nothing here executes anything.

use serde::{Deserialize, Serialize};

use crate::charge::is_currency;

pub const MAX_FAULTS: usize = 1_000;
const MAX_TIMES: u64 = 1_000_000;
const MAX_WAIT_MS: u64 = 600_000;
const MAX_WORD_LEN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Charge,
    Lookup,
    Close,
    Fulfil,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    #[default]
    Html,
    Json,
}

/// The braces of a kind without fields are needed: serde would take any field for a bare one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    Delay {
        ms: u64,
    },
    TimeoutBeforeCommit {},
    TimeoutAfterCommit {},
    ErrorBeforeCommit {
        #[serde(default = "internal_error")]
        status: u16,
        #[serde(default)]
        body: PageKind,
    },
    ErrorAfterCommit {
        #[serde(default = "internal_error")]
        status: u16,
        #[serde(default)]
        body: PageKind,
    },
    DropConnection {
        after_commit: bool,
    },
    PauseBeforeCommit {
        ms: u64,
    },
    NotFound {},
    Refused {},
    Unsigned {},
    /// At least one of the two.
    WrongAmount {
        #[serde(skip_serializing_if = "Option::is_none")]
        amount: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
    },
    UnmappedStatus {
        status: String,
    },
    MaintenancePage {},
    StaysPayable {},
}

fn internal_error() -> u16 {
    500
}

/// Which requests a fault hits. Every field that is present must agree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
}

/// What is known of a request when a fault is looked for.
#[derive(Default)]
pub struct Subject<'a> {
    pub account: Option<&'a str>,
    pub reference: Option<&'a str>,
    pub payment_method: Option<&'a str>,
    pub order: Option<&'a str>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(rename = "match", default)]
    matches: Match,
    operation: Operation,
    #[serde(default = "once")]
    times: u64,
    fault: Fault,
}

fn once() -> u64 {
    1
}

#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    id: u64,
    #[serde(rename = "match")]
    matches: Match,
    operation: Operation,
    remaining: u64,
    fault: Fault,
}

/// The faults that wait, oldest first.
#[derive(Default)]
pub struct Faults {
    last_id: u64,
    list: Vec<Waiting>,
}

impl Faults {
    pub fn add(&mut self, wanted: Wanted) -> Result<u64, &'static str> {
        let Wanted { matches, operation, times, fault } = wanted;
        if let Some(rule) = fault.refuse(operation) {
            return Err(rule);
        }
        let for_goods = (&matches.account, &matches.reference, &matches.payment_method)
            == (&None, &None, &None);
        if operation == Operation::Fulfil && !for_goods {
            return Err("a fault of fulfil is matched by order, or by nothing");
        }
        if operation != Operation::Fulfil && matches.order.is_some() {
            return Err("only a fault of fulfil is matched by order");
        }
        if !(1..=MAX_TIMES).contains(&times) {
            return Err("times must be 1 to 1000000");
        }
        if self.list.len() == MAX_FAULTS {
            return Err("1000 faults wait already");
        }
        self.last_id += 1;
        let id = self.last_id;
        self.list.push(Waiting { id, matches, operation, remaining: times, fault });
        Ok(id)
    }

    /// Takes the oldest fault that hits this request, once.
    pub fn take(&mut self, operation: Operation, subject: &Subject<'_>) -> Option<Fault> {
        let hit =
            |waiting: &Waiting| waiting.operation == operation && waiting.matches.agrees(subject);
        let index = self.list.iter().position(hit)?;
        let fault = self.list[index].fault.clone();
        self.list[index].remaining -= 1;
        if self.list[index].remaining == 0 {
            self.list.remove(index);
        }
        Some(fault)
    }

    pub fn list(&self) -> &[Waiting] {
        &self.list
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }
}

impl Match {
    fn agrees(&self, subject: &Subject<'_>) -> bool {
        let agrees = |wanted: &Option<String>, known: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == known
        };
        agrees(&self.account, subject.account)
            && agrees(&self.reference, subject.reference)
            && agrees(&self.payment_method, subject.payment_method)
            && agrees(&self.order, subject.order)
    }
}

impl Fault {
    /// Why this fault cannot be had for this operation.
    pub fn refuse(&self, operation: Operation) -> Option<&'static str> {
        let charge_or_lookup = matches!(operation, Operation::Charge | Operation::Lookup);
        let at_the_channel = operation != Operation::Fulfil;
        match self {
            Self::Delay { ms } | Self::PauseBeforeCommit { ms } if *ms > MAX_WAIT_MS => {
                Some("ms must be at most 600000")
            }
            Self::ErrorBeforeCommit { status, .. } | Self::ErrorAfterCommit { status, .. }
                if !(400..=599).contains(status) =>
            {
                Some("status must be 400 to 599")
            }
            Self::UnmappedStatus { status } if !(1..=MAX_WORD_LEN).contains(&status.len()) => {
                Some("status must have 1 to 64 bytes")
            }
            Self::NotFound {} if operation != Operation::Lookup => Some("not_found is for lookup"),
            Self::WrongAmount { .. } if !charge_or_lookup => {
                Some("wrong_amount is for charge and lookup")
            }
            Self::WrongAmount { amount: None, currency: None } => {
                Some("wrong_amount needs amount or currency")
            }
            Self::WrongAmount { currency: Some(currency), .. } if !is_currency(currency) => {
                Some("currency must be three capital letters of ISO 4217")
            }
            Self::StaysPayable {} if operation != Operation::Charge => {
                Some("stays_payable is for charge")
            }
            Self::Unsigned {} | Self::UnmappedStatus { .. } if !at_the_channel => {
                Some("this fault is not for fulfil")
            }
            _ => None,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay",
            Self::TimeoutBeforeCommit {} => "timeout_before_commit",
            Self::TimeoutAfterCommit {} => "timeout_after_commit",
            Self::ErrorBeforeCommit { .. } => "error_before_commit",
            Self::ErrorAfterCommit { .. } => "error_after_commit",
            Self::DropConnection { .. } => "drop_connection",
            Self::PauseBeforeCommit { .. } => "pause_before_commit",
            Self::NotFound {} => "not_found",
            Self::Refused {} => "refused",
            Self::Unsigned {} => "unsigned",
            Self::WrongAmount { .. } => "wrong_amount",
            Self::UnmappedStatus { .. } => "unmapped_status",
            Self::MaintenancePage {} => "maintenance_page",
            Self::StaysPayable {} => "stays_payable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn add(faults: &mut Faults, wanted: Value) -> Result<u64, String> {
        let wanted = serde_json::from_value(wanted).map_err(|error| error.to_string())?;
        faults.add(wanted).map_err(str::to_owned)
    }

    #[test]
    fn the_oldest_fault_that_agrees_in_every_field_is_used_up() {
        let mut faults = Faults::default();
        let both = json!({ "account": "a", "payment_method": "pm_x" });
        add(
            &mut faults,
            json!({ "match": both, "operation": "charge", "times": 2,
            "fault": { "kind": "refused" } }),
        )
        .unwrap();
        add(&mut faults, json!({ "operation": "charge", "fault": { "kind": "unsigned" } }))
            .unwrap();
        let subject = |account, payment_method| Subject {
            account: Some(account),
            payment_method: Some(payment_method),
            ..Subject::default()
        };
        let mut take = |operation, account, method| {
            faults.take(operation, &subject(account, method)).map(|fault| fault.kind())
        };
        assert_eq!(take(Operation::Lookup, "a", "pm_x"), None);
        assert_eq!(take(Operation::Charge, "a", "pm_x"), Some("refused"));
        assert_eq!(take(Operation::Charge, "b", "pm_x"), Some("unsigned"));
        assert_eq!(take(Operation::Charge, "b", "pm_x"), None);
        assert_eq!(take(Operation::Charge, "a", "pm_x"), Some("refused"));
        assert_eq!(take(Operation::Charge, "a", "pm_x"), None);
    }

    #[test]
    fn a_fault_that_cannot_be_is_refused() {
        let mut faults = Faults::default();
        for wanted in [
            json!({ "operation": "charge", "fault": { "kind": "not_found" } }),
            json!({ "operation": "close", "fault": { "kind": "wrong_amount", "amount": 1 } }),
            json!({ "operation": "charge", "fault": { "kind": "wrong_amount" } }),
            json!({ "operation": "charge",
                "fault": { "kind": "wrong_amount", "currency": "usd" } }),
            json!({ "operation": "lookup", "fault": { "kind": "stays_payable" } }),
            json!({ "operation": "fulfil", "fault": { "kind": "unsigned" } }),
            json!({ "operation": "fulfil", "match": { "account": "a" },
                "fault": { "kind": "refused" } }),
            json!({ "operation": "charge", "match": { "order": "o" },
                "fault": { "kind": "refused" } }),
            json!({ "operation": "charge", "fault": { "kind": "delay", "ms": 600_001 } }),
            json!({ "operation": "charge",
                "fault": { "kind": "error_after_commit", "status": 200 } }),
            json!({ "operation": "charge", "times": 0, "fault": { "kind": "refused" } }),
            json!({ "operation": "charge", "fault": { "kind": "surprise" } }),
            json!({ "operation": "charge", "fault": { "kind": "drop_connection" } }),
            json!({ "operation": "charge", "fault": { "kind": "refused", "status": 400 } }),
            json!({ "fault": { "kind": "refused" } }),
        ] {
            assert!(add(&mut faults, wanted.clone()).is_err(), "{wanted}");
        }
    }

    #[test]
    fn no_more_than_the_limit_wait() {
        let mut faults = Faults::default();
        let wanted = json!({ "operation": "charge", "fault": { "kind": "refused" } });
        for _ in 0..MAX_FAULTS {
            add(&mut faults, wanted.clone()).unwrap();
        }
        assert!(add(&mut faults, wanted).is_err());
    }
}
