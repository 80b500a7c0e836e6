//! A person who decides: their name, and the token that proves it.

use aws_lc_rs::digest::{SHA256, digest};
use std::fmt;

pub use crate::ids::OperatorName;

/// Shortest token, in characters.
pub const MIN_TOKEN_LEN: usize = 16;
/// Longest token, in characters.
pub const MAX_TOKEN_LEN: usize = 128;

/// The SHA-256 of an operator's token: all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

/// A token that nobody could have been given. The token itself is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token has {MIN_TOKEN_LEN} to {MAX_TOKEN_LEN} printable ASCII characters without spaces")]
pub struct TokenError;

impl TokenDigest {
    /// # Errors
    /// [`TokenError`] for a text that is no token.
    pub fn of(token: &str) -> Result<Self, TokenError> {
        let printable = token.bytes().all(|byte| byte.is_ascii_graphic());
        if !printable || !(MIN_TOKEN_LEN..=MAX_TOKEN_LEN).contains(&token.len()) {
            return Err(TokenError);
        }
        let mut bytes = [0; 32];
        // Cannot fail: a SHA-256 has 32 bytes.
        bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Ok(Self(bytes))
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Prints nothing of it.
impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_has_its_digest() {
        let token = "alice-token-0123";
        let digest = TokenDigest::of(token).expect("a token");
        assert_eq!(TokenDigest::of(token), Ok(digest));
        assert_ne!(TokenDigest::of(&token.to_uppercase()), Ok(digest));
        assert_eq!(digest.as_bytes().len(), 32);
    }

    #[test]
    fn what_is_no_token_has_no_digest() {
        let long = "x".repeat(MAX_TOKEN_LEN + 1);
        for text in ["", "short", "with a space 0123", "alice-token-012é", &long] {
            assert_eq!(TokenDigest::of(text), Err(TokenError), "{text:?}");
        }
    }

    #[test]
    fn a_digest_is_not_printed() {
        let digest = TokenDigest::of("alice-token-0123").expect("a token");
        assert_eq!(format!("{digest:?}"), "TokenDigest");
    }
}
