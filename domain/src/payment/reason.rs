//! Why a review is opened.

use serde::{Deserialize, Serialize};

/// Why a person must look. Only a lost answer leaves the outcome open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    OutcomeUnknown,
    AmountMismatch,
    SecondTransaction,
    SurplusMoney,
    LateMoney,
    DeclinedAfterMoney,
    ClosedAfterMoney,
    PayerActionAfterEnd,
    /// The merchant said for good that the goods cannot be handed over.
    FulfilmentRefused,
    BrokenRule,
    /// A request was sent again at a person's risk, and money moved. Whether the one before took
    /// some as well is not known.
    EarlierRequestUnknown,
}

impl ReviewReason {
    pub const ALL: [Self; 11] = [
        Self::OutcomeUnknown,
        Self::AmountMismatch,
        Self::SecondTransaction,
        Self::SurplusMoney,
        Self::LateMoney,
        Self::DeclinedAfterMoney,
        Self::ClosedAfterMoney,
        Self::PayerActionAfterEnd,
        Self::FulfilmentRefused,
        Self::BrokenRule,
        Self::EarlierRequestUnknown,
    ];

    /// The word in rows and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutcomeUnknown => "outcome_unknown",
            Self::AmountMismatch => "amount_mismatch",
            Self::SecondTransaction => "second_transaction",
            Self::SurplusMoney => "surplus_money",
            Self::LateMoney => "late_money",
            Self::DeclinedAfterMoney => "declined_after_money",
            Self::ClosedAfterMoney => "closed_after_money",
            Self::PayerActionAfterEnd => "payer_action_after_end",
            Self::FulfilmentRefused => "fulfilment_refused",
            Self::BrokenRule => "broken_rule",
            Self::EarlierRequestUnknown => "earlier_request_unknown",
        }
    }

    /// Whether no goods leave while this is asked: it questions the money, or the goods.
    #[must_use]
    pub fn holds_goods(self) -> bool {
        match self {
            Self::DeclinedAfterMoney
            | Self::ClosedAfterMoney
            | Self::FulfilmentRefused
            | Self::BrokenRule => true,
            Self::OutcomeUnknown
            | Self::AmountMismatch
            | Self::SecondTransaction
            | Self::SurplusMoney
            | Self::LateMoney
            | Self::PayerActionAfterEnd
            | Self::EarlierRequestUnknown => false,
        }
    }
}
