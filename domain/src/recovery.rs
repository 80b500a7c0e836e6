//! What to do next with a payment: the brain of its workflow, as a pure function.

use crate::channel::{Capabilities, NotExecutedProof, UnknownReason};
use crate::ids::ClaimToken;
use crate::order::OrderState;
use crate::payment::{Effect, PaymentEvent, PaymentState, ReviewReason};
use crate::permit::MAX_PERMITS;
use crate::time::UnixMillis;
use crate::view::PaymentView;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most rungs that a ladder may have. Each lookup costs about ten history events.
pub const MAX_RUNGS: usize = 20;

/// What a run was told once, by its first activity, and keeps: a later change of configuration
/// does not change a run that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub capabilities: Capabilities,
    /// Wait before each lookup while the outcome is unknown.
    pub ladder_ms: Vec<u64>,
    /// Wait before each lookup while the payer may still pay; the last one repeats.
    pub awaiting_payer_ms: Vec<u64>,
}

/// 1 s, 3 s, 10 s, 30 s, 5 min, 30 min, then a person.
pub const DEFAULT_LADDER_MS: [u64; 6] = [1_000, 3_000, 10_000, 30_000, 300_000, 1_800_000];
/// 5 s, 30 s, 5 min, then every 5 min.
pub const DEFAULT_AWAITING_PAYER_MS: [u64; 3] = [5_000, 30_000, 300_000];
/// Lookups while a person is asked: hourly for a day, then daily.
const REVIEW_HOURLY_LOOKUPS: u32 = 24;
/// How far the clocks of Temporal, PostgreSQL and a channel may be apart where one of them is
/// waited for by another.
const CLOCKS_APART: Duration = Duration::from_secs(1);
/// What an attempt may need to write an answer down.
const SETTLE_TIME: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// What the workflow knows beside the row.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub policy: &'a Policy,
    /// Lookups (or repeated charges) since the payment came into its present state.
    pub rungs_done: u32,
    /// A proof that the last request was not executed, which is not yet settled.
    pub proven: Option<&'a Proven>,
    /// The row did not let another request go since: another payment stands against it, or the
    /// order, or PostgreSQL's clock.
    pub repeat_refused: bool,
    /// The last lookup said that the payer may still pay under our reference.
    pub open: bool,
    /// Somebody asked that the payment be closed: a cancelled run.
    pub close_asked: bool,
    /// Attempts to close since the payment came into its present state.
    pub closes_tried: u32,
    pub now: UnixMillis,
}

/// A proof that a request was not executed, with the claim under which it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proven {
    pub proof: NotExecutedProof,
    pub token: ClaimToken,
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Claim and charge; again only if the claim grants a permit.
    Charge {
        wait: Duration,
    },
    /// Wait, then look up. `number` of `of`; `of` is absent where lookups go on without end.
    Lookup {
        wait: Duration,
        number: u32,
        of: Option<u32>,
    },
    /// Wait, then make the reference unpayable at the channel, which says what became of it.
    Close {
        wait: Duration,
    },
    /// Write down what is known now, under the claim that it is about.
    Settle {
        event: PaymentEvent,
        token: Option<ClaimToken>,
    },
    /// Wait for a person; look again after the wait: at the channel where it can be asked, and at
    /// the row, to which somebody else may have brought the truth.
    AskPerson {
        look_after: Duration,
    },
    /// Hand the goods over.
    Fulfil,
    Done,
}

impl PaymentView {
    /// Decides from the row and the facts alone.
    #[must_use]
    pub fn next_action(&self, facts: &Facts<'_>) -> Action {
        match &self.state {
            PaymentState::Created => Action::Charge { wait: Duration::ZERO },
            // Another attempt holds the claim. It is not ours to send; it is ours to ask.
            PaymentState::Processing { .. } => Action::Settle {
                event: PaymentEvent::AnswerLost { why: UnknownReason::SenderLost },
                token: None,
            },
            PaymentState::Unknown => self.when_unknown(facts),
            PaymentState::AwaitingPayer { pay_before, .. } => {
                self.when_awaiting_payer(*pay_before, facts)
            }
            // Committed only after a broken rule; a person looks, the money is kept.
            PaymentState::Succeeded { .. } => Action::AskPerson { look_after: look_after(facts) },
            PaymentState::Persisted { effect: Effect::Applied, .. } => {
                if self.awaits_fulfilment() {
                    Action::Fulfil
                } else {
                    Action::Done
                }
            }
            PaymentState::Persisted { effect: Effect::Surplus | Effect::Late, .. }
            | PaymentState::Failed { .. }
            | PaymentState::Closed => Action::Done,
            // The next claim uses the acceptance up, or opens the question again.
            PaymentState::ManualReview { .. } if self.risk_accepted => {
                Action::Charge { wait: Duration::ZERO }
            }
            PaymentState::ManualReview { reason } => {
                if let (Some(proven), ReviewReason::OutcomeUnknown) = (facts.proven, reason) {
                    return not_executed(proven);
                }
                let lost = *reason == ReviewReason::OutcomeUnknown;
                if lost && facts.may_close() && facts.closes_tried == 0 {
                    return Action::Close { wait: Duration::ZERO };
                }
                Action::AskPerson { look_after: look_after(facts) }
            }
        }
    }

    /// Whether this payment's money is kept and its goods have not left. A review that questions
    /// either stops them.
    #[must_use]
    pub fn awaits_fulfilment(&self) -> bool {
        matches!(self.state, PaymentState::Persisted { effect: Effect::Applied, .. })
            && matches!(self.order_state, OrderState::Paid | OrderState::Fulfilling)
            && !self.goods_held
    }

    /// The payer was shown how to pay. Looked up until they have, or until they may no more; then
    /// the reference is closed, and the channel says which came first.
    fn when_awaiting_payer(&self, pay_before: UnixMillis, facts: &Facts<'_>) -> Action {
        let capabilities = &facts.policy.capabilities;
        let late_at = pay_before.after(capabilities.grace).after(CLOCKS_APART);
        let until_late = facts.now.until(late_at);
        let rung = awaiting_rung(facts);
        let soon = if until_late.is_zero() { rung } else { rung.min(until_late) };
        // As long after the end as a lost answer is looked up, nothing was learned: not what the
        // channel knows, and at last not whether it is closed. A person is asked.
        let ladder: Duration =
            facts.policy.ladder_ms.iter().copied().map(Duration::from_millis).sum();
        if facts.rungs_done > 0 && facts.now >= late_at.after(ladder) {
            return if capabilities.close && facts.closes_tried == 0 {
                Action::Close { wait: Duration::ZERO }
            } else {
                self.ladder_ended()
            };
        }
        if facts.may_close() {
            return facts.close(Duration::ZERO, rung);
        }
        if capabilities.lookup.is_some() {
            let for_ever = until_late.is_zero() && facts.open && !capabilities.close;
            return if for_ever {
                self.ladder_ended()
            } else {
                Action::Lookup { wait: soon, number: facts.rungs_done + 1, of: None }
            };
        }
        let may_repeat = self.permits_used < MAX_PERMITS && !facts.close_asked;
        // Sent again, the same request tells whether it was paid; past its end it tells nothing.
        let still_payable = facts.now.after(rung) < pay_before;
        if capabilities.idempotent_for.is_some() && may_repeat && still_payable {
            return Action::Charge { wait: rung };
        }
        match (capabilities.close, until_late.is_zero()) {
            (true, _) => facts.close(until_late, rung),
            (false, true) => self.ladder_ended(),
            (false, false) => Action::AskPerson { look_after: until_late },
        }
    }

    /// The outcome is not known: ask, or send again where that is safe, or ask a person. Time
    /// alone never makes it a failure.
    fn when_unknown(&self, facts: &Facts<'_>) -> Action {
        let capabilities = &facts.policy.capabilities;
        // What somebody asked to close is not sent again.
        let may_repeat = self.permits_used < MAX_PERMITS && !facts.close_asked;
        let next_rung = rung(&facts.policy.ladder_ms, facts.rungs_done);
        let in_time = facts.now < self.start_before;
        if let Some(proven) = facts.proven {
            let safe_to_repeat =
                capabilities.refuses_known_reference || capabilities.idempotent_for.is_some();
            return if safe_to_repeat && may_repeat && in_time && !facts.repeat_refused {
                Action::Charge { wait: Duration::ZERO }
            } else {
                not_executed(proven)
            };
        }
        if let (true, Some(wait)) = (facts.may_close(), next_rung) {
            return facts.close(Duration::ZERO, Duration::from_millis(wait));
        }
        // The channel has it and nobody has paid: what we lack is what to show the payer.
        if facts.open {
            if capabilities.idempotent_for.is_some() && may_repeat && in_time {
                return Action::Charge { wait: Duration::ZERO };
            }
            if capabilities.close && facts.closes_tried == 0 {
                return Action::Close { wait: Duration::ZERO };
            }
        }
        match (capabilities.lookup, capabilities.idempotent_for, next_rung) {
            (Some(_), _, Some(wait)) => Action::Lookup {
                wait: Duration::from_millis(wait),
                number: facts.rungs_done + 1,
                of: u32::try_from(facts.policy.ladder_ms.len()).ok(),
            },
            // Sending the same reference again is this channel's only lookup.
            (None, Some(_), Some(wait)) if may_repeat => {
                Action::Charge { wait: Duration::from_millis(wait) }
            }
            _ => self.ladder_ended(),
        }
    }

    /// Nothing is left to ask the channel: a person is asked, about the claim that is known here.
    fn ladder_ended(&self) -> Action {
        Action::Settle { event: PaymentEvent::LadderEnded, token: self.claim.clone() }
    }
}

impl Facts<'_> {
    /// Whether somebody asked to close, and the channel can.
    fn may_close(&self) -> bool {
        self.close_asked && self.policy.capabilities.close
    }

    fn close(&self, first: Duration, again: Duration) -> Action {
        Action::Close { wait: if self.closes_tried == 0 { first } else { again } }
    }
}

/// Wait before the next lookup of an open payment; the last rung repeats.
fn awaiting_rung(facts: &Facts<'_>) -> Duration {
    let ladder = &facts.policy.awaiting_payer_ms;
    let wait = rung(ladder, facts.rungs_done).or_else(|| ladder.last().copied());
    Duration::from_millis(wait.unwrap_or(DEFAULT_AWAITING_PAYER_MS[2]))
}

/// Hourly for a day, then daily. Where only the row can be looked at, the first look comes when the
/// last request of ours must have been answered: an attempt that was taken for dead may have
/// brought the money.
fn look_after(facts: &Facts<'_>) -> Duration {
    let capabilities = &facts.policy.capabilities;
    if facts.rungs_done == 0 && capabilities.lookup.is_none() {
        return capabilities.call_limit + capabilities.grace + SETTLE_TIME;
    }
    if facts.rungs_done < REVIEW_HOURLY_LOOKUPS { HOUR } else { DAY }
}

fn not_executed(proven: &Proven) -> Action {
    Action::Settle {
        event: PaymentEvent::NotExecuted { proof: proven.proof },
        token: Some(proven.token.clone()),
    }
}

fn rung(ladder_ms: &[u64], done: u32) -> Option<u64> {
    usize::try_from(done).ok().and_then(|index| ladder_ms.get(index)).copied()
}

#[cfg(test)]
mod tests;
