//! A small client of the API. It never repeats a request by itself: whoever does keeps the key.

use crate::settings::ApiArgs;
use anyhow::{Context, bail};
use reqwest::{Method, StatusCode, header, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// The API answers within about 5 s, also when it only knows that it does not know.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

const TOKEN_WANTED: &str = "the API knows no operator by this token: give one by --token or \
    ONCEPAY_OPERATOR_TOKEN, as `oncepay operator add` printed it";

pub(super) struct Client {
    http: reqwest::Client,
    api: Url,
}

/// A request that changes something.
pub(super) struct Post<'a> {
    pub path: &'a str,
    pub key: &'a str,
    pub token: Option<&'a SecretString>,
    pub body: &'a Value,
}

/// An answer that is not a problem.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub body: Value,
}

impl Client {
    pub(super) fn new(args: &ApiArgs) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(ANSWER_LIMIT)
            .redirect(redirect::Policy::none())
            .build()
            .context("preparing an HTTP client")?;
        Ok(Self { http, api: args.api.clone() })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api.as_str().trim_end_matches('/'))
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.http.request(Method::GET, self.url(path));
        Ok(self.send(request).await?.body)
    }

    pub(super) async fn post(&self, post: Post<'_>) -> anyhow::Result<Answer> {
        let mut request = self.http.request(Method::POST, self.url(post.path)).json(post.body);
        request = request.header("idempotency-key", quote(post.key));
        if let Some(token) = post.token {
            let mut value =
                header::HeaderValue::try_from(format!("Bearer {}", token.expose_secret()))
                    .ok()
                    .context("the operator's token has characters that no token has")?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        self.send(request).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Answer> {
        let response = request.send().await.with_context(|| {
            format!("no answer from the API at {}; the same request may be sent again", self.api)
        })?;
        let status = response.status();
        let body: Value = response.json().await.context("the API's answer is not JSON")?;
        if status.is_success() {
            return Ok(Answer { status, body });
        }
        bail!("{}", explain(status, &body));
    }
}

/// A key that begins with a quote would be read as a structured string, so it is sent as one.
fn quote(key: &str) -> String {
    if key.starts_with('"') {
        format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        key.to_owned()
    }
}

/// A problem document as one line.
fn explain(status: StatusCode, problem: &Value) -> String {
    let text = |name: &str| problem[name].as_str();
    let detail = match status {
        // The API speaks of a header, which nobody types here.
        StatusCode::UNAUTHORIZED => TOKEN_WANTED,
        _ => text("detail").unwrap_or("no detail"),
    };
    let code = text("code").unwrap_or("no code");
    let field = text("field").map(|field| format!(", field {field}")).unwrap_or_default();
    let request = text("request_id").unwrap_or("-");
    format!("{detail} ({} {code}{field}, request {request})", status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_problem_is_one_line_with_its_code_and_field() {
        let problem = json!({
            "detail": "amount is missing", "code": "invalid_input", "field": "amount",
            "request_id": "r-1",
        });
        let line = explain(StatusCode::BAD_REQUEST, &problem);
        assert_eq!(line, "amount is missing (400 invalid_input, field amount, request r-1)");
        let unknown = explain(StatusCode::UNAUTHORIZED, &problem);
        assert!(unknown.contains("--token") && unknown.contains("ONCEPAY_OPERATOR_TOKEN"));
        assert!(explain(StatusCode::BAD_GATEWAY, &json!(null)).contains("502"));
    }

    #[test]
    fn a_key_arrives_as_it_was_given() {
        assert_eq!(quote("abc"), "abc");
        assert_eq!(quote(r#""a\b""#), r#""\"a\\b\"""#);
    }
}
