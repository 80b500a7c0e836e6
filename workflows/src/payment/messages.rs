//! What passes between callers, a payment's workflow and its activities. One struct in, one out.
//! A field is added with a default, and never renamed or used for something else: histories and
//! callers of today are read by the code of tomorrow.

use domain::{
    Choice, ClaimToken, DecisionId, DecisionStamp, Evidence, Exchange, OperatorName, PaymentEvent,
    PaymentIntent, PaymentView, Policy, Proven, ReviewId, UnixMillis,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long after a request a charge may still be sent. A payer who has left is not charged.
pub const START_WITHIN: std::time::Duration = std::time::Duration::from_secs(60);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChargeInput {
    pub intent: PaymentIntent,
    pub start_before: UnixMillis,
    /// The run was cancelled before it did anything: an intent that has no row is not recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Somebody woke the payment's owner, so it was recorded once. A row that is gone is made again
    /// as one about which a request may have been sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded_before: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChargeOutput {
    pub view: PaymentView,
    /// The channel's answer, where it could not be written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<News>,
    /// Present unless the payment has ended already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// News that is durable in history and not yet in the row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct News {
    pub event: PaymentEvent,
    pub actor: domain::Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ClaimToken>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LookupInput {
    pub intent: PaymentIntent,
    pub start_before: UnixMillis,
    /// Make the reference unpayable; the channel's answer to that says what became of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub close: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LookupOutput {
    pub view: PaymentView,
    /// The lookup proved that the last request was not executed. Not settled yet: it may lead to
    /// another charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<Proven>,
    /// The channel says that the payer may still pay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PersistInput {
    pub intent: PaymentIntent,
    pub start_before: UnixMillis,
    pub news: News,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FulfilInput {
    pub intent: PaymentIntent,
}

/// The row after the activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowOutput {
    pub view: PaymentView,
}

/// The argument of the update `decide_review`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideReview {
    pub decision: DecisionId,
    pub review: ReviewId,
    /// The version of the review that the person saw.
    pub review_version: i64,
    pub choice: Choice,
    pub reason: Evidence,
    pub operator: OperatorName,
    /// Proof that the operator is who they say. Without it the name is only claimed, as in an
    /// update that somebody typed into the Web UI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<DecisionStamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecideInput {
    pub intent: PaymentIntent,
    pub decision: DecideReview,
}

/// What came of a decision, for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum DecideOutput {
    Done {
        view: PaymentView,
    },
    /// The review had moved on. Nothing was changed.
    Overtaken {
        view: PaymentView,
        review_state: String,
        review_version: i64,
        /// What happened to the review, and by whom, in words.
        #[serde(default)]
        changed: String,
    },
    /// It is on record, and takes effect once another operator chooses the same.
    Proposed {
        view: PaymentView,
        by: OperatorName,
    },
    /// Not one of this review's choices, or not proved. Nothing was changed.
    Refused {
        code: String,
        why: String,
    },
}

impl DecideOutput {
    /// The row, where the decision or somebody before it changed it.
    #[must_use]
    pub fn view(&self) -> Option<&PaymentView> {
        match self {
            Self::Done { view } | Self::Overtaken { view, .. } => Some(view),
            Self::Proposed { .. } | Self::Refused { .. } => None,
        }
    }
}

/// The answer to the query `waiting`: what a run waits for now, in the words of its current
/// details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub details: String,
    /// When it goes on by itself, if a time is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<UnixMillis>,
}

/// The result of a payment workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PaymentResult {
    /// The intent as it was understood, in the form in which it was asked for.
    pub intent: Value,
    pub payment: PaymentView,
}

/// Details of the failure of a run that recorded nothing. The failure's type is the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    /// The field of the intent that is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The payment that is in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<String>,
}

/// Codes of refusals. Stable: callers decide by them.
pub mod code {
    pub const INVALID_INPUT: &str = "invalid_input";
    pub const WORKFLOW_ID_MISMATCH: &str = "workflow_id_mismatch";
    pub const IDEMPOTENCY_CONFLICT: &str = "idempotency_conflict";
    pub const ORDER_NOT_FOUND: &str = "order_not_found";
    pub const ORDER_BUSY: &str = "order_busy";
    pub const ORDER_NOT_PAYABLE: &str = "order_not_payable";
    pub const AMOUNT_DIFFERS: &str = "amount_differs";
    pub const UNKNOWN_ACCOUNT: &str = "unknown_account";
    pub const CANCELLED: &str = "cancelled";
    pub const BROKEN_RULE: &str = "broken_rule";

    pub const REVIEW_NOT_FOUND: &str = "review_not_found";
    pub const NOT_A_CHOICE: &str = "not_a_choice";
    pub const OWN_PAYMENT: &str = "own_payment";
    pub const UNAUTHENTICATED_DECISION: &str = "unauthenticated_decision";
    pub const CHANNEL_UNAVAILABLE: &str = "channel_unavailable";
    /// Why a decision is refused.
    pub const OF_DECISIONS: [&str; 7] = [
        NOT_A_CHOICE,
        OWN_PAYMENT,
        UNAUTHENTICATED_DECISION,
        CHANNEL_UNAVAILABLE,
        IDEMPOTENCY_CONFLICT,
        REVIEW_NOT_FOUND,
        UNKNOWN_ACCOUNT,
    ];
}
