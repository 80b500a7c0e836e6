//! Every error of the API: one type. Its codes are in `code.rs`.

pub(crate) use super::code::Code;

use super::request::RequestId;
use crate::temporal::TemporalError;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use store::StoreError;
use workflows::payment::messages::{Refusal, code};

/// When a caller may ask again after a 503.
const RETRY_AFTER_S: &str = "1";

/// An error of the API. Its answer gets the request's id where the request is accompanied.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    code: Code,
    word: Cow<'static, str>,
    detail: String,
    field: Option<String>,
    more: Map<String, Value>,
    cause: Option<Arc<anyhow::Error>>,
}

impl ApiError {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            word: Cow::Borrowed(code.row().word),
            detail: detail.into(),
            field: None,
            more: Map::new(),
            cause: None,
        }
    }

    /// The body or a header has something that is no value of its field.
    pub(crate) fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, detail).field(field)
    }

    pub(crate) fn field(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    /// A decision's refusal has its own word.
    pub(crate) fn word(self, word: String) -> Self {
        Self { word: Cow::Owned(word), ..self }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A failure of ours. The cause is logged and not told.
    pub(crate) fn internal(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(Code::InternalError, "this request failed on our side; it was logged")
            .because(cause)
    }

    fn because(self, cause: impl Into<anyhow::Error>) -> Self {
        Self { cause: Some(Arc::new(cause.into())), ..self }
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// Logs the whole chain, once.
    pub(super) fn log(&self, id: &RequestId) {
        if let Some(cause) = &self.cause {
            let chain = format!("{cause:#}");
            if self.code == Code::InternalError {
                tracing::error!(request.id = id.as_str(), error = chain, "request failed");
            } else {
                tracing::warn!(request.id = id.as_str(), error = chain, "request refused for now");
            }
        }
    }

    /// The problem document.
    pub(super) fn to_json(&self, id: &RequestId) -> Value {
        let mut problem = self.more.clone();
        let row = self.code.row();
        problem.insert("type".to_owned(), json!(format!("urn:oncepay:problem:{}", self.word)));
        problem.insert("title".to_owned(), json!(row.title));
        problem.insert("status".to_owned(), json!(row.status));
        problem.insert("detail".to_owned(), json!(self.detail));
        problem.insert("code".to_owned(), json!(self.word));
        problem.insert("request_id".to_owned(), json!(id.as_str()));
        if let Some(field) = &self.field {
            problem.insert("field".to_owned(), json!(field));
        }
        Value::Object(problem)
    }

    /// Writes the problem document into the answer that carries this error. Its other headers,
    /// such as `Allow`, stay.
    pub(super) fn render(&self, id: &RequestId, mut response: Response) -> Response {
        *response.body_mut() = Body::from(format!("{}\n", self.to_json(id)));
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        match self.code.status() {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            let detail = "the database does not answer; send the same request again";
            Self::new(Code::DatabaseUnavailable, detail).because(error)
        } else {
            Self::internal(error)
        }
    }
}

impl From<TemporalError> for ApiError {
    fn from(error: TemporalError) -> Self {
        match error {
            TemporalError::Unavailable { .. } => {
                let detail = "Temporal does not answer; send the same request again under the \
                              same key";
                Self::new(Code::TemporalUnavailable, detail).because(error)
            }
            TemporalError::NoWorker { .. } => {
                let detail = "the payment's workflow did not answer in time; whether it has the \
                              request is not known; send the same request again under the same key";
                Self::new(Code::WorkerUnavailable, detail).because(error)
            }
            TemporalError::Rejected { .. } => Self::internal(error),
        }
    }
}

/// A run that was refused before it recorded anything.
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code.as_str() {
            code::INVALID_INPUT => Code::InvalidInput,
            code::WORKFLOW_ID_MISMATCH => Code::WorkflowIdMismatch,
            code::IDEMPOTENCY_CONFLICT => Code::IdempotencyConflict,
            code::ORDER_NOT_FOUND => Code::OrderNotFound,
            code::ORDER_BUSY => Code::OrderBusy,
            code::ORDER_NOT_PAYABLE => Code::OrderNotPayable,
            code::AMOUNT_DIFFERS => Code::AmountDiffers,
            code::UNKNOWN_ACCOUNT => Code::UnknownAccount,
            _ => return Self::internal(anyhow::anyhow!("{}: {}", refusal.code, refusal.message)),
        };
        let mut error = Self::new(code, refusal.message);
        if let Some(field) = refusal.field {
            error = error.field(field);
        }
        match refusal.payment {
            Some(payment) => error.with("payment", payment),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> RequestId {
        RequestId::parse("r-1").expect("valid")
    }

    fn refusal(code: &str) -> Refusal {
        Refusal {
            code: code.to_owned(),
            message: "no".to_owned(),
            field: Some("amount".to_owned()),
            payment: Some("pay_x".to_owned()),
        }
    }

    #[test]
    fn a_refusal_keeps_its_code_and_has_its_status() {
        for (code, status) in [
            (code::INVALID_INPUT, 400),
            (code::WORKFLOW_ID_MISMATCH, 400),
            (code::ORDER_NOT_FOUND, 404),
            (code::ORDER_BUSY, 409),
            (code::ORDER_NOT_PAYABLE, 409),
            (code::IDEMPOTENCY_CONFLICT, 422),
            (code::AMOUNT_DIFFERS, 422),
            (code::UNKNOWN_ACCOUNT, 422),
        ] {
            let problem = ApiError::from(refusal(code)).to_json(&id());
            assert_eq!(problem["code"], code);
            assert_eq!(problem["status"], status, "{code}");
            assert_eq!(problem["type"], format!("urn:oncepay:problem:{code}"));
            assert_eq!(
                (&problem["field"], &problem["payment"]),
                (&json!("amount"), &json!("pay_x"))
            );
            assert_eq!(problem["request_id"], "r-1");
        }
    }

    #[test]
    fn what_is_not_the_callers_fault_is_not_told() {
        for code in [code::BROKEN_RULE, "anything"] {
            let problem = ApiError::from(refusal(code)).to_json(&id());
            assert_eq!(
                (&problem["status"], &problem["code"]),
                (&json!(500), &json!("internal_error"))
            );
            assert!(!problem.to_string().contains(code));
        }
    }

    #[test]
    fn what_may_pass_is_503_with_a_time_to_ask_again() {
        let cause = || anyhow::anyhow!("refused");
        let unavailable = TemporalError::Unavailable { doing: "trying", source: cause() };
        let error = ApiError::from(unavailable);
        let answer = error.clone().into_response();
        let answer = error.render(&id(), answer);
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()[header::RETRY_AFTER], RETRY_AFTER_S);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
        let rejected = TemporalError::Rejected { doing: "trying", source: cause() };
        assert_eq!(ApiError::from(rejected).code(), Code::InternalError);
        let missing = StoreError::Missing { what: "order", id: "x".to_owned() };
        assert_eq!(ApiError::from(missing).code(), Code::InternalError);
    }
}
