//! The payment state machine. [`PaymentState::on`] holds every legal move; `docs/payment-states.md`
//! is printed from it. A pair that is not listed is a bug in the caller, never a silent no.

use crate::channel::{NotExecutedProof, UnknownReason};
use crate::ids::{ChannelTransactionId, ClaimToken};
use crate::money::Money;
use crate::permit::{PermitGround, RetryPermit};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

mod reason;

pub use reason::ReviewReason;

/// What a payment is now. Each variant holds what is known in that state and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum PaymentState {
    /// The intent is recorded; nothing has been sent to the channel.
    Created,
    /// A claim is held: a charge may be on its way.
    Processing { token: ClaimToken },
    /// The payer has been shown how to pay and may still do so.
    AwaitingPayer { action: PayerAction, pay_before: UnixMillis },
    /// A charge may or may not have happened. Never charged again from here without a permit.
    Unknown,
    /// Money moved; order, stock and outbox do not know yet. Rarely committed.
    Succeeded { money: ConfirmedMoney },
    /// Money moved, and everything of ours says so.
    Persisted { money: ConfirmedMoney, effect: Effect },
    /// No money moved, and under this reference none can.
    Failed { class: FailureClass },
    /// The channel closed the attempt before anyone paid.
    Closed,
    /// A person must decide what the outcome is.
    ManualReview { reason: ReviewReason },
}

/// One movement of money at the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedMoney {
    pub transaction: ChannelTransactionId,
    pub amount: Money,
}

/// What a payer must do, as the channel told us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PayerAction {
    Redirect { url: String },
}

/// What confirmed money did to its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// It paid the order.
    Applied,
    /// The order was already paid by other money.
    Surplus,
    /// The order was closed or finished before it came.
    Late,
}

/// Whether the payer may try again after a decline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclineClass {
    MayPayAgain,
    Final,
}

/// Why a payment failed. All but [`Self::DeclinedFinally`] free the order for another intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Declined,
    DeclinedFinally,
    NotExecuted,
    NotStarted,
    ConfirmedNotPaid,
}

/// News about a payment, whoever brought it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PaymentEvent {
    /// A claim was written. Made only inside the claim's transaction, so it has no JSON form.
    #[serde(skip)]
    Claimed {
        token: ClaimToken,
        permit: Option<RetryPermit>,
    },
    MoneyConfirmed {
        money: ConfirmedMoney,
    },
    /// Money moved in another amount or currency than the intent's.
    MoneyMismatch {
        money: ConfirmedMoney,
    },
    Declined {
        class: DeclineClass,
        code: String,
    },
    PayerAction {
        action: PayerAction,
        pay_before: UnixMillis,
    },
    AnswerLost {
        why: UnknownReason,
    },
    NotExecuted {
        proof: NotExecutedProof,
    },
    ClosedAtChannel,
    StartExpired,
    LadderEnded,
    /// A person decided. Made only where the decision was verified, so it has no JSON form.
    #[serde(skip)]
    Decided {
        verdict: Verdict,
    },
}

/// What a verified decision says about the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Paid {
        money: ConfirmedMoney,
    },
    NotPaid,
    /// The request may be sent once more. The payment stays where it is until the next claim.
    Resubmit,
}

/// What an event did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Moved(PaymentState),
    /// True, but old or weaker news: the state stays. It may still deserve a review.
    Absorbed {
        state: PaymentState,
        review: Option<ReviewReason>,
    },
}

/// A pair that no caller may ever produce.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} cannot happen to a payment that is {state:?}")]
pub struct IllegalTransition {
    pub state: Box<PaymentState>,
    pub event: Box<PaymentEvent>,
}

impl PaymentState {
    /// Every legal move of a payment.
    ///
    /// # Errors
    /// [`IllegalTransition`] with both sides in it: a bug in the caller.
    pub fn on(self, event: PaymentEvent) -> Result<Step, IllegalTransition> {
        use PaymentEvent as E;
        use PaymentState as S;
        match (self, event) {
            (S::Created, E::Claimed { token, permit: None }) => moved(S::Processing { token }),
            (S::Processing { token: held }, E::Claimed { token, permit: None })
                if held == token =>
            {
                absorbed(S::Processing { token })
            }
            (S::Unknown | S::AwaitingPayer { .. }, E::Claimed { token, permit: Some(_) }) => {
                moved(S::Processing { token })
            }
            (S::ManualReview { .. }, E::Claimed { token, permit: Some(permit) })
                if permit.ground() == PermitGround::RiskAccepted =>
            {
                moved(S::Processing { token })
            }

            // Money is believed in every state, and never lost by a later event.
            (state @ (S::Succeeded { .. } | S::Persisted { .. }), event) => on_money(state, event),
            (_, E::MoneyConfirmed { money }) => moved(S::Succeeded { money }),
            // The answer is no longer lost: it is money that does not fit, and a weaker word of the
            // channel can end this review no more.
            (S::ManualReview { reason: ReviewReason::OutcomeUnknown }, E::MoneyMismatch { .. }) => {
                absorbed(S::ManualReview { reason: ReviewReason::AmountMismatch })
            }
            (state @ S::ManualReview { .. }, E::MoneyMismatch { .. }) => absorbed(state),
            (_, E::MoneyMismatch { .. }) => {
                moved(S::ManualReview { reason: ReviewReason::AmountMismatch })
            }

            (state @ (S::Failed { .. } | S::Closed), event) => on_ended(state, event),
            (S::ManualReview { reason }, event) => on_review(reason, event),

            (S::Created, E::StartExpired) => failed(FailureClass::NotStarted),
            (
                S::Processing { .. } | S::AwaitingPayer { .. } | S::Unknown,
                E::Declined { class, .. },
            ) => failed(class.into()),
            (S::Processing { .. } | S::Unknown, E::PayerAction { action, pay_before }) => {
                moved(S::AwaitingPayer { action, pay_before })
            }
            (S::Processing { .. }, E::AnswerLost { .. }) => moved(S::Unknown),
            (S::Processing { .. } | S::Unknown, E::NotExecuted { .. }) => {
                failed(FailureClass::NotExecuted)
            }
            (
                S::Created | S::Processing { .. } | S::AwaitingPayer { .. } | S::Unknown,
                E::ClosedAtChannel,
            ) => moved(S::Closed),
            // An open payment: only where nothing that the channel says after its end closes it.
            (S::Unknown | S::AwaitingPayer { .. }, E::LadderEnded) => {
                moved(S::ManualReview { reason: ReviewReason::OutcomeUnknown })
            }

            (state @ S::Created, E::NotExecuted { .. })
            | (state @ S::Processing { .. }, E::StartExpired)
            | (
                state @ S::AwaitingPayer { .. },
                E::PayerAction { .. }
                | E::AnswerLost { .. }
                | E::NotExecuted { .. }
                | E::StartExpired,
            )
            | (state @ S::Unknown, E::AnswerLost { .. } | E::StartExpired) => absorbed(state),

            (state, event) => illegal(state, event),
        }
    }

    /// The money that this payment is known to have moved.
    #[must_use]
    pub fn money(&self) -> Option<&ConfirmedMoney> {
        match self {
            Self::Succeeded { money } | Self::Persisted { money, .. } => Some(money),
            Self::Created
            | Self::Processing { .. }
            | Self::AwaitingPayer { .. }
            | Self::Unknown
            | Self::Failed { .. }
            | Self::Closed
            | Self::ManualReview { .. } => None,
        }
    }

    /// Whether no event of this payment's own can be waited for any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Persisted { .. } | Self::Failed { .. } | Self::Closed)
    }

    /// The word for this state in rows, metrics and messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Processing { .. } => "Processing",
            Self::AwaitingPayer { .. } => "AwaitingPayer",
            Self::Unknown => "Unknown",
            Self::Succeeded { .. } => "Succeeded",
            Self::Persisted { .. } => "Persisted",
            Self::Failed { .. } => "Failed",
            Self::Closed => "Closed",
            Self::ManualReview { .. } => "ManualReview",
        }
    }
}

/// A payment that holds money: nothing takes it to a state without money.
fn on_money(state: PaymentState, event: PaymentEvent) -> Result<Step, IllegalTransition> {
    use PaymentEvent as E;
    let review = match &event {
        E::Claimed { .. } => return illegal(state, event),
        E::MoneyConfirmed { money } => {
            let same = state.money().is_some_and(|held| held.transaction == money.transaction);
            (!same).then_some(ReviewReason::SecondTransaction)
        }
        E::MoneyMismatch { .. } => Some(ReviewReason::AmountMismatch),
        E::Declined { .. } => Some(ReviewReason::DeclinedAfterMoney),
        E::ClosedAtChannel => Some(ReviewReason::ClosedAfterMoney),
        E::PayerAction { .. }
        | E::AnswerLost { .. }
        | E::NotExecuted { .. }
        | E::StartExpired
        | E::LadderEnded
        | E::Decided { .. } => None,
    };
    Ok(Step::Absorbed { state, review })
}

/// A payment that ended without money. Confirmed and mismatched money are handled before.
fn on_ended(state: PaymentState, event: PaymentEvent) -> Result<Step, IllegalTransition> {
    use PaymentEvent as E;
    match event {
        E::PayerAction { .. } => {
            Ok(Step::Absorbed { state, review: Some(ReviewReason::PayerActionAfterEnd) })
        }
        E::Declined { .. }
        | E::AnswerLost { .. }
        | E::NotExecuted { .. }
        | E::ClosedAtChannel
        | E::StartExpired
        | E::LadderEnded
        | E::Decided { .. } => absorbed(state),
        event @ (E::Claimed { .. } | E::MoneyConfirmed { .. } | E::MoneyMismatch { .. }) => {
            illegal(state, event)
        }
    }
}

/// A payment that waits for a person. Only a lost answer may be ended by the channel's weaker
/// words; any other question needs the person.
fn on_review(reason: ReviewReason, event: PaymentEvent) -> Result<Step, IllegalTransition> {
    use PaymentEvent as E;
    let state = PaymentState::ManualReview { reason };
    let answer_was_lost = reason == ReviewReason::OutcomeUnknown;
    match event {
        E::Declined { class, .. } if answer_was_lost => failed(class.into()),
        E::NotExecuted { .. } if answer_was_lost => failed(FailureClass::NotExecuted),
        E::ClosedAtChannel if answer_was_lost => moved(PaymentState::Closed),
        E::Decided { verdict: Verdict::Paid { money } } => moved(PaymentState::Succeeded { money }),
        E::Decided { verdict: Verdict::NotPaid } => failed(FailureClass::ConfirmedNotPaid),
        E::Decided { verdict: Verdict::Resubmit }
        | E::Declined { .. }
        | E::NotExecuted { .. }
        | E::ClosedAtChannel
        | E::PayerAction { .. }
        | E::AnswerLost { .. }
        | E::StartExpired
        | E::LadderEnded => absorbed(state),
        event @ (E::Claimed { .. } | E::MoneyConfirmed { .. } | E::MoneyMismatch { .. }) => {
            illegal(state, event)
        }
    }
}

impl From<DeclineClass> for FailureClass {
    fn from(class: DeclineClass) -> Self {
        match class {
            DeclineClass::MayPayAgain => Self::Declined,
            DeclineClass::Final => Self::DeclinedFinally,
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "every arm of the table has one type")]
fn moved(state: PaymentState) -> Result<Step, IllegalTransition> {
    Ok(Step::Moved(state))
}

#[expect(clippy::unnecessary_wraps, reason = "every arm of the table has one type")]
fn absorbed(state: PaymentState) -> Result<Step, IllegalTransition> {
    Ok(Step::Absorbed { state, review: None })
}

fn failed(class: FailureClass) -> Result<Step, IllegalTransition> {
    moved(PaymentState::Failed { class })
}

fn illegal(state: PaymentState, event: PaymentEvent) -> Result<Step, IllegalTransition> {
    Err(IllegalTransition { state: Box::new(state), event: Box::new(event) })
}

#[cfg(test)]
mod tests;
