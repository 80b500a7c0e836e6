//! The HTTP client of every adapter: no retry, no redirect, no cookie, a bounded answer.

use crate::error::SettingsError;
use domain::{NotExecutedProof, TRACEPARENT, TraceParent, UnknownReason};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode};
use std::time::{Duration, Instant};

/// Longest answer that is read, in bytes. Ours have below 2 kB.
pub const MAX_ANSWER_LEN: usize = 64 * 1024;
/// Longest wait for a connection; part of the call's own limit.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
const IDLE_CONNECTIONS: usize = 64;

tokio::task_local! {
    static TRACE: TraceParent;
}

/// Whatever the work sends says which trace it belongs to.
pub async fn under<T>(trace: TraceParent, work: impl Future<Output = T>) -> T {
    TRACE.scope(trace, work).await
}

/// The `traceparent` of one call, if there is a trace: each call is a span of its own.
fn traceparent() -> Option<String> {
    let mut span = [0; 8];
    // Without randomness two spans have one id, and the call is none the worse for it.
    let _ = aws_lc_rs::rand::fill(&mut span);
    TRACE.try_with(|trace| trace.with_span(span).to_string()).ok()
}

/// # Errors
/// [`SettingsError::Client`] when TLS cannot be set up.
pub fn client() -> Result<Client, SettingsError> {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(CONNECT_LIMIT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .build()
        .map_err(SettingsError::Client)
}

/// A whole answer, as bytes, for the signature to be checked over.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No byte of the request was sent.
    NotSent(NotExecutedProof),
    Unknown(UnknownReason),
}

/// Sends a request until the deadline; after it nothing is sent.
///
/// # Errors
/// [`NoAnswer`].
pub async fn send(request: RequestBuilder, deadline: Instant) -> Result<Answer, NoAnswer> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(NoAnswer::NotSent(NotExecutedProof::NothingSent));
    }
    let request = match traceparent() {
        Some(trace) => request.header(TRACEPARENT, trace),
        None => request,
    };
    let mut response = request.timeout(left).send().await.map_err(|error| no_answer(&error))?;
    let status = response.status();
    let headers = response.headers().clone();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
        if body.len() + chunk.len() > MAX_ANSWER_LEN {
            return Err(NoAnswer::Unknown(UnknownReason::Unreadable));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body })
}

/// A connection that was never made carried nothing. Any other failure may have come too late.
fn no_answer(error: &reqwest::Error) -> NoAnswer {
    if error.is_connect() {
        NoAnswer::NotSent(NotExecutedProof::NothingSent)
    } else if error.is_timeout() {
        NoAnswer::Unknown(UnknownReason::TimedOut)
    } else if error.is_decode() {
        NoAnswer::Unknown(UnknownReason::Unreadable)
    } else {
        NoAnswer::Unknown(UnknownReason::ConnectionLost)
    }
}
