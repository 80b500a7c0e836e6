//! Who asks: the one place in which a token becomes an operator's name.

use super::App;
use super::headers;
use super::problem::{ApiError, Code};
use axum::http::HeaderMap;

/// The operator whose token the request brings.
///
/// # Errors
/// 401 without a token, or with one that is nobody's.
pub(super) fn operator_of(app: &App, headers: &HeaderMap) -> Result<String, ApiError> {
    let operator = headers::bearer(headers).and_then(|token| app.operators.authenticate(token));
    operator.map(str::to_owned).ok_or_else(|| {
        let detail = "send an operator's token: Authorization: Bearer TOKEN";
        ApiError::new(Code::Unauthenticated, detail)
    })
}
