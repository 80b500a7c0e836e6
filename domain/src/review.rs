//! What a person may choose about a review, who may, and when one person is not enough. One place
//! says so: the store asks it when a decision is made, the API when it shows what may be chosen.

use crate::audit::Choice;
use crate::ids::OperatorName;
use crate::money::{Currency, Money};
use crate::order::OrderState;
use crate::payment::{PaymentState, ReviewReason};
use crate::permit::MAX_PERMITS;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The kinds of [`Choice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    ConfirmPaid,
    ConfirmNotPaid,
    ResubmitSameKey,
}

impl ChoiceKind {
    pub const ALL: [Self; 3] = [Self::ConfirmPaid, Self::ConfirmNotPaid, Self::ResubmitSameKey];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfirmPaid => "confirm_paid",
            Self::ConfirmNotPaid => "confirm_not_paid",
            Self::ResubmitSameKey => "resubmit_same_key",
        }
    }
}

/// The rule that forbids a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    #[error("the review has ended")]
    Ended,
    #[error("the payment's outcome is not in question here")]
    NotInQuestion,
    #[error("money is known to have moved for this payment")]
    MoneyKnown,
    #[error("the money is known; it must be given back, and refunds are not here yet")]
    NeedsRefund,
    #[error("a rule of ours was broken when the money was written down; that is mended first")]
    NeedsRepair,
    #[error("the order no longer waits for payment")]
    OrderNotAwaitingPayment,
    #[error("the payment may not call the channel any more")]
    NotLive,
    #[error("the request was sent again {MAX_PERMITS} times already")]
    PermitsUsedUp,
    #[error("a request may still be on its way; decide again in a moment")]
    RequestUnderWay,
    #[error("the amount is not the payment's")]
    AmountDiffers,
    #[error("the transaction is known already")]
    TransactionKnown,
    #[error("this is not the transaction that the payment holds")]
    OtherTransaction,
    #[error("whoever started a payment does not decide about it")]
    OwnPayment,
    #[error("who decides is not proved; decide through the API or the command line")]
    Unauthenticated,
}

impl WhyNot {
    /// The stable word for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "review_ended",
            Self::NotInQuestion => "not_in_question",
            Self::MoneyKnown => "money_known",
            Self::NeedsRefund => "needs_refund",
            Self::NeedsRepair => "needs_repair",
            Self::OrderNotAwaitingPayment => "order_not_awaiting_payment",
            Self::NotLive => "not_live",
            Self::PermitsUsedUp => "permits_used_up",
            Self::RequestUnderWay => "request_under_way",
            Self::AmountDiffers => "amount_differs",
            Self::TransactionKnown => "transaction_known",
            Self::OtherTransaction => "other_transaction",
            Self::OwnPayment => "own_payment",
            Self::Unauthenticated => "unauthenticated_decision",
        }
    }
}

/// What is known about a review and its payment, read together.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is read from another place")]
pub struct ReviewFacts {
    pub reason: ReviewReason,
    pub open: bool,
    pub payment: PaymentState,
    /// What the payment is to collect.
    pub money: Money,
    pub live: bool,
    pub order: OrderState,
    pub permits_used: u8,
    /// The last request may still be on our side of the wire.
    pub claim_is_running: bool,
    /// A movement of money is on record for this payment.
    pub money_is_known: bool,
}

/// What may be chosen now, and for the rest the rule that forbids it.
#[must_use]
pub fn choices(facts: &ReviewFacts) -> Vec<(ChoiceKind, Result<(), WhyNot>)> {
    ChoiceKind::ALL.into_iter().map(|kind| (kind, may_choose(kind, facts))).collect()
}

fn may_choose(kind: ChoiceKind, facts: &ReviewFacts) -> Result<(), WhyNot> {
    if !facts.open {
        return Err(WhyNot::Ended);
    }
    match &facts.payment {
        PaymentState::ManualReview { reason } => about_outcome(kind, facts, *reason),
        PaymentState::Persisted { .. } => about_money(kind, facts.reason),
        PaymentState::Succeeded { .. } => Err(WhyNot::NeedsRepair),
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown => Err(WhyNot::NotInQuestion),
        PaymentState::Failed { .. } | PaymentState::Closed => after_the_end(kind, facts.reason),
    }
}

/// Whether anything about a review for this reason may ever be chosen while the payment is in this
/// state; else the first rule that forbids it.
///
/// # Errors
/// The rule that forbids every choice.
pub fn any_choice(payment: &PaymentState, reason: ReviewReason) -> Result<(), WhyNot> {
    let of = |kind| match payment {
        PaymentState::ManualReview { .. } => match reason {
            ReviewReason::OutcomeUnknown | ReviewReason::BrokenRule => Ok(()),
            ReviewReason::AmountMismatch => Err(WhyNot::NeedsRefund),
            _ => Err(WhyNot::NotInQuestion),
        },
        PaymentState::Persisted { .. } => about_money(kind, reason),
        PaymentState::Succeeded { .. } => Err(WhyNot::NeedsRepair),
        PaymentState::Failed { .. } | PaymentState::Closed => after_the_end(kind, reason),
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown => Err(WhyNot::NotInQuestion),
    };
    let mut answers = ChoiceKind::ALL.into_iter().map(of);
    let first = answers.next().unwrap_or(Ok(()));
    if answers.any(|answer| answer.is_ok()) { Ok(()) } else { first }
}

/// The payment ended without money, and the channel let somebody pay it all the same.
fn after_the_end(kind: ChoiceKind, reason: ReviewReason) -> Result<(), WhyNot> {
    match (reason == ReviewReason::PayerActionAfterEnd, kind) {
        (true, ChoiceKind::ConfirmPaid | ChoiceKind::ConfirmNotPaid) => Ok(()),
        (true, ChoiceKind::ResubmitSameKey) => Err(WhyNot::NotLive),
        (false, _) => Err(WhyNot::NotInQuestion),
    }
}

/// The payment waits for a person to say what became of it. `waits_for` is why it waits now: while
/// it was only a lost answer, nobody knows whether money moved.
fn about_outcome(
    kind: ChoiceKind,
    facts: &ReviewFacts,
    waits_for: ReviewReason,
) -> Result<(), WhyNot> {
    use ReviewReason as R;
    if !matches!(facts.reason, R::OutcomeUnknown | R::AmountMismatch | R::BrokenRule) {
        return Err(WhyNot::NotInQuestion);
    }
    let answer_lost = waits_for == R::OutcomeUnknown;
    match kind {
        ChoiceKind::ConfirmPaid if facts.money_is_known => Err(WhyNot::NeedsRefund),
        ChoiceKind::ConfirmPaid => Ok(()),
        ChoiceKind::ConfirmNotPaid | ChoiceKind::ResubmitSameKey
            if facts.money_is_known || !answer_lost =>
        {
            Err(WhyNot::MoneyKnown)
        }
        ChoiceKind::ConfirmNotPaid => Ok(()),
        ChoiceKind::ResubmitSameKey if facts.order != OrderState::AwaitingPayment => {
            Err(WhyNot::OrderNotAwaitingPayment)
        }
        ChoiceKind::ResubmitSameKey if !facts.live => Err(WhyNot::NotLive),
        ChoiceKind::ResubmitSameKey if facts.permits_used >= MAX_PERMITS => {
            Err(WhyNot::PermitsUsedUp)
        }
        ChoiceKind::ResubmitSameKey if facts.claim_is_running => Err(WhyNot::RequestUnderWay),
        ChoiceKind::ResubmitSameKey => Ok(()),
    }
}

/// The payment holds money; the review asks about something beside it.
fn about_money(kind: ChoiceKind, reason: ReviewReason) -> Result<(), WhyNot> {
    use ReviewReason as R;
    match (reason, kind) {
        // The channel denied what it had said. Its own number, seen in its books, settles that.
        (R::DeclinedAfterMoney | R::ClosedAfterMoney, ChoiceKind::ConfirmPaid)
        // The request before the one that was paid: it took money as well, or it did not.
        | (R::EarlierRequestUnknown, ChoiceKind::ConfirmPaid | ChoiceKind::ConfirmNotPaid) => {
            Ok(())
        }
        (
            R::DeclinedAfterMoney | R::ClosedAfterMoney | R::EarlierRequestUnknown,
            ChoiceKind::ConfirmNotPaid | ChoiceKind::ResubmitSameKey,
        ) => Err(WhyNot::MoneyKnown),
        (
            R::SurplusMoney
            | R::LateMoney
            | R::SecondTransaction
            | R::AmountMismatch
            | R::FulfilmentRefused,
            _,
        ) => Err(WhyNot::NeedsRefund),
        (R::BrokenRule, _) => Err(WhyNot::NeedsRepair),
        (R::OutcomeUnknown | R::PayerActionAfterEnd, _) => Err(WhyNot::NotInQuestion),
    }
}

/// Whether this choice, with what it says, may be made. `transaction_is_known`: a movement under
/// its number is on record, for whichever payment.
///
/// # Errors
/// The rule that forbids it.
pub fn check(
    choice: &Choice,
    facts: &ReviewFacts,
    transaction_is_known: bool,
) -> Result<(), WhyNot> {
    may_choose(choice.kind(), facts)?;
    let Choice::ConfirmPaid { transaction, money, .. } = choice else { return Ok(()) };
    if *money != facts.money {
        return Err(WhyNot::AmountDiffers);
    }
    let denied =
        matches!(facts.reason, ReviewReason::DeclinedAfterMoney | ReviewReason::ClosedAfterMoney);
    match facts.payment.money() {
        Some(held) if denied && held.transaction == *transaction => Ok(()),
        Some(_) if denied => Err(WhyNot::OtherTransaction),
        _ if transaction_is_known => Err(WhyNot::TransactionKnown),
        _ => Ok(()),
    }
}

/// Whether the name of who decides was proved by their token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    Proved,
    Unproved,
}

/// Who decides about whose payment.
#[derive(Clone, Copy, Debug)]
pub struct Decider<'a> {
    pub name: &'a OperatorName,
    pub proof: Proof,
    /// The operator who started the payment, if one did.
    pub started_by: Option<&'a OperatorName>,
}

/// The latest choice that an operator proposed about a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub by: OperatorName,
    pub choice: Choice,
}

/// What a decision that may be made does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It takes effect.
    Decides,
    /// A second person must choose the same.
    Proposes,
}

/// Whether this person may make this choice, and whether they alone. `proposals` has each
/// operator's latest about the review as it is; an unproved name is never among them.
///
/// # Errors
/// The rule that forbids it.
pub fn weigh(
    choice: &Choice,
    decider: &Decider<'_>,
    four_eyes: &FourEyes,
    money: Money,
    proposals: &[Proposal],
) -> Result<Weight, WhyNot> {
    if decider.started_by == Some(decider.name) {
        return Err(WhyNot::OwnPayment);
    }
    let two_needed = four_eyes.apply_to(money);
    let may_be_unproved = choice.kind() == ChoiceKind::ConfirmPaid && !two_needed;
    if decider.proof == Proof::Unproved && !may_be_unproved {
        return Err(WhyNot::Unauthenticated);
    }
    let agrees = |other: &Proposal| other.by != *decider.name && other.choice.is_same_as(choice);
    if two_needed && !proposals.iter().any(agrees) {
        return Ok(Weight::Proposes);
    }
    Ok(Weight::Decides)
}

/// Above these amounts two people must choose the same. A currency that is not listed always needs
/// two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FourEyes {
    limits: Vec<Money>,
}

/// Why a list of limits is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a list like CNY:100000,USD:15000 (minor units), each currency once: {entry:?}")]
pub struct FourEyesError {
    entry: String,
}

impl FourEyes {
    fn apply_to(&self, money: Money) -> bool {
        let limit = self.limits.iter().find(|limit| limit.currency() == money.currency());
        limit.is_none_or(|limit| money.minor_units() > limit.minor_units())
    }
}

impl FromStr for FourEyes {
    type Err = FourEyesError;

    fn from_str(text: &str) -> Result<Self, FourEyesError> {
        let mut limits: Vec<Money> = Vec::new();
        for entry in text.split(',').map(str::trim) {
            let error = || FourEyesError { entry: entry.to_owned() };
            let (code, amount) = entry.split_once(':').ok_or_else(error)?;
            let currency = Currency::parse(code).map_err(|_| error())?;
            let amount: u64 = amount.parse().map_err(|_| error())?;
            if limits.iter().any(|limit| limit.currency() == currency) {
                return Err(error());
            }
            limits.push(Money::new(amount, currency).map_err(|_| error())?);
        }
        Ok(Self { limits })
    }
}

#[cfg(test)]
mod tests;
