//! What every request gets: an id on its answer, one line in the log, its share of the metrics, and
//! a problem document if it failed. Bodies, keys and tokens are never logged.

use super::headers::traceparent;
use super::limits::{MAX_HEADERS, MAX_HEADERS_LEN, MAX_PATH_LEN, MAX_REQUEST_ID_LEN};
use super::problem::{ApiError, Code};
use crate::metrics;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use axum::response::Response;
use std::time::Instant;
use tracing::Instrument;

/// Longest path that is logged.
const MAX_LOGGED_PATH_LEN: usize = 120;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The name of one request, ours or the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(String);

impl RequestId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_REQUEST_ID_LEN).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The caller's id where it is well-formed, else a new one.
    fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        given.and_then(Self::parse).unwrap_or_else(Self::random)
    }

    fn random() -> Self {
        let mut bytes = [0; 12];
        // Without randomness the id is not unique, and the request is none the worse for it.
        let _ = aws_lc_rs::rand::fill(&mut bytes);
        Self(format!("req_{}", hex::encode(bytes)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error that an answer carries. The router refuses some paths itself, in plain text.
fn error_of(response: &mut Response) -> Option<ApiError> {
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        return Some(error);
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    let plain = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !plain || response.status().is_success() {
        return None;
    }
    let error = ApiError::new(Code::InvalidInput, "the request's path cannot be read");
    *response.status_mut() = error.code().status();
    Some(error)
}

/// A request that is refused whatever it asks for.
fn too_large(request: &Request) -> Option<ApiError> {
    let uri = request.uri();
    let path_len = uri.path().len() + uri.query().map_or(0, |query| query.len() + 1);
    if path_len > MAX_PATH_LEN {
        let detail = format!("a path and its query have at most {MAX_PATH_LEN} bytes");
        return Some(ApiError::new(Code::PathTooLong, detail));
    }
    let headers = request.headers();
    let len: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.as_bytes().len()).sum();
    if headers.len() > MAX_HEADERS || len > MAX_HEADERS_LEN {
        let detail = format!(
            "a request has at most {MAX_HEADERS} headers, of {MAX_HEADERS_LEN} bytes together"
        );
        return Some(ApiError::new(Code::HeadersTooLarge, detail));
    }
    None
}

/// The outermost layer. Whatever is logged meanwhile names the caller's trace, if there is one.
pub(super) async fn accompany(request: Request, next: Next) -> Response {
    match traceparent(request.headers()) {
        None => answer(request, next).await,
        Some(trace) => {
            let span = tracing::info_span!("request", trace.id = trace.trace_id());
            answer(request, next).instrument(span).await
        }
    }
}

async fn answer(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    let path: String = request.uri().path().chars().take(MAX_LOGGED_PATH_LEN).collect();
    let template = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match too_large(&request) {
        Some(error) => error.into_response(),
        None => next.run(request).await,
    };
    let error = error_of(&mut response);
    if let Some(error) = &error {
        error.log(&id);
        response = error.render(&id, response);
    }
    // Cannot fail: an id is printable ASCII.
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let (status, took) = (response.status().as_u16(), started.elapsed());
    let template = template.as_ref().map(MatchedPath::as_str);
    hold_to_its_promise(&method, template, status, error.as_ref());
    metrics::answered(template, &method, status, took);
    tracing::info!(
        request.id = id.as_str(),
        http.method = method.as_str(),
        http.path = path,
        http.status = status,
        duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "request answered"
    );
    response
}

/// What the document does not promise is a bug, and every test that meets it fails by this line.
fn hold_to_its_promise(method: &Method, path: Option<&str>, status: u16, error: Option<&ApiError>) {
    let operations = super::operations().iter();
    let operation = path.and_then(|path| operations.into_iter().find(|one| one.is(method, path)));
    let problem = error.map(ApiError::code);
    if operation.is_some_and(|operation| !operation.promises(status, problem)) {
        tracing::error!(http.status = status, ?problem, path, "ALARM: an answer without a promise");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_id_is_kept_only_if_it_is_harmless() {
        let id = |text: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_bytes(text).expect("a header"));
            RequestId::of(&headers).0
        };
        assert_eq!(id(b"order-42"), "order-42");
        for bad in [&b""[..], b"a b", b"\xc3\xa9", &[b'x'; MAX_REQUEST_ID_LEN + 1]] {
            assert!(id(bad).starts_with("req_"), "{bad:?}");
        }
        let none = HeaderMap::new();
        assert_ne!(RequestId::of(&none), RequestId::of(&none));
    }
}
