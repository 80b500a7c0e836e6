//! Who may decide reviews. Only digests of their tokens are kept in memory, and a token is
//! compared in constant time, whoever it belongs to.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use std::fmt;

/// Shortest token, in characters.
const MIN_TOKEN_LEN: usize = 16;
/// Longest name of an operator.
const MAX_NAME_LEN: usize = 40;
/// Most operators; every token is compared with all of them.
const MAX_OPERATORS: usize = 100;

/// The operators of this process.
#[derive(Clone, Default)]
pub(crate) struct Operators {
    list: Vec<Operator>,
}

#[derive(Clone)]
struct Operator {
    name: String,
    token_sha256: [u8; 32],
}

/// Why a list of operators is refused. Tokens are not repeated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OperatorsError {
    #[error("entry {place} must be NAME:TOKEN, the name 1 to {MAX_NAME_LEN} of a-z, 0-9, . _ -")]
    Entry { place: usize },
    #[error("the token of {name:?} must be at least {MIN_TOKEN_LEN} printable ASCII characters")]
    Token { name: String },
    #[error("{name:?} is listed twice, or shares a token")]
    Twice { name: String },
    #[error("more than {MAX_OPERATORS} operators")]
    TooMany,
}

impl Operators {
    /// Reads `alice:token,bob:token`.
    ///
    /// # Errors
    /// [`OperatorsError`], naming the operator.
    pub(crate) fn parse(text: &str) -> Result<Self, OperatorsError> {
        let mut list: Vec<Operator> = Vec::new();
        for (index, entry) in text.split(',').enumerate() {
            let place = index + 1;
            let (name, token) =
                entry.trim().split_once(':').ok_or(OperatorsError::Entry { place })?;
            if !is_name(name) {
                return Err(OperatorsError::Entry { place });
            }
            let printable = token.bytes().all(|byte| byte.is_ascii_graphic());
            if token.len() < MIN_TOKEN_LEN || !printable {
                return Err(OperatorsError::Token { name: name.to_owned() });
            }
            let token_sha256 = sha256(token);
            let twice = |known: &Operator| known.name == name || known.token_sha256 == token_sha256;
            if list.iter().any(twice) {
                return Err(OperatorsError::Twice { name: name.to_owned() });
            }
            list.push(Operator { name: name.to_owned(), token_sha256 });
        }
        if list.len() > MAX_OPERATORS {
            return Err(OperatorsError::TooMany);
        }
        Ok(Self { list })
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The name of the operator whose token this is. Every entry is compared, so that the time
    /// says nothing about which one was right.
    #[must_use]
    pub(crate) fn authenticate(&self, token: &str) -> Option<&str> {
        let asked = sha256(token);
        let mut found = None;
        for operator in &self.list {
            if verify_slices_are_equal(&operator.token_sha256, &asked).is_ok() {
                found = Some(operator.name.as_str());
            }
        }
        found
    }
}

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|operator| &operator.name)).finish()
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=MAX_NAME_LEN).contains(&text.len())
        && text.bytes().all(|byte| allowed(byte) || b"._-".contains(&byte))
}

fn sha256(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    // Cannot fail: a SHA-256 has 32 bytes.
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "alice-token-0123";
    const BOB: &str = "bob-token-0123456";

    #[test]
    fn only_the_exact_token_names_its_operator() {
        let operators = Operators::parse(&format!("alice:{ALICE}, bob:{BOB}")).expect("valid");
        assert_eq!(operators.authenticate(ALICE), Some("alice"));
        assert_eq!(operators.authenticate(BOB), Some("bob"));
        for wrong in ["", "alice", &ALICE[1..], &format!("{ALICE} "), &ALICE.to_uppercase()] {
            assert_eq!(operators.authenticate(wrong), None, "{wrong:?}");
        }
        assert_eq!(Operators::default().authenticate(""), None);
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_whole() {
        use OperatorsError as E;
        let name = || "alice".to_owned();
        let cases = [
            ("alice".to_owned(), E::Entry { place: 1 }),
            (format!("Alice:{ALICE}"), E::Entry { place: 1 }),
            (format!("alice:{ALICE},"), E::Entry { place: 2 }),
            ("alice:short".to_owned(), E::Token { name: name() }),
            (format!("alice:{ALICE},alice:{BOB}"), E::Twice { name: name() }),
            (format!("bob:{ALICE},alice:{ALICE}"), E::Twice { name: name() }),
        ];
        for (text, expected) in cases {
            assert_eq!(Operators::parse(&text).err(), Some(expected), "{text}");
        }
    }

    #[test]
    fn tokens_are_not_printed() {
        let operators = Operators::parse(&format!("alice:{ALICE}")).expect("valid");
        assert_eq!(format!("{operators:?}"), r#"["alice"]"#);
    }
}
