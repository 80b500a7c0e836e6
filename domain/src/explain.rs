//! Why a payment is where it is: what it waits for, what a person may do about it now, and which
//! rule forbids the rest.
//!
//! [`explain`] only reads facts. It grants nothing: whoever acts is judged again by the
//! transaction that the act needs.

mod words;

use crate::ids::{PaymentId, ReviewId};
use crate::order::OrderState;
use crate::payment::{Effect, FailureClass, PaymentState, ReviewReason};
use crate::permit::MAX_PERMITS;
use crate::review::any_choice;
use crate::time::UnixMillis;

/// What is known about a payment when somebody asks why.
#[derive(Clone, Copy, Debug)]
pub struct ExplainFacts<'a> {
    pub state: &'a PaymentState,
    /// Whether the payment may still call its channel; it holds its order then.
    pub live: bool,
    pub start_before: UnixMillis,
    /// The end of the last claim, if one was made.
    pub send_before: Option<UnixMillis>,
    pub permits_used: u8,
    /// Past this instant somebody must look at the payment.
    pub attend_by: Option<UnixMillis>,
    pub order_state: OrderState,
    /// Another payment that holds the order.
    pub other_live: Option<&'a PaymentId>,
    /// The channel said of one of the order's payments that nobody may try again.
    pub declined_finally: bool,
    pub open_reviews: &'a [OpenReview],
    pub now: UnixMillis,
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReview {
    pub id: ReviewId,
    /// Absent where the row cannot be read.
    pub reason: Option<ReviewReason>,
    /// When a person is reminded of it. Absent where the row cannot be read.
    pub remind_at: Option<UnixMillis>,
}

/// What a person may think of doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    Resume,
    DecideReview,
    AskToClose,
    ChargeAgain,
    CloseAsFailed,
    PayWithAnotherIntent,
    HandOverGoods,
}

/// A rule that forbids an act, by a word that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    OneOwner,
    NoRepeatWithoutProof,
    PaidOnce,
    OneKeyOneOutcome,
    UnknownNeverFailsByTime,
    MoneyNeverDisappears,
    OneLivePaymentPerOrder,
    OrderNotPayable,
    DeclinedFinally,
    GoodsForKeptMoneyOnly,
    GoodsOnce,
    GoodsHeldByReview,
    NothingToDecide,
    NothingLeftToDo,
}

/// Whether a person may do it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    May {
        how: &'static str,
    },
    MayNot {
        rule: Rule,
        why: String,
        /// When it may be another answer, if a time is known.
        until: Option<UnixMillis>,
    },
}

/// What a payment waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub what: String,
    pub until: Option<UnixMillis>,
}

/// Everything that [`explain`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Absent where nothing is left to wait for.
    pub waits_for: Option<Wait>,
    /// Every act, with its answer.
    pub acts: Vec<(Act, Answer)>,
}

/// Says why a payment is where it is.
#[must_use]
pub fn explain(facts: &ExplainFacts<'_>) -> Explanation {
    let acts = Act::ALL.into_iter().map(|act| (act, answer(act, facts))).collect();
    Explanation { waits_for: waits_for(facts), acts }
}

fn answer(act: Act, facts: &ExplainFacts<'_>) -> Answer {
    match act {
        Act::Resume => resume(facts),
        Act::DecideReview => decide_review(facts),
        Act::AskToClose => ask_to_close(facts),
        Act::ChargeAgain => charge_again(facts),
        Act::CloseAsFailed => close_as_failed(facts),
        Act::PayWithAnotherIntent => another_intent(facts),
        Act::HandOverGoods => hand_over_goods(facts),
    }
}

/// What the state waits for; a payment that has ended may still have an open question.
fn waits_for(facts: &ExplainFacts<'_>) -> Option<Wait> {
    let wait = |what: &str, until| Some(Wait { what: what.to_owned(), until });
    let remind_at = facts.open_reviews.iter().filter_map(|review| review.remind_at).min();
    match facts.state {
        PaymentState::Created => wait(
            "the first charge request, which is sent in time or never",
            Some(facts.start_before),
        ),
        PaymentState::Processing { .. } => {
            let running = facts.send_before.filter(|end| facts.now < *end);
            match running {
                Some(end) => wait("the channel's answer to the charge request", Some(end)),
                None => wait(
                    "the workflow, which takes over from the attempt that sent the charge and \
                     asks the channel",
                    facts.attend_by,
                ),
            }
        }
        PaymentState::AwaitingPayer { pay_before, .. } if facts.now < *pay_before => {
            wait("the payer", Some(*pay_before))
        }
        PaymentState::AwaitingPayer { .. } => {
            wait("the channel's word on whether the payer paid in time", facts.attend_by)
        }
        PaymentState::Unknown => wait(
            "the channel's word about a charge whose answer was lost; after the last lookup a \
             person is asked",
            facts.attend_by,
        ),
        PaymentState::Succeeded { .. } => {
            wait("the order's update: the money is known and not yet applied", facts.attend_by)
        }
        PaymentState::ManualReview { .. } => {
            wait("a person's decision", remind_at.or(facts.attend_by))
        }
        PaymentState::Persisted { effect: Effect::Applied, .. } if is_unfulfilled(facts) => {
            if goods_are_held(facts) {
                wait("a person's answer to the review that holds the goods back", remind_at)
            } else {
                wait("the merchant, who hands the goods over", facts.attend_by)
            }
        }
        PaymentState::Persisted { .. } | PaymentState::Failed { .. } | PaymentState::Closed => {
            if facts.open_reviews.is_empty() {
                return None;
            }
            wait("a person's answer to an open review", remind_at)
        }
    }
}

fn is_unfulfilled(facts: &ExplainFacts<'_>) -> bool {
    matches!(facts.order_state, OrderState::Paid | OrderState::Fulfilling)
}

fn goods_are_held(facts: &ExplainFacts<'_>) -> bool {
    let holds = |review: &OpenReview| review.reason.is_some_and(ReviewReason::holds_goods);
    facts.open_reviews.iter().any(holds)
}

fn decide_review(facts: &ExplainFacts<'_>) -> Answer {
    if facts.open_reviews.is_empty() {
        return may_not(Rule::NothingToDecide, "no review of this payment is open");
    }
    let choices = facts
        .open_reviews
        .iter()
        .map(|review| review.reason.map_or(Ok(()), |reason| any_choice(facts.state, reason)));
    match choices.collect::<Vec<_>>().as_slice() {
        [Err(why), rest @ ..] if rest.iter().all(Result::is_err) => may_not(
            Rule::NothingToDecide,
            format!("a review is open, and nothing about it may be chosen: {why}"),
        ),
        _ => Answer::May { how: "read the open review and its choices, then decide it" },
    }
}

/// It only makes the owner look: the owner acts under the rules that it always acts under.
fn resume(facts: &ExplainFacts<'_>) -> Answer {
    match facts.state {
        PaymentState::Failed { .. } | PaymentState::Closed => Answer::May {
            how: "only if somebody says that money came after all: oncepay resume has the channel \
                  asked once more",
        },
        PaymentState::Persisted { effect, .. }
            if *effect != Effect::Applied || !is_unfulfilled(facts) =>
        {
            may_not(
                Rule::NothingLeftToDo,
                "the money is on record and the workflow has nothing to do",
            )
        }
        _ => Answer::May {
            how: "oncepay resume wakes the payment's workflow, or starts it where none is open",
        },
    }
}

fn ask_to_close(facts: &ExplainFacts<'_>) -> Answer {
    match facts.state {
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown
        | PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown } => Answer::May {
            how: "cancel the workflow in the Temporal Web UI: its owner closes the payment at the \
                  channel where the channel can; money that moved before stays money",
        },
        PaymentState::ManualReview { .. }
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { .. } => money_stays(),
        PaymentState::Failed { .. } | PaymentState::Closed => has_ended(),
    }
}

fn charge_again(facts: &ExplainFacts<'_>) -> Answer {
    match facts.state {
        PaymentState::Created => may_not_until(
            Rule::OneOwner,
            "the payment's own workflow sends the first request by itself",
            Some(facts.start_before),
        ),
        PaymentState::Processing { .. }
        | PaymentState::Unknown
        | PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown } => {
            let mut why = "the previous request may have been executed; its workflow sends again \
                           only with proof, or once a review is decided so at a person's risk"
                .to_owned();
            if facts.permits_used >= MAX_PERMITS {
                why = format!("{why}, and it did so {MAX_PERMITS} times, which is all");
            }
            may_not(Rule::NoRepeatWithoutProof, why)
        }
        PaymentState::AwaitingPayer { pay_before, .. } => may_not_until(
            Rule::NoRepeatWithoutProof,
            "the payer may still pay the first request",
            Some(*pay_before),
        ),
        PaymentState::ManualReview { .. }
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { .. } => {
            may_not(Rule::PaidOnce, "money has moved under this payment's reference")
        }
        PaymentState::Failed { .. } | PaymentState::Closed => has_ended(),
    }
}

fn close_as_failed(facts: &ExplainFacts<'_>) -> Answer {
    match facts.state {
        PaymentState::Created => may_not_until(
            Rule::OneOwner,
            "nothing was sent; if nothing is sent in time, the workflow ends it by itself",
            Some(facts.start_before),
        ),
        PaymentState::Processing { .. } | PaymentState::Unknown => may_not(
            Rule::UnknownNeverFailsByTime,
            "the money may have moved; only the channel's word or a person's decision ends it",
        ),
        PaymentState::AwaitingPayer { pay_before, .. } => may_not_until(
            Rule::UnknownNeverFailsByTime,
            "the payer may still pay; only the channel's word ends it",
            Some(*pay_before),
        ),
        PaymentState::ManualReview { reason: ReviewReason::OutcomeUnknown } => may_not(
            Rule::UnknownNeverFailsByTime,
            "only the channel's word or a decision with evidence ends it",
        ),
        PaymentState::ManualReview { .. }
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { .. } => money_stays(),
        PaymentState::Failed { .. } | PaymentState::Closed => has_ended(),
    }
}

fn another_intent(facts: &ExplainFacts<'_>) -> Answer {
    if facts.order_state != OrderState::AwaitingPayment {
        let why = format!("the order is {}", facts.order_state.as_str());
        return may_not(Rule::OrderNotPayable, why);
    }
    if facts.live {
        let why = "the order is held by this payment until its outcome is known to be no money";
        return may_not_until(Rule::OneLivePaymentPerOrder, why, held_until(facts));
    }
    if let Some(other) = facts.other_live {
        let why = format!("the order is held by {other} until its outcome is known");
        return may_not(Rule::OneLivePaymentPerOrder, why);
    }
    let this_one =
        matches!(facts.state, PaymentState::Failed { class: FailureClass::DeclinedFinally });
    if facts.declined_finally || this_one {
        let why = "the channel declined a payment of this order and says not to try again";
        return may_not(Rule::DeclinedFinally, why);
    }
    Answer::May { how: "POST /v1/payment_intents for the order under a new key" }
}

/// The instant at which the order may become free without anybody's decision.
fn held_until(facts: &ExplainFacts<'_>) -> Option<UnixMillis> {
    match facts.state {
        PaymentState::Created => Some(facts.start_before),
        PaymentState::AwaitingPayer { pay_before, .. } => Some(*pay_before),
        PaymentState::Processing { .. }
        | PaymentState::Unknown
        | PaymentState::ManualReview { .. }
        | PaymentState::Succeeded { .. }
        | PaymentState::Persisted { .. }
        | PaymentState::Failed { .. }
        | PaymentState::Closed => None,
    }
}

fn hand_over_goods(facts: &ExplainFacts<'_>) -> Answer {
    match facts.state {
        PaymentState::Persisted { effect: Effect::Applied, .. }
            if is_unfulfilled(facts) && goods_are_held(facts) =>
        {
            may_not(Rule::GoodsHeldByReview, "an open review questions the money or the goods")
        }
        PaymentState::Persisted { effect: Effect::Applied, .. } if is_unfulfilled(facts) => {
            may_not(
                Rule::OneOwner,
                "the payment's own workflow asks the merchant, under a key that counts once",
            )
        }
        PaymentState::Persisted { effect: Effect::Applied, .. } => {
            let why = format!("the order is {}", facts.order_state.as_str());
            may_not(Rule::GoodsOnce, why)
        }
        PaymentState::Persisted { effect: Effect::Surplus | Effect::Late, .. } => may_not(
            Rule::GoodsForKeptMoneyOnly,
            "this money did not pay the order: it came late, or the order had been paid",
        ),
        PaymentState::Succeeded { .. } => may_not(
            Rule::GoodsForKeptMoneyOnly,
            "the money is known and has not paid the order yet",
        ),
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown
        | PaymentState::ManualReview { .. }
        | PaymentState::Failed { .. }
        | PaymentState::Closed => {
            may_not(Rule::GoodsForKeptMoneyOnly, "no money of this payment has paid the order")
        }
    }
}

fn money_stays() -> Answer {
    may_not(Rule::MoneyNeverDisappears, "money has moved, and no later word makes that undone")
}

fn has_ended() -> Answer {
    may_not(Rule::OneKeyOneOutcome, "this payment has ended; its key keeps its outcome for ever")
}

fn may_not(rule: Rule, why: impl Into<String>) -> Answer {
    may_not_until(rule, why, None)
}

fn may_not_until(rule: Rule, why: impl Into<String>, until: Option<UnixMillis>) -> Answer {
    Answer::MayNot { rule, why: why.into(), until }
}

#[cfg(test)]
mod tests;
