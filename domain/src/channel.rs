//! What a channel can do and what it may answer. There is no conversion from an error to a
//! decline: what is not proved is [`ChargeAnswer::Unknown`].

use crate::ids::ChannelTransactionId;
use crate::money::Money;
use crate::payment::{DeclineClass, PayerAction};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The channels we have an adapter for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// The channel that we run ourselves, with faults on demand.
    Sandbox,
}

impl ChannelKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text == "sandbox").then_some(Self::Sandbox)
    }
}

/// Whether a channel's lookup sees every charge that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupKind {
    /// Once the grace has passed, "not found" proves that nothing was executed.
    Complete,
    /// "Not found" never proves anything.
    Partial,
}

/// What a channel account can do. Absent means that the account cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The same reference with the same content gives the first answer, within this window.
    pub idempotent_for: Option<Duration>,
    pub lookup: Option<LookupKind>,
    /// A charge under a reference that it knows is refused, so it cannot be executed twice.
    pub refuses_known_reference: bool,
    pub close: bool,
    /// How long after our call limit a request may still arrive and be executed.
    pub grace: Duration,
    /// How long one request may take, from the claim to the last byte of the answer.
    pub call_limit: Duration,
}

/// What a charge answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChargeAnswer {
    Succeeded {
        transaction: ChannelTransactionId,
        amount: Money,
    },
    /// This reference can never take money.
    Declined {
        class: DeclineClass,
        code: String,
    },
    AwaitingPayer {
        action: PayerAction,
        pay_before: UnixMillis,
    },
    NotExecuted {
        proof: NotExecutedProof,
    },
    Unknown {
        why: UnknownReason,
    },
}

/// What a lookup answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupAnswer {
    Succeeded { transaction: ChannelTransactionId, amount: Money },
    Failed { class: DeclineClass, code: String },
    Closed,
    Open { action: Option<PayerAction>, pay_before: Option<UnixMillis> },
    NotFound,
    Unknown { why: UnknownReason },
}

/// What a close answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseAnswer {
    Closed,
    Succeeded { transaction: ChannelTransactionId, amount: Money },
    Unknown { why: UnknownReason },
}

/// Why we know that a request was not executed and never will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotExecutedProof {
    /// No byte of the request left this machine.
    NothingSent,
    /// The channel's documented word for it, under its signature.
    ChannelSaidSo,
    /// A complete lookup did not find it after the call limit and the channel's grace.
    LookupAfterGrace,
    /// The channel has it, nobody had paid, and it was closed there: nobody can any more.
    ClosedAtChannel,
}

/// Why an outcome is not known. Said to operators; never a reason to fail a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownReason {
    /// No answer within the call limit.
    TimedOut,
    /// The connection broke after the request was sent.
    ConnectionLost,
    /// An answer of the 5xx kind.
    ChannelError,
    /// An answer that we cannot read, or a status that we have no mapping for.
    Unreadable,
    /// An answer whose signature does not hold.
    BadSignature,
    /// The channel knows the reference from an earlier request.
    ReferenceKnown,
    /// The process that sent the request ended before the answer was recorded.
    SenderLost,
    /// The channel refused the charge, and the payer may pay it all the same.
    StillPayable,
    /// The payer may pay, and this account offers no way to learn whether they did.
    NotObservable,
}

/// A request to a channel and what came of it, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub operation: Operation,
    pub started_at: UnixMillis,
    pub duration_ms: i64,
    /// One word of ours; never the channel's text.
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<ChannelTransactionId>,
}

/// What we may ask a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Charge,
    Lookup,
    Close,
}

impl Operation {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Lookup => "lookup",
            Self::Close => "close",
        }
    }
}
