//! The HTTP API. One endpoint is one file, with what it reads, what it answers and its tests.
//!
//! What never happens here: money moved by this process, a 5xx that is remembered, an error that
//! is not a problem document.

mod body;
pub(crate) mod code;
mod create_order;
mod create_payment_intent;
mod decide_review;
mod explain_payment_intent;
mod headers;
mod healthz;
mod json;
pub(crate) mod limits;
mod list_reviews;
pub(crate) mod operation;
mod operator;
mod page;
mod problem;
mod readyz;
mod request;
mod resume_payment_intent;
mod show_docs;
mod show_document;
mod show_order;
mod show_payment_intent;
mod show_review;
mod trace_order;

use crate::temporal::Temporal;
use crate::web_ui::WebUi;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, on};
use operation::Operation;
use problem::{ApiError, Code};
use secrecy::SecretSlice;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
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

/// Every endpoint, with what it promises.
fn routes() -> Vec<(&'static Operation, MethodRouter<Arc<App>>)> {
    vec![
        at(&healthz::OPERATION, healthz::handle),
        at(&readyz::OPERATION, readyz::handle),
        at(&show_document::OPERATION, show_document::handle),
        at(&show_docs::OPERATION, show_docs::handle),
        at(&create_order::OPERATION, create_order::handle),
        at(&show_order::OPERATION, show_order::handle),
        at(&trace_order::OPERATION, trace_order::handle),
        at(&create_payment_intent::OPERATION, create_payment_intent::handle),
        at(&show_payment_intent::OPERATION, show_payment_intent::handle),
        at(&explain_payment_intent::OPERATION, explain_payment_intent::handle),
        at(&resume_payment_intent::OPERATION, resume_payment_intent::handle),
        at(&list_reviews::OPERATION, list_reviews::handle),
        at(&show_review::OPERATION, show_review::handle),
        at(&decide_review::OPERATION, decide_review::handle),
    ]
}

fn at<T: 'static>(
    operation: &'static Operation,
    handler: impl Handler<T, Arc<App>>,
) -> (&'static Operation, MethodRouter<Arc<App>>) {
    (operation, on(operation.verb.filter(), handler))
}

/// What the endpoints promise.
pub(crate) fn operations() -> &'static [&'static Operation] {
    static ALL: LazyLock<Vec<&Operation>> =
        LazyLock::new(|| routes().into_iter().map(|(operation, _)| operation).collect());
    &ALL
}

/// Every path that is answered.
pub(crate) fn router(app: Arc<App>) -> Router {
    let paths = routes()
        .into_iter()
        .fold(Router::new(), |router, (operation, handler)| router.route(operation.path, handler));
    paths
        .fallback(|| async { ApiError::new(Code::NotFound, "there is nothing under this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(Code::MethodNotAllowed, "this path does not take this method")
        })
        .layer(DefaultBodyLimit::max(limits::MAX_BODY_LEN))
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

#[cfg(test)]
pub(crate) mod samples {
    //! What the document's tests hold against it.

    use super::{Code, Value, create_order, decide_review, problem, request};

    /// A problem for each code.
    pub(crate) fn problems() -> Vec<Value> {
        let id = request::RequestId::parse("r-1").expect("valid");
        let problem = |code: Code| {
            let error = problem::ApiError::new(code, "because");
            code.words().into_iter().map(|word| error.clone().word(word.to_owned())).collect()
        };
        let errors = Code::all().flat_map(|code| -> Vec<_> { problem(code) });
        errors.map(|error| error.to_json(&id)).collect()
    }

    /// The fields of an order, of its lines and of a decision.
    pub(crate) const FIELDS: [&[&str]; 3] =
        [create_order::FIELDS, create_order::LINE_FIELDS, decide_review::FIELDS];
}
