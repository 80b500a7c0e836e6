//! What a caller gets: a signed answer, a page of somebody's proxy, or nothing at all.

use crate::accounts::Account;
use crate::listener::Kill;
use crate::sign;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

/// Longest that a caller is kept waiting for an answer that never comes.
const MAX_HANG: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) enum Reply {
    Signed {
        status: u16,
        body: Value,
        replayed: bool,
    },
    Unsigned {
        status: u16,
        body: Value,
    },
    /// A page without a signature, as a proxy or a maintenance switch would show.
    Page {
        status: u16,
    },
    /// No answer, until the caller leaves.
    Hang,
    /// The connection ends without an answer.
    Cut,
}

impl Reply {
    pub(crate) fn ok(body: Value) -> Self {
        Self::Signed { status: 200, body, replayed: false }
    }

    /// An error that says nothing about execution.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        let body = json!({ "error": code, "message": code.replace('_', " ") });
        Self::Signed { status, body, replayed: false }
    }

    /// The channel's word that nothing was executed and nothing will be.
    pub(crate) fn not_executed(status: u16, code: &str, message: &str) -> Self {
        let body = json!({ "error": code, "message": message, "executed": false });
        Self::Signed { status, body, replayed: false }
    }

    /// One word for the record of requests.
    pub(crate) fn outcome(&self) -> String {
        match self {
            Self::Signed { status, .. } => status.to_string(),
            Self::Unsigned { status, .. } => format!("{status} unsigned"),
            Self::Page { status } => format!("{status} page"),
            Self::Hang => "no answer".to_owned(),
            Self::Cut => "cut".to_owned(),
        }
    }

    pub(crate) async fn send(
        self,
        signer: Option<(&Account, &str)>,
        kill: &Kill,
    ) -> Response<Body> {
        match self {
            Self::Signed { status, body, replayed } => {
                json_response(status, &body, signer, replayed)
            }
            Self::Unsigned { status, body } => json_response(status, &body, None, false),
            Self::Page { status } => {
                let page = "<html><body>Temporarily unavailable</body></html>";
                build(status, "text/html", page.as_bytes().to_vec(), &[])
            }
            Self::Hang => {
                tokio::time::sleep(MAX_HANG).await;
                kill.kill();
                build(504, "text/html", Vec::new(), &[])
            }
            Self::Cut => {
                kill.kill();
                build(500, "text/html", Vec::new(), &[])
            }
        }
    }
}

fn json_response(
    status: u16,
    body: &Value,
    signer: Option<(&Account, &str)>,
    replayed: bool,
) -> Response<Body> {
    let bytes = body.to_string().into_bytes();
    let mut headers = Vec::new();
    if let Some((account, nonce)) = signer {
        let timestamp = (sign::unix_ms() / 1_000).to_string();
        let signature = sign::sign_answer(account, status, &timestamp, nonce, &bytes);
        headers.push(("X-Sandbox-Timestamp", timestamp));
        headers.push(("X-Sandbox-Signature", signature));
    }
    if replayed {
        headers.push(("X-Sandbox-Replayed", "true".to_owned()));
    }
    build(status, "application/json", bytes, &headers)
}

fn build(
    status: u16,
    content_type: &str,
    body: Vec<u8>,
    headers: &[(&str, String)],
) -> Response<Body> {
    let mut response = Response::builder()
        .status(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
        .header("Content-Type", content_type);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    // Cannot fail: the names are ours, and the values are digits and hex.
    response.body(Body::from(body)).unwrap_or_default()
}
