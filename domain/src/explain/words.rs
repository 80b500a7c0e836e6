//! The words of acts and rules. They are stable: programs and the runbook cite them.

use super::{Act, Rule};

impl Act {
    pub const ALL: [Self; 7] = [
        Self::Resume,
        Self::DecideReview,
        Self::AskToClose,
        Self::ChargeAgain,
        Self::CloseAsFailed,
        Self::PayWithAnotherIntent,
        Self::HandOverGoods,
    ];

    /// The word for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::DecideReview => "decide_review",
            Self::AskToClose => "ask_to_close",
            Self::ChargeAgain => "charge_again",
            Self::CloseAsFailed => "close_as_failed",
            Self::PayWithAnotherIntent => "pay_with_another_intent",
            Self::HandOverGoods => "hand_over_goods",
        }
    }
}

impl Rule {
    pub const ALL: [Self; 14] = [
        Self::OneOwner,
        Self::NoRepeatWithoutProof,
        Self::PaidOnce,
        Self::OneKeyOneOutcome,
        Self::UnknownNeverFailsByTime,
        Self::MoneyNeverDisappears,
        Self::OneLivePaymentPerOrder,
        Self::OrderNotPayable,
        Self::DeclinedFinally,
        Self::GoodsForKeptMoneyOnly,
        Self::GoodsOnce,
        Self::GoodsHeldByReview,
        Self::NothingToDecide,
        Self::NothingLeftToDo,
    ];

    /// The word that programs and the runbook cite.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneOwner => "one_owner",
            Self::NoRepeatWithoutProof => "no_repeat_without_proof",
            Self::PaidOnce => "paid_once",
            Self::OneKeyOneOutcome => "one_key_one_outcome",
            Self::UnknownNeverFailsByTime => "unknown_never_fails_by_time",
            Self::MoneyNeverDisappears => "money_never_disappears",
            Self::OneLivePaymentPerOrder => "one_live_payment_per_order",
            Self::OrderNotPayable => "order_not_payable",
            Self::DeclinedFinally => "declined_finally",
            Self::GoodsForKeptMoneyOnly => "goods_for_kept_money_only",
            Self::GoodsOnce => "goods_once",
            Self::GoodsHeldByReview => "goods_held_by_review",
            Self::NothingToDecide => "nothing_to_decide",
            Self::NothingLeftToDo => "nothing_left_to_do",
        }
    }
}
