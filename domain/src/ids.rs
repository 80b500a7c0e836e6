//! Every id is its own type with one parsing constructor. What we send to others is derived from
//! what the caller gave us, never drawn at random: after any loss of rows the same intent has the
//! same payment id and the same channel reference.

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest merchant id. With the longest key and the prefix `payment/` a workflow id has at most
/// 8 + 40 + 1 + 200 = 249 bytes; Temporal allows 255.
pub const MAX_MERCHANT_LEN: usize = 40;
/// Longest idempotency key.
pub const MAX_KEY_LEN: usize = 200;
/// Longest name of an operator.
pub const MAX_OPERATOR_LEN: usize = 40;
/// Longest id or token that is not ours: a channel's transaction, an account, a payment method.
pub const MAX_FOREIGN_ID_LEN: usize = 64;
/// Characters of a derived id: 26 × 5 bits = 130 bits of a SHA-256.
pub const DERIVED_LEN: usize = 26;

/// An id that has the wrong form. The id itself is not repeated: it may be a secret by mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {rule}")]
pub struct IdError {
    pub what: &'static str,
    pub rule: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// # Errors
            /// [`IdError`] naming the rule that the text breaks.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                let error = IdError { what: $what, rule: $rule };
                if valid(&text) { Ok(Self(text)) } else { Err(error) }
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// Who is paid.
    MerchantId, "merchant", "1 to 40 characters of a-z, 0-9 and -",
    |text| (1..=MAX_MERCHANT_LEN).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);
id!(
    /// The caller's name for one intent. Kept for ever; never made by us.
    IdempotencyKey, "idempotency_key", "1 to 200 printable ASCII characters without outer spaces",
    |text| (1..=MAX_KEY_LEN).contains(&text.len())
        && text.bytes().all(|b| (0x20..=0x7e).contains(&b))
        && text.trim_ascii() == text
);
id!(
    /// An order of ours: `ord_` and 26 characters.
    OrderId, "order", "ord_ and 26 characters of a-z and 2-7", |text| is_derived(text, "ord_")
);
id!(
    /// A payment: `pay_` and 26 characters.
    PaymentId, "payment", "pay_ and 26 characters of a-z and 2-7", |text| is_derived(text, "pay_")
);
id!(
    /// An event at the one door: `evt_` and 26 characters.
    EventId, "event", "evt_ and 26 characters of a-z and 2-7", |text| is_derived(text, "evt_")
);
id!(
    /// A review: `rev_` and 26 characters.
    ReviewId, "review", "rev_ and 26 characters of a-z and 2-7", |text| is_derived(text, "rev_")
);
id!(
    /// Our name for one attempt at a channel: 26 lower-case characters, valid at every channel.
    ChannelReference, "reference", "26 characters of a-z and 2-7", |text| is_derived(text, "")
);
id!(
    /// The channel's identity of one movement of money.
    ChannelTransactionId, "transaction", "1 to 64 printable ASCII characters", is_foreign
);
id!(
    /// One of our accounts at a channel.
    ChannelAccount, "account", "1 to 64 printable ASCII characters", is_foreign
);
id!(
    /// The channel's token for how the payer pays. Never a card number.
    PaymentMethod, "payment_method", "1 to 64 characters of A-Z, a-z, 0-9, _ and -, not all digits",
    |text| (1..=MAX_FOREIGN_ID_LEN).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && !text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
);
id!(
    /// Who holds the right to send: a run and an activity attempt of it.
    ClaimToken, "token", "1 to 64 printable ASCII characters", is_foreign
);
id!(
    /// A person's decision, named by who asks for it; the same id is the same decision.
    DecisionId, "decision_id", "1 to 64 printable ASCII characters", is_foreign
);
id!(
    /// A person who decides.
    OperatorName, "operator", "1 to 40 characters of a-z, 0-9, ., _ and -",
    |text| (1..=MAX_OPERATOR_LEN).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
);
id!(
    /// A merchant's name for one product.
    Sku, "sku", "1 to 64 printable ASCII characters", is_foreign
);

fn is_foreign(text: &str) -> bool {
    (1..=MAX_FOREIGN_ID_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

fn is_derived(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        rest.len() == DERIVED_LEN
            && rest.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
    })
}

/// Base32 (RFC 4648 alphabet in lower case) of the SHA-256 over the parts, each ended by a NUL
/// byte, which no part may contain: two lists of parts never give the same bytes.
#[must_use]
pub fn derive(purpose: &str, parts: &[&str]) -> String {
    let mut bytes = Vec::with_capacity(128);
    for part in std::iter::once(&purpose).chain(parts) {
        bytes.extend(part.bytes().filter(|byte| *byte != 0));
        bytes.push(0);
    }
    base32(digest(&SHA256, &bytes).as_ref())
}

fn base32(hash: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |index: usize| hash.get(index / 8).map_or(0, |byte| byte >> (7 - index % 8) & 1);
    (0..DERIVED_LEN)
        .map(|place| (0..5).fold(0usize, |value, at| value << 1 | usize::from(bit(place * 5 + at))))
        .map(|value| char::from(ALPHABET[value]))
        .collect()
}

impl PaymentId {
    /// The one id that an intent has, whoever computes it.
    #[must_use]
    pub fn of(merchant: &MerchantId, key: &IdempotencyKey) -> Self {
        Self(format!("pay_{}", derive("payment", &[merchant.as_str(), key.as_str()])))
    }
}

impl OrderId {
    /// The one id of the order that a merchant created under this key.
    #[must_use]
    pub fn of(merchant: &MerchantId, key: &IdempotencyKey) -> Self {
        Self(format!("ord_{}", derive("order", &[merchant.as_str(), key.as_str()])))
    }
}

impl ChannelReference {
    /// The reference of one attempt. A request that is sent again keeps it.
    #[must_use]
    pub fn of(merchant: &MerchantId, key: &IdempotencyKey, attempt: u16) -> Self {
        let attempt = attempt.to_string();
        Self(derive("reference", &[merchant.as_str(), key.as_str(), &attempt]))
    }
}

impl EventId {
    /// The id of a piece of news: the same news has the same id, whatever brought it.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        Self(format!("evt_{}", derive("event", parts)))
    }
}

impl ReviewId {
    /// The review that an event opened.
    #[must_use]
    pub fn of(event: &EventId) -> Self {
        Self(format!("rev_{}", derive("review", &[event.as_str()])))
    }
}

impl ClaimToken {
    /// A run, and what no other sender in it ever has: unique among all that ever claim.
    #[must_use]
    pub fn of(run_id: &str, sender: impl fmt::Display) -> Self {
        let token = format!("{run_id}#{sender}");
        Self(token.chars().filter(char::is_ascii_graphic).take(MAX_FOREIGN_ID_LEN).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merchant() -> MerchantId {
        MerchantId::parse("acme").expect("valid")
    }

    fn key(text: &str) -> IdempotencyKey {
        IdempotencyKey::parse(text).expect("valid")
    }

    /// Computed with Python: base64.b32encode(hashlib.sha256(b"payment\0acme\0k1\0").digest()).
    #[test]
    fn a_derived_id_is_the_same_in_every_language() {
        assert_eq!(PaymentId::of(&merchant(), &key("k1")).as_str(), PAYMENT_OF_ACME_K1);
        assert_eq!(ChannelReference::of(&merchant(), &key("k1"), 1).as_str(), REFERENCE_OF_ACME_K1);
    }

    const PAYMENT_OF_ACME_K1: &str = "pay_jtoklr2qhxjc75t3y7m3lbjzid";
    const REFERENCE_OF_ACME_K1: &str = "2qqwklti2srx676xdpabl5vrlx";

    #[test]
    fn neighbours_do_not_collide() {
        let ab = derive("payment", &["a", "bc"]);
        assert_ne!(ab, derive("payment", &["ab", "c"]));
        assert_ne!(ab, derive("order", &["a", "bc"]));
        let first = ChannelReference::of(&merchant(), &key("k"), 1);
        assert_ne!(first, ChannelReference::of(&merchant(), &key("k"), 2));
        assert_ne!(first, ChannelReference::of(&merchant(), &key("K"), 1));
    }

    #[test]
    fn keys_have_limits_and_no_second_spelling() {
        let longest = "k".repeat(MAX_KEY_LEN);
        assert!(IdempotencyKey::parse(longest.clone()).is_ok());
        for bad in [String::new(), longest + "k", " k".into(), "k\n".into(), "键".into()] {
            assert!(IdempotencyKey::parse(bad.clone()).is_err(), "{bad:?} was taken");
        }
        for bad in ["", "Acme", "a_b", "a/b", "é"] {
            assert!(MerchantId::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn a_card_number_is_no_payment_method() {
        assert!(PaymentMethod::parse("4111111111111111").is_err());
        assert!(PaymentMethod::parse("4111-1111-1111-1111").is_err());
        assert!(PaymentMethod::parse("pm_ok").is_ok());
    }
}
