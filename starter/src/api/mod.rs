//! The HTTP API. One endpoint is one file, with what it reads, what it answers and its tests.
//!
//! What never happens here: money moved by this process, a 5xx that is remembered, an error that
//! is not a problem document.

mod body;
mod create_order;
mod create_payment_intent;
mod decide_review;
mod headers;
mod healthz;
mod json;
mod list_reviews;
mod problem;
mod readyz;
mod request;
mod show_order;
mod show_payment_intent;
mod show_review;

use crate::operators::Operators;
use crate::temporal::Temporal;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
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
    pub operators: Operators,
    pub decision_key: SecretSlice<u8>,
    draining: AtomicBool,
}

impl App {
    #[must_use]
    pub(crate) fn new(
        store: Store,
        temporal: Temporal,
        operators: Operators,
        decision_key: SecretSlice<u8>,
    ) -> Self {
        Self { store, temporal, operators, decision_key, draining: AtomicBool::new(false) }
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
        .route("/v1/payment_intents", post(create_payment_intent::handle))
        .route("/v1/payment_intents/{id}", get(show_payment_intent::handle))
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
        (self.status, headers, Json(self.body)).into_response()
    }
}

#[cfg(test)]
mod tests;
