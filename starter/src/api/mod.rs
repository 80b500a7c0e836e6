//! The HTTP API. One endpoint is one file, with what it reads, what it answers and its tests.
//!
//! What never happens here: money moved by this process, a 5xx that is remembered, an error that
//! is not a problem document.

mod body;
mod create_order;
mod create_payment_intent;
mod decide_review;
mod explain_payment_intent;
mod headers;
mod healthz;
mod json;
mod list_reviews;
mod operator;
mod problem;
mod readyz;
mod request;
mod resume_payment_intent;
mod show_order;
mod show_payment_intent;
mod show_review;
mod trace_order;

use crate::temporal::Temporal;
use crate::web_ui::WebUi;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use problem::{ApiError, Code};
use secrecy::SecretSlice;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;

/// What every endpoint may use.
pub(crate) struct App {
    pub store: Store,
    pub temporal: Temporal,
    pub decision_key: SecretSlice<u8>,
    /// Where people look at workflows, if that is known.
    pub web_ui: Option<WebUi>,
    draining: AtomicBool,
}

impl App {
    #[must_use]
    pub(crate) fn new(store: Store, temporal: Temporal, decision_key: SecretSlice<u8>) -> Self {
        let draining = AtomicBool::new(false);
        Self { store, temporal, decision_key, web_ui: None, draining }
    }

    #[must_use]
    pub(crate) fn with_web_ui(self, web_ui: Option<WebUi>) -> Self {
        Self { web_ui, ..self }
    }

    /// From now on the process says that it is not ready.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// Every path that is answered.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(healthz::handle))
        .route("/readyz", get(readyz::handle))
        .route("/v1/orders", post(create_order::handle))
        .route("/v1/orders/{id}", get(show_order::handle))
        .route("/v1/orders/{id}/trace", get(trace_order::handle))
        .route("/v1/payment_intents", post(create_payment_intent::handle))
        .route("/v1/payment_intents/{id}", get(show_payment_intent::handle))
        .route("/v1/payment_intents/{id}/explain", get(explain_payment_intent::handle))
        .route("/v1/payment_intents/{id}/resume", post(resume_payment_intent::handle))
        .route("/v1/reviews", get(list_reviews::handle))
        .route("/v1/reviews/{id}", get(show_review::handle))
        .route("/v1/reviews/{id}/decisions", post(decide_review::handle))
        .fallback(|| async { ApiError::new(Code::NotFound, "there is nothing under this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(Code::MethodNotAllowed, "this path does not take this method")
        })
        .layer(DefaultBodyLimit::max(body::MAX_BODY_LEN))
        .layer(axum::middleware::from_fn(request::accompany))
        .with_state(app)
}

/// A resource as an answer.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    body: Value,
    replayed: bool,
    location: Option<String>,
}

impl Answer {
    fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body, replayed: false, location: None }
    }

    fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The request had been made before.
    fn replayed(self) -> Self {
        Self { replayed: true, ..self }
    }

    fn at(self, location: String) -> Self {
        Self { location: Some(location), ..self }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::new();
        if self.replayed {
            headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        // Cannot fail: locations are made of our own paths and ids.
        if let Some(Ok(location)) = self.location.map(HeaderValue::try_from) {
            headers.insert(header::LOCATION, location);
        }
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        // The newline is for whoever reads the answer in a terminal.
        (self.status, headers, format!("{}\n", self.body)).into_response()
    }
}

#[cfg(test)]
mod tests;
