//! What passes between callers, a payment's workflow and its activities. One struct in, one out.
//! A field is added with a default, and never renamed or used for something else: histories and
//! callers of today are read by the code of tomorrow.

use domain::{
    ChannelTransactionId, Choice, ClaimToken, ConfirmedMoney, DecisionId, DecisionStamp, Effect,
    Evidence, Exchange, OperatorName, OrderState, PaymentEvent, PaymentIntent, PaymentState,
    PaymentView, Policy, Proven, ReviewId, UnixMillis,
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
    /// This run has seen its row, or somebody woke the payment's owner: it was recorded once. A row
    /// that is gone is made again as one about which a request may have been sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded_before: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChargeOutput {
    #[serde(flatten)]
    pub row: ChargedRow,
    /// The channel's answer, where it could not be written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<News>,
    /// Present unless the payment has ended already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// The row after a charge. Every byte of it stays in history, so what the run can tell from its own
/// intent is left out where a payment was simply paid.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChargedRow {
    Row { view: PaymentView },
    Paid { paid: Paid },
}

/// Money in the intent's amount paid the order, and there is nothing else to tell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Paid {
    pub transaction: ChannelTransactionId,
    pub version: i64,
}

impl ChargedRow {
    /// The shortest form that tells the whole row to a run of this intent.
    #[must_use]
    pub fn of(view: PaymentView, intent: &PaymentIntent, start_before: UnixMillis) -> Self {
        let Some(money) = view.state.money() else { return Self::Row { view } };
        let paid = Paid { transaction: money.transaction.clone(), version: view.version };
        if paid.clone().view(intent, start_before) == view {
            Self::Paid { paid }
        } else {
            Self::Row { view }
        }
    }

    #[must_use]
    pub fn view(self, intent: &PaymentIntent, start_before: UnixMillis) -> PaymentView {
        match self {
            Self::Row { view } => view,
            Self::Paid { paid } => paid.view(intent, start_before),
        }
    }
}

impl Paid {
    fn view(self, intent: &PaymentIntent, start_before: UnixMillis) -> PaymentView {
        let money = ConfirmedMoney { transaction: self.transaction, amount: intent.money };
        PaymentView {
            payment: intent.payment_id(),
            state: PaymentState::Persisted { money, effect: Effect::Applied },
            version: self.version,
            permits_used: 0,
            start_before,
            order_state: OrderState::Paid,
            review: None,
            claim: None,
            goods_held: false,
            risk_accepted: false,
            rebuilt_at: None,
        }
    }
}

/// News that is durable in history and not yet in the row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct News {
    pub event: PaymentEvent,
    pub actor: domain::Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ClaimToken>,
    /// The requests that brought it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
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
    /// Kept only when the row has to be made again.
    #[serde(default = "long_ago")]
    pub start_before: UnixMillis,
    /// The row as the run knows it, so that the answer need not repeat it. Given to a local
    /// activity only, whose input is in no history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<PaymentView>,
}

/// For an input of an older history: nothing may be sent any more.
fn long_ago() -> UnixMillis {
    UnixMillis(0)
}

/// The row after fulfilment. Every byte of it stays in history, so it says what is new.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FulfilOutput {
    Row {
        view: PaymentView,
    },
    /// The row is the known one, but for its order's state.
    Order {
        order_state: OrderState,
    },
}

impl FulfilOutput {
    /// The shortest answer that tells a run of the row what it does not know.
    #[must_use]
    pub fn of(view: PaymentView, known: Option<&PaymentView>) -> Self {
        let order_state = view.order_state;
        match known {
            Some(known) if PaymentView { order_state, ..known.clone() } == view => {
                Self::Order { order_state }
            }
            _ => Self::Row { view },
        }
    }

    /// The whole row, for whoever knew `known` when they asked.
    #[must_use]
    pub fn view(self, known: Option<PaymentView>) -> Option<PaymentView> {
        match self {
            Self::Row { view } => Some(view),
            Self::Order { order_state } => known.map(|known| PaymentView { order_state, ..known }),
        }
    }
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

    /// No choice any more: the channel, asked before, may have said what the row now says.
    #[must_use]
    pub fn may_have_told_of_money(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == code::NOT_A_CHOICE)
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
    /// The run was started with another intent, and is about to be refused. Not a word about the
    /// decision: it is for the payment's own run.
    pub const NOT_THE_OWNER: &str = "not_the_owner";
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(order: &str, version: i64) -> PaymentView {
        serde_json::from_value(json!({
            "payment": format!("pay_{}", "a".repeat(26)), "state": { "name": "Closed" },
            "version": version, "start_before": 1, "order_state": order,
        }))
        .expect("a view, also without what is usual")
    }

    #[test]
    fn fulfilment_tells_only_what_the_run_does_not_know() {
        let (known, new) = (view("Paid", 2), view("Fulfilled", 2));
        let short = FulfilOutput::of(new.clone(), Some(&known));
        let text = serde_json::to_value(&short).expect("JSON");
        assert_eq!(text, json!({ "order_state": "Fulfilled" }));
        let read: FulfilOutput = serde_json::from_value(text).expect("reads back");
        assert_eq!(read.view(Some(known.clone())), Some(new.clone()));
        for known in [None, Some(&view("Paid", 1))] {
            let whole = FulfilOutput::of(new.clone(), known);
            assert_eq!(whole.view(known.cloned()), Some(new.clone()));
        }
    }

    #[test]
    fn a_charge_tells_only_what_the_intent_does_not() {
        let intent = PaymentIntent::from_json(&json!({
            "merchant": "acme", "key": "k1", "order": format!("ord_{}", "a".repeat(26)),
            "amount": 1999, "currency": "CNY", "channel": "sandbox", "account": "main",
            "payment_method": "pm_ok",
        }))
        .expect("valid");
        let start = UnixMillis(1);
        let transaction: ChannelTransactionId =
            serde_json::from_value(json!("sbx_1")).expect("a transaction");
        let paid = Paid { transaction, version: 2 }.view(&intent, start);
        let output = |view: &PaymentView| ChargeOutput {
            row: ChargedRow::of(view.clone(), &intent, start),
            unsettled: None,
            policy: None,
        };
        let text = serde_json::to_value(output(&paid)).expect("JSON");
        assert_eq!(text, json!({ "paid": { "transaction": "sbx_1", "version": 2 } }));
        let read = |text| -> ChargeOutput { serde_json::from_value(text).expect("reads back") };
        assert_eq!(read(text).row.view(&intent, start), paid);
        for other in [
            PaymentView { goods_held: true, ..paid.clone() },
            PaymentView { order_state: OrderState::Fulfilled, ..paid.clone() },
            PaymentView { start_before: UnixMillis(2), ..paid.clone() },
            PaymentView { state: PaymentState::Unknown, ..paid.clone() },
        ] {
            // Also the form of an older history.
            let text = serde_json::to_value(output(&other)).expect("JSON");
            assert_eq!(text, json!({ "view": other }));
            assert_eq!(read(text).row.view(&intent, start), other);
        }
    }

    #[test]
    fn fulfilment_of_an_older_history_is_read() {
        let old = json!({ "view": view("Fulfilled", 2) });
        let read: FulfilOutput = serde_json::from_value(old).expect("the whole row");
        assert_eq!(read.view(None), Some(view("Fulfilled", 2)));
    }
}
