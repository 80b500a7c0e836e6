//! Pages of a list: as many entries as the caller wants, from where the last page ended. Entries
//! that come meanwhile never make a page repeat or leave out another.

use super::limits::{DEFAULT_PAGE, MAX_PAGE};
use chrono::{DateTime, Utc};

/// Told apart from cursors of later forms.
const FORM: &str = "1";

/// Where a page ends: the instant and the id that its entries are sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub at: DateTime<Utc>,
    pub id: String,
}

impl Cursor {
    /// The text that the caller sends back; only this file knows what it says.
    pub(super) fn to_text(&self) -> String {
        hex::encode(format!("{FORM} {} {}", self.at.timestamp_micros(), self.id))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = hex::decode(text).ok()?;
        let mut parts = std::str::from_utf8(&bytes).ok()?.splitn(3, ' ');
        if parts.next() != Some(FORM) {
            return None;
        }
        let at = DateTime::from_timestamp_micros(parts.next()?.parse().ok()?)?;
        let id = parts.next().filter(|id| !id.is_empty() && !id.contains('\0'))?;
        Some(Self { at, id: id.to_owned() })
    }
}

/// Reads `limit`; the error completes the sentence "limit …".
pub(super) fn limit(text: &str) -> Result<u32, String> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
    limit.ok_or_else(|| format!("must be 1 to {MAX_PAGE}; it is {DEFAULT_PAGE} if absent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_made() {
        let at = DateTime::from_timestamp_micros(1_700_000_000_123_456).expect("valid");
        let cursor = Cursor { at, id: "rev_x".to_owned() };
        assert_eq!(Cursor::parse(&cursor.to_text()), Some(cursor));
    }

    #[test]
    fn what_is_no_cursor_is_none() {
        let zero = hex::encode("1 5 a\0b");
        let huge = hex::encode(format!("1 {} x", i64::MAX));
        let other = hex::encode("2 5 x");
        for bad in ["", "zz", "00", "ff", &hex::encode("1 5"), &hex::encode("1 5 "), &zero, &huge] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
        assert_eq!(Cursor::parse(&other), None);
    }

    #[test]
    fn a_limit_has_a_limit() {
        assert_eq!((limit("1"), limit("100")), (Ok(1), Ok(100)));
        for bad in ["0", "101", "-1", "x", "", "1.5"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }
}
