//! The right to send a charge again. It is granted inside the next claim's transaction, from what
//! the rows say at that moment, and nowhere else.

use crate::channel::Capabilities;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How often one payment may be sent again, whatever the ground.
pub const MAX_PERMITS: u8 = 3;

/// The three grounds on which a request whose predecessor may have been executed is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermitGround {
    /// The channel gives the first answer again, and its window has not passed.
    ChannelIdempotent,
    /// A lookup proved that nothing was executed, and the channel refuses a known reference.
    ProvenNotExecuted,
    /// A person accepted the risk, on record.
    RiskAccepted,
}

/// A granted permit. It has no public constructor and no JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPermit {
    ground: PermitGround,
    number: u8,
    may_charge_twice: bool,
}

/// What the claim's transaction read under its locks.
#[derive(Clone, Copy, Debug)]
pub struct PermitFacts {
    pub capabilities: Capabilities,
    pub permits_used: u8,
    /// When a request was first sent, if one was.
    pub first_sent_at: Option<UnixMillis>,
    /// The last instant at which a request that was sent may still be on our side of the wire.
    pub send_before: Option<UnixMillis>,
    /// When a complete lookup last found nothing.
    pub not_found_at: Option<UnixMillis>,
    /// A recorded decision to accept the risk that has not been used yet.
    pub risk_accepted: bool,
    pub now: UnixMillis,
}

/// Why a request may not be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermitRefused {
    #[error("it was sent again {MAX_PERMITS} times already")]
    UsedUp,
    #[error("the previous request may have been executed")]
    NoGround,
}

impl RetryPermit {
    /// Decides whether a request may be sent again.
    ///
    /// # Errors
    /// [`PermitRefused`]; nothing may be sent then.
    pub fn grant(facts: &PermitFacts) -> Result<Self, PermitRefused> {
        if facts.permits_used >= MAX_PERMITS {
            return Err(PermitRefused::UsedUp);
        }
        let ground = Self::ground_of(facts).ok_or(PermitRefused::NoGround)?;
        let number = facts.permits_used + 1;
        let refuses = facts.capabilities.refuses_known_reference;
        let may_charge_twice =
            ground == PermitGround::RiskAccepted && !refuses && !facts.first_answer_comes_again();
        Ok(Self { ground, number, may_charge_twice })
    }

    fn ground_of(facts: &PermitFacts) -> Option<PermitGround> {
        if facts.risk_accepted {
            return Some(PermitGround::RiskAccepted);
        }
        if facts.first_answer_comes_again() {
            return Some(PermitGround::ChannelIdempotent);
        }
        let proven = facts
            .not_found_at
            .zip(facts.send_before)
            .is_some_and(|(at, sent)| at >= sent.after(facts.capabilities.grace));
        let refuses = facts.capabilities.refuses_known_reference;
        (proven && refuses).then_some(PermitGround::ProvenNotExecuted)
    }

    #[must_use]
    pub fn ground(&self) -> PermitGround {
        self.ground
    }

    /// Whether the channel may execute this request as well as the one before: from then on the
    /// answer to one says nothing about the other.
    #[must_use]
    pub fn may_charge_twice(&self) -> bool {
        self.may_charge_twice
    }

    /// 1 for the first time that a request is sent again.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }
}

impl PermitFacts {
    /// Whether the channel is idempotent, and the repeat arrives within its window, though it may
    /// be on its way for the call limit and the grace.
    fn first_answer_comes_again(&self) -> bool {
        let arrives_before = self.now.after(self.capabilities.call_limit + self.capabilities.grace);
        let window = self.capabilities.idempotent_for.zip(self.first_sent_at);
        window.is_some_and(|(window, first)| arrives_before < first.after(window))
    }
}

impl PermitGround {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChannelIdempotent => "channel_idempotent",
            Self::ProvenNotExecuted => "proven_not_executed",
            Self::RiskAccepted => "risk_accepted",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::channel::LookupKind;
    use std::time::Duration;

    pub(crate) fn facts() -> PermitFacts {
        PermitFacts {
            capabilities: Capabilities {
                idempotent_for: None,
                lookup: Some(LookupKind::Complete),
                refuses_known_reference: true,
                close: true,
                grace: Duration::from_secs(2),
                call_limit: Duration::from_secs(5),
            },
            permits_used: 0,
            first_sent_at: Some(UnixMillis(1_000)),
            send_before: Some(UnixMillis(6_000)),
            not_found_at: None,
            risk_accepted: false,
            now: UnixMillis(9_000),
        }
    }

    #[test]
    fn nothing_is_sent_again_without_a_ground() {
        assert_eq!(RetryPermit::grant(&facts()), Err(PermitRefused::NoGround));
        let too_early = PermitFacts { not_found_at: Some(UnixMillis(7_999)), ..facts() };
        assert_eq!(RetryPermit::grant(&too_early), Err(PermitRefused::NoGround));
    }

    #[test]
    fn a_proof_counts_only_where_a_known_reference_is_refused() {
        let proven = PermitFacts { not_found_at: Some(UnixMillis(8_000)), ..facts() };
        let permit = RetryPermit::grant(&proven).expect("granted");
        assert_eq!(permit.ground(), PermitGround::ProvenNotExecuted);
        let mut accepting = proven;
        accepting.capabilities.refuses_known_reference = false;
        assert_eq!(RetryPermit::grant(&accepting), Err(PermitRefused::NoGround));
    }

    #[test]
    fn an_idempotent_channel_is_asked_again_only_if_that_arrives_within_its_window() {
        let mut idempotent = facts();
        // Until 21 s; a request is on its way for at most 5 s and the grace of 2 s.
        idempotent.capabilities.idempotent_for = Some(Duration::from_secs(20));
        idempotent.now = UnixMillis(13_999);
        let permit = RetryPermit::grant(&idempotent).expect("granted");
        assert_eq!(permit.ground(), PermitGround::ChannelIdempotent);
        idempotent.now = UnixMillis(14_000);
        assert_eq!(RetryPermit::grant(&idempotent), Err(PermitRefused::NoGround));
    }

    #[test]
    fn a_risk_is_one_where_the_channel_may_execute_both() {
        let mut risky = PermitFacts { risk_accepted: true, ..facts() };
        let twice = |facts: &PermitFacts| {
            let permit = RetryPermit::grant(facts).expect("granted");
            assert_eq!(permit.ground(), PermitGround::RiskAccepted);
            permit.may_charge_twice()
        };
        assert!(!twice(&risky), "a known reference is refused");
        risky.capabilities.refuses_known_reference = false;
        assert!(twice(&risky));
        risky.capabilities.idempotent_for = Some(Duration::from_secs(20));
        assert!(!twice(&risky), "the first answer comes again");
        risky.now = UnixMillis(14_000);
        assert!(twice(&risky), "the window has passed");
    }

    #[test]
    fn permits_run_out_whatever_the_ground() {
        let all = PermitFacts { permits_used: MAX_PERMITS, risk_accepted: true, ..facts() };
        assert_eq!(RetryPermit::grant(&all), Err(PermitRefused::UsedUp));
        let last = PermitFacts { permits_used: MAX_PERMITS - 1, risk_accepted: true, ..facts() };
        assert_eq!(RetryPermit::grant(&last).expect("granted").number(), MAX_PERMITS);
    }
}
