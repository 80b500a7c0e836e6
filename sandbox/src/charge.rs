//! A charge: what a client asks for, and what becomes of it. Pure; it reads no clock.
//!
//! A charge that has succeeded never changes again; one that is closed only when the
//! administration has money come late.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

const REFERENCE_LEN: usize = 26;
/// One below 2^53, so that every JSON reader keeps the number exact.
const MAX_AMOUNT: u64 = (1 << 53) - 1;
const MAX_METHOD_LEN: usize = 64;
const MAX_DESCRIPTION_LEN: usize = 255;
/// ISO 4217 for "no currency": a tombstone has none.
const NO_CURRENCY: &str = "XXX";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Succeeded,
    Declined,
    Open,
    Closed,
}

/// What a client sends. Two requests are the same if every field is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub reference: String,
    /// Minor units of the currency.
    pub amount: u64,
    pub currency: String,
    pub payment_method: String,
    #[serde(default)]
    pub description: String,
    pub pay_before: Option<DateTime<Utc>>,
}

/// One charge as the channel keeps it. A tombstone has no content: it was closed before it came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charge {
    pub account: String,
    pub reference: String,
    pub content: Option<Content>,
    pub status: Status,
    pub transaction: Option<String>,
    pub executed_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// Refused when it was asked for, and payable all the same while it is open.
    #[serde(default)]
    pub refused: bool,
}

#[derive(Serialize)]
pub struct Action {
    kind: &'static str,
    url: String,
}

/// A charge as a client sees it.
#[derive(Serialize)]
pub struct Object<'a> {
    reference: &'a str,
    transaction: Option<&'a str>,
    pub status: Status,
    amount: u64,
    currency: &'a str,
    decline_code: Option<&'static str>,
    decline_final: Option<bool>,
    action: Option<Action>,
    created_at: DateTime<Utc>,
    /// How many charges stand under this reference, where there is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    charges: Option<usize>,
}

/// What the payment method, and nothing else, decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    Succeed,
    Decline { last: bool },
    AskThePayer,
}

/// Whether a fault has the charge refused and its object stay payable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    AsPlanned,
    StaysPayable,
}

impl Content {
    /// The field that cannot be taken, with its rule.
    pub fn refuse(&self) -> Option<&'static str> {
        let description_len = self.description.chars().count();
        if !is_reference(&self.reference) {
            Some("reference must be 26 characters of a-z and 0-9")
        } else if !(1..=MAX_AMOUNT).contains(&self.amount) {
            Some("amount must be 1 to 9007199254740991 minor units")
        } else if !is_currency(&self.currency) {
            Some("currency must be three capital letters of ISO 4217")
        } else if !is_method(&self.payment_method) {
            Some("payment_method must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
        } else if description_len > MAX_DESCRIPTION_LEN {
            Some("description must have at most 255 characters")
        } else {
            None
        }
    }

    fn plan(&self) -> Plan {
        let method = self.payment_method.as_str();
        if method.starts_with("pm_decline_final") {
            Plan::Decline { last: true }
        } else if method.starts_with("pm_decline") {
            Plan::Decline { last: false }
        } else if method.starts_with("pm_action") {
            Plan::AskThePayer
        } else {
            Plan::Succeed
        }
    }
}

impl Charge {
    /// Executes a request. The transaction is used only if money moves at once.
    pub fn execute(
        account: &str,
        content: Content,
        refusal: Refusal,
        transaction: String,
        now: DateTime<Utc>,
    ) -> Self {
        let refused = refusal == Refusal::StaysPayable;
        let status = match content.plan() {
            _ if refused => Status::Open,
            Plan::Succeed => Status::Succeeded,
            Plan::Decline { .. } => Status::Declined,
            Plan::AskThePayer => Status::Open,
        };
        let moved = status == Status::Succeeded;
        Self {
            account: account.to_owned(),
            reference: content.reference.clone(),
            content: Some(content),
            status,
            transaction: moved.then_some(transaction),
            executed_at: moved.then_some(now),
            created_at: now,
            refused,
        }
    }

    /// What stands under a reference that was closed before anything was charged.
    pub fn tombstone(account: &str, reference: &str, now: DateTime<Utc>) -> Self {
        Self {
            account: account.to_owned(),
            reference: reference.to_owned(),
            content: None,
            status: Status::Closed,
            transaction: None,
            executed_at: None,
            created_at: now,
            refused: false,
        }
    }

    /// The same request once more, and its money moved at once.
    pub fn second(&self, transaction: String, now: DateTime<Utc>) -> Self {
        let mut second = Self { created_at: now, refused: false, ..self.clone() };
        second.pay(transaction, now);
        second
    }

    /// Moves the money.
    pub fn pay(&mut self, transaction: String, at: DateTime<Utc>) {
        self.status = Status::Succeeded;
        self.transaction = Some(transaction);
        self.executed_at = Some(at);
    }

    /// A tombstone has no amount that could come.
    pub fn can_be_paid_late(&self) -> bool {
        self.content.is_some() && self.status != Status::Succeeded
    }

    /// The status at this time: an open charge closes itself once the payer is too late.
    pub fn status_at(&self, now: DateTime<Utc>) -> Status {
        let pay_before = self.content.as_ref().and_then(|content| content.pay_before);
        let too_late = pay_before.is_some_and(|limit| limit <= now);
        if self.status == Status::Open && too_late { Status::Closed } else { self.status }
    }

    pub fn object(&self, count: usize, now: DateTime<Utc>) -> Object<'_> {
        let status = self.status_at(now);
        let content = self.content.as_ref();
        let open = status == Status::Open;
        let declined = content.map(Content::plan).filter(|_| status == Status::Declined);
        let (decline_code, decline_final) = match declined {
            _ if open && self.refused => (Some("insufficient_funds"), Some(false)),
            Some(Plan::Decline { last: true }) => (Some("do_not_honor"), Some(true)),
            Some(Plan::Decline { last: false }) => (Some("insufficient_funds"), Some(false)),
            Some(Plan::Succeed | Plan::AskThePayer) | None => (None, None),
        };
        let url = format!("https://sandbox.invalid/pay/{}/{}", self.account, self.reference);
        Object {
            reference: &self.reference,
            transaction: self.transaction.as_deref(),
            status,
            amount: content.map_or(0, |content| content.amount),
            currency: content.map_or(NO_CURRENCY, |content| &content.currency),
            decline_code,
            decline_final,
            action: (open && !self.refused).then_some(Action { kind: "redirect", url }),
            created_at: self.created_at,
            charges: (count > 1).then_some(count),
        }
    }
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Declined => "declined",
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

pub fn is_reference(text: &str) -> bool {
    text.len() == REFERENCE_LEN
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

pub fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase())
}

fn is_method(text: &str) -> bool {
    (1..=MAX_METHOD_LEN).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
