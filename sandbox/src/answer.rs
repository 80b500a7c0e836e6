//! An answer before it is sent, and how it is sealed: signed, signed wrongly, or not at all.
//!
//! Only here does a body become bytes, so that the signature always covers what is sent.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::account::Account;
use crate::sign;

const REPLAYED: &str = "x-sandbox-replayed";
/// A well-formed signature that no key gives.
const WRONG_SIGNATURE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seal {
    Signed,
    WronglySigned,
    /// Infrastructure in front of the channel speaks; it has no key.
    Bare,
}

#[derive(Clone, Debug)]
enum Body {
    Json(Value),
    Html(String),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// One word for the list of requests.
    pub outcome: String,
    body: Body,
    seal: Seal,
    replayed: bool,
}

impl Answer {
    pub fn ok(outcome: &str, body: Value) -> Self {
        Self {
            status: 200,
            outcome: outcome.to_owned(),
            body: Body::Json(body),
            seal: Seal::Signed,
            replayed: false,
        }
    }

    /// An error that says nothing about whether something was executed.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({ "error": code, "message": message });
        Self { status, ..Self::ok(code, body) }
    }

    /// An error with the channel's word that nothing was executed and nothing will be.
    pub fn not_executed(status: u16, code: &str, message: &str) -> Self {
        Self::error(status, code, message).with("executed", json!(false))
    }

    /// What a proxy in front of the channel says, whatever happened behind it.
    pub fn page(status: u16, title: &str) -> Self {
        let html = format!("<!doctype html><title>{title}</title><h1>{title}</h1>\n");
        Self { body: Body::Html(html), ..Self::error(status, "page", title) }.bare()
    }

    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        if let Body::Json(Value::Object(fields)) = &mut self.body {
            fields.insert(field.to_owned(), value);
        }
        self
    }

    /// Alters a field of a charge object; an error stays as it is.
    #[must_use]
    pub fn altered(self, field: &str, value: Value) -> Self {
        if self.status == 200 { self.with(field, value) } else { self }
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn replayed(mut self) -> Self {
        self.replayed = true;
        self
    }

    #[must_use]
    pub fn wrongly_signed(mut self) -> Self {
        self.seal = Seal::WronglySigned;
        self
    }

    #[must_use]
    pub fn bare(mut self) -> Self {
        self.seal = Seal::Bare;
        self
    }

    /// The body alone, to be put into another; a page has none.
    pub fn into_value(self) -> Value {
        match self.body {
            Body::Json(value) => value,
            Body::Html(_) => Value::Null,
        }
    }

    /// Seals the answer to the request with this nonce. Without an account there is no key.
    pub fn send(self, account: Option<&Account>, nonce: &str) -> Response {
        let (kind, bytes) = match self.body {
            Body::Json(value) => ("application/json", value.to_string().into_bytes()),
            Body::Html(text) => ("text/html; charset=utf-8", text.into_bytes()),
        };
        let timestamp = chrono::Utc::now().timestamp().to_string();
        let signature = match (self.seal, account) {
            (Seal::Signed, Some(account)) => {
                Some(account.key.answer(self.status, &timestamp, nonce, &bytes))
            }
            (Seal::WronglySigned, Some(_)) => Some(WRONG_SIGNATURE.to_owned()),
            (Seal::Bare, _) | (_, None) => None,
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let mut response = (status, bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if self.replayed {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        if let Some(signature) = signature {
            for (name, text) in [(sign::TIMESTAMP, timestamp), (sign::SIGNATURE, signature)] {
                // Cannot fail: both are digits and letters.
                let value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
                headers.insert(name, value);
            }
        }
        response
    }
}
