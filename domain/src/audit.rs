//! Who did it, and what a person may decide.

use crate::ids::{ChannelTransactionId, DecisionId, OperatorName, ReviewId};
use crate::money::Money;
use crate::review::ChoiceKind;
use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};

/// Longest evidence or reason that a person may write, in bytes.
pub const MAX_EVIDENCE_LEN: usize = 500;
/// Shortest key for decision stamps, in bytes.
pub const MIN_DECISION_KEY_LEN: usize = 16;

/// Who brought a piece of news or took a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Actor {
    /// The answer to our own charge request.
    ChargeAnswer,
    /// The answer to our own lookup.
    Lookup,
    /// The answer to our own close request.
    Close,
    /// The payment's own workflow, about time or its own request.
    Workflow,
    /// The channel, by itself.
    Channel,
    /// A person whose name was proved.
    Operator { name: String },
    /// A person who said that this is their name.
    Unproved { name: String },
}

impl Actor {
    /// The word that is kept on the record.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::ChargeAnswer => "charge".to_owned(),
            Self::Lookup => "lookup".to_owned(),
            Self::Close => "close".to_owned(),
            Self::Workflow => "workflow".to_owned(),
            Self::Channel => "channel".to_owned(),
            Self::Operator { name } => format!("operator:{name}"),
            Self::Unproved { name } => format!("unproved:{name}"),
        }
    }
}

/// What a person saw that proves their decision: a statement line, a message of the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Evidence(String);

/// Evidence that is empty or too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_EVIDENCE_LEN} bytes of text without control characters")]
pub struct EvidenceError;

impl Evidence {
    /// # Errors
    /// [`EvidenceError`] for text that is blank, too long or has control characters.
    pub fn parse(text: impl Into<String>) -> Result<Self, EvidenceError> {
        let text = text.into();
        let fits = !text.trim().is_empty() && text.len() <= MAX_EVIDENCE_LEN;
        if fits && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err(EvidenceError)
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Evidence {
    type Error = EvidenceError;
    fn try_from(text: String) -> Result<Self, EvidenceError> {
        Self::parse(text)
    }
}

impl From<Evidence> for String {
    fn from(evidence: Evidence) -> Self {
        evidence.0
    }
}

/// What a person may choose about a payment whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Choice {
    /// The money moved. The channel's number is required, so that the channel's own news about
    /// the same movement is recognised when it comes.
    ConfirmPaid { transaction: ChannelTransactionId, money: Money, evidence: Evidence },
    /// No money moved and none will.
    ConfirmNotPaid { evidence: Evidence },
    /// Send the same request once more, although the one before may have been executed. `risk` is
    /// why the person takes that upon themselves.
    ResubmitSameKey { risk: Evidence },
}

impl Choice {
    #[must_use]
    pub fn kind(&self) -> ChoiceKind {
        match self {
            Self::ConfirmPaid { .. } => ChoiceKind::ConfirmPaid,
            Self::ConfirmNotPaid { .. } => ChoiceKind::ConfirmNotPaid,
            Self::ResubmitSameKey { .. } => ChoiceKind::ResubmitSameKey,
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }

    /// Whether another person chose the same. What each saw and why may differ.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::ConfirmPaid { transaction, money, .. },
                Self::ConfirmPaid { transaction: their_transaction, money: their_money, .. },
            ) => transaction == their_transaction && money == their_money,
            (one, other) => one.kind() == other.kind(),
        }
    }
}

/// Proof that a decision comes from the operator it names: an HMAC-SHA256 over all of it, made
/// where the operator's token was checked and verified where the decision takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionStamp(String);

/// Everything that a stamp covers.
#[derive(Clone, Debug)]
pub struct StampedDecision<'a> {
    pub decision: &'a DecisionId,
    pub review: &'a ReviewId,
    pub review_version: i64,
    pub operator: &'a OperatorName,
    pub choice: &'a Choice,
    pub reason: &'a Evidence,
}

impl StampedDecision<'_> {
    fn bytes(&self) -> Vec<u8> {
        let (transaction, amount, currency, evidence) = match self.choice {
            Choice::ConfirmPaid { transaction, money, evidence } => (
                transaction.as_str(),
                money.minor_units().to_string(),
                money.currency().code(),
                evidence.as_str(),
            ),
            Choice::ConfirmNotPaid { evidence: said } | Choice::ResubmitSameKey { risk: said } => {
                ("", String::new(), "", said.as_str())
            }
        };
        let version = self.review_version.to_string();
        [
            "oncepay decision v1",
            self.decision.as_str(),
            self.review.as_str(),
            &version,
            self.operator.as_str(),
            self.choice.as_str(),
            transaction,
            &amount,
            currency,
            evidence,
            self.reason.as_str(),
        ]
        .iter()
        .flat_map(|part| {
            let length = (part.len() as u64).to_be_bytes();
            length.into_iter().chain(part.bytes()).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Stamps the decision with the key that the API and the worker share.
    #[must_use]
    pub fn stamp(&self, key: &[u8]) -> DecisionStamp {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let tag = hmac::sign(&key, &self.bytes());
        DecisionStamp(tag.as_ref().iter().fold(String::new(), |text, b| format!("{text}{b:02x}")))
    }

    /// Whether the stamp was made over exactly this decision with this key; takes the same time
    /// for every wrong stamp.
    #[must_use]
    pub fn verify(&self, stamp: &DecisionStamp, key: &[u8]) -> bool {
        let hex = stamp.0.as_bytes();
        if hex.len() != 64 || !hex.is_ascii() {
            return false;
        }
        let byte = |at: usize| u8::from_str_radix(stamp.0.get(at * 2..at * 2 + 2)?, 16).ok();
        let Some(tag) = (0..32).map(byte).collect::<Option<Vec<u8>>>() else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        hmac::verify(&key, &self.bytes(), &tag).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EventId;
    use crate::money::Currency;

    fn operator(name: &str) -> OperatorName {
        OperatorName::parse(name).expect("valid")
    }

    fn evidence_of(text: &str) -> Choice {
        Choice::ConfirmNotPaid { evidence: Evidence::parse(text).expect("valid") }
    }

    #[test]
    fn a_stamp_covers_every_part_of_the_decision() {
        let review = ReviewId::of(&EventId::of(&["e"]));
        let decision = DecisionId::parse("d-1").expect("valid");
        let reason = Evidence::parse("statement of today").expect("valid");
        let money = Money::new(1999, Currency::parse("CNY").expect("known")).expect("small");
        let transaction = ChannelTransactionId::parse("sbx_1").expect("valid");
        let evidence = Evidence::parse("line 4").expect("valid");
        let choice = Choice::ConfirmPaid { transaction, money, evidence };
        let (alice, bob) = (operator("alice"), operator("bob"));
        let told = StampedDecision {
            decision: &decision,
            review: &review,
            review_version: 1,
            operator: &alice,
            choice: &choice,
            reason: &reason,
        };
        let stamp = told.stamp(b"0123456789abcdef");
        assert!(told.verify(&stamp, b"0123456789abcdef"));
        assert!(!told.verify(&stamp, b"0123456789abcdeg"));
        assert!(
            !StampedDecision { operator: &bob, ..told.clone() }.verify(&stamp, b"0123456789abcdef")
        );
        assert!(
            !StampedDecision { review_version: 2, ..told.clone() }
                .verify(&stamp, b"0123456789abcdef")
        );
        let other = Choice::ConfirmNotPaid { evidence: reason.clone() };
        assert!(
            !StampedDecision { choice: &other, ..told.clone() }.verify(&stamp, b"0123456789abcdef")
        );
        let risk = |text| Choice::ResubmitSameKey { risk: Evidence::parse(text).expect("valid") };
        let (one, other, same_words) = (risk("a"), risk("b"), evidence_of("a"));
        let resubmit = StampedDecision { choice: &one, ..told.clone() };
        let stamp_of_one = resubmit.stamp(b"0123456789abcdef");
        assert!(resubmit.verify(&stamp_of_one, b"0123456789abcdef"));
        for choice in [&other, &same_words] {
            let told = StampedDecision { choice, ..told.clone() };
            assert!(!told.verify(&stamp_of_one, b"0123456789abcdef"), "{choice:?}");
        }
        for broken in ["", "zz", &"0".repeat(64), &"é".repeat(32)] {
            assert!(!told.verify(&DecisionStamp(broken.to_owned()), b"0123456789abcdef"));
        }
    }

    #[test]
    fn evidence_is_text_that_a_person_wrote() {
        assert!(Evidence::parse("  ").is_err());
        assert!(Evidence::parse("a\nb").is_err());
        assert!(Evidence::parse("x".repeat(MAX_EVIDENCE_LEN + 1)).is_err());
    }
}
