//! The headers that requests bring: who asks, and under which key.

use super::problem::{ApiError, Code};
use axum::http::{HeaderMap, header};
use domain::{TRACEPARENT, TraceParent};

/// The header by its name in problem documents.
pub(super) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The text of the `Idempotency-Key` header, plain (`abc`) or as a structured string (`"abc"`).
/// What it may contain is checked by whoever makes a key or a decision id of it.
///
/// # Errors
/// A problem that names the header.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<String, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        let detail = "this request needs an Idempotency-Key header: a key that is the caller's \
                      own and is sent again with every repetition";
        return Err(ApiError::new(Code::IdempotencyKeyMissing, detail).field(IDEMPOTENCY_KEY));
    };
    let invalid = |rule| ApiError::invalid(IDEMPOTENCY_KEY, format!("Idempotency-Key {rule}"));
    if values.next().is_some() {
        return Err(invalid("must be sent once"));
    }
    let text = value.to_str().map_err(|_| invalid("must be printable ASCII"))?;
    match text.strip_prefix('"') {
        None => Ok(text.to_owned()),
        Some(quoted) => unquote(quoted)
            .ok_or_else(|| invalid("begins with a quote and is no structured string")),
    }
}

/// The rest of an RFC 9651 string, after its opening quote.
fn unquote(quoted: &str) -> Option<String> {
    let mut text = String::with_capacity(quoted.len());
    let mut rest = quoted.chars();
    loop {
        match rest.next()? {
            '"' => return rest.as_str().is_empty().then_some(text),
            '\\' => match rest.next()? {
                escaped @ ('"' | '\\') => text.push(escaped),
                _ => return None,
            },
            plain => text.push(plain),
        }
    }
}

/// The token of `Authorization: Bearer …`, if that is what the request has.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}

/// The caller's trace. One that is not well-formed, or stands twice, is none: a trace never refuses
/// a request.
pub(super) fn traceparent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    TraceParent::parse(value.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn key(values: &[&str]) -> Result<String, Code> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value.as_bytes()).expect("ok"));
        }
        idempotency_key(&headers).map_err(|error| error.code())
    }

    #[test]
    fn a_key_is_the_same_with_and_without_quotes() {
        assert_eq!(key(&["abc"]), Ok("abc".to_owned()));
        assert_eq!(key(&["\"abc\""]), Ok("abc".to_owned()));
        assert_eq!(key(&[r#""a\"b\\c""#]), Ok(r#"a"b\c"#.to_owned()));
        assert_eq!(key(&["a\"b"]), Ok("a\"b".to_owned()));
    }

    #[test]
    fn a_key_that_is_not_there_or_not_clear_is_refused() {
        assert_eq!(key(&[]), Err(Code::IdempotencyKeyMissing));
        for bad in [&["a", "b"][..], &["\"abc"], &["\"abc\";x=1"], &[r#""a\bc""#], &["é"], &["\""]]
        {
            assert_eq!(key(bad), Err(Code::InvalidInput), "{bad:?}");
        }
    }

    #[test]
    fn a_trace_that_is_not_clear_is_none() {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(trace));
        assert_eq!(traceparent(&headers).expect("a trace").to_string(), trace);
        headers.append(TRACEPARENT, HeaderValue::from_static(trace));
        assert_eq!(traceparent(&headers), None);
        assert_eq!(traceparent(&HeaderMap::new()), None);
    }

    #[test]
    fn only_a_bearer_token_is_a_token() {
        let token = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer t-1"), Some("t-1".to_owned()));
        assert_eq!(token("bearer t-1"), Some("t-1".to_owned()));
        assert_eq!(token("Basic t-1"), None);
        assert_eq!(token("t-1"), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
