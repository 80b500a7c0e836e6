//! The W3C `traceparent` of a request: which trace it belongs to, and which span of it called.
//! It is carried along and told to whoever is called; nothing is decided by it.

use std::fmt;

/// The name of the header, over HTTP and in Temporal.
pub const TRACEPARENT: &str = "traceparent";

const TRACE_LEN: usize = 32;
const SPAN_LEN: usize = 16;
/// `00-` trace `-` span `-` flags.
const LEN: usize = 3 + TRACE_LEN + 1 + SPAN_LEN + 3;
/// The only flag that is known: somebody records this trace.
const SAMPLED: u8 = 1;

/// A well-formed `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    trace: String,
    span: String,
    sampled: bool,
}

impl TraceParent {
    /// Reads the header; whatever is not well-formed is no trace, as the standard wants it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.split_at_checked(LEN)?;
        let [version, trace, span, flags] =
            <[&str; 4]>::try_from(head.split('-').collect::<Vec<_>>()).ok()?;
        let known = version == "00" && rest.is_empty();
        let later = version.len() == 2
            && is_hex(version)
            && !["00", "ff"].contains(&version)
            && (rest.is_empty() || rest.starts_with('-'));
        let id = |text: &str, len| {
            text.len() == len && is_hex(text) && text.bytes().any(|byte| byte != b'0')
        };
        let fits = (known || later) && id(trace, TRACE_LEN) && id(span, SPAN_LEN);
        let flags = (is_hex(flags)).then(|| u8::from_str_radix(flags, 16).ok())??;
        fits.then(|| Self {
            trace: trace.to_owned(),
            span: span.to_owned(),
            sampled: flags & SAMPLED != 0,
        })
    }

    /// The trace's id, for logs.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.trace
    }

    /// The same trace, with our own span as the caller.
    #[must_use]
    pub fn with_span(&self, span: [u8; 8]) -> Self {
        let span = u64::from_be_bytes(span).max(1);
        Self { span: format!("{span:016x}"), ..self.clone() }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_keeps_its_id_and_gets_a_new_span() {
        let parent = TraceParent::parse(GOOD).expect("well-formed");
        assert_eq!(parent.to_string(), GOOD);
        let child = parent.with_span([0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(child.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(child.to_string().ends_with("-0000000000000009-01"));
        assert_eq!(TraceParent::parse(&child.to_string()), Some(child));
        let zero = parent.with_span([0; 8]).to_string();
        assert!(TraceParent::parse(&zero).is_some(), "a span of zeros is none: {zero}");
    }

    #[test]
    fn a_later_version_is_read_as_ours() {
        let later = GOOD.replacen("00-", "01-", 1);
        for text in [later.clone(), format!("{later}-more")] {
            assert_eq!(TraceParent::parse(&text).expect("read").to_string(), GOOD);
        }
    }

    #[test]
    fn what_is_not_well_formed_is_no_trace() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        for bad in [
            String::new(),
            GOOD.to_uppercase(),
            format!("{GOOD}-more"),
            GOOD.replacen("00-", "ff-", 1),
            GOOD.replace(trace, &"0".repeat(32)),
            GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            GOOD.replace("-01", "-0g"),
            GOOD.replacen('-', "_", 1),
            GOOD.replace("4bf9", "4bé"),
        ] {
            assert_eq!(TraceParent::parse(&bad), None, "{bad}");
        }
    }
}
