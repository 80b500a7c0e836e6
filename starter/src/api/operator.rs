//! Whose token a request brings. Who asks is proved here and nowhere else.

use super::App;
use super::headers::bearer;
use super::problem::{ApiError, Code};
use axum::http::{HeaderMap, header};
use domain::operator::{OperatorName, TokenDigest};

/// The operator whose token the request brings.
///
/// # Errors
/// 401 where there is none, and 503 while PostgreSQL, which knows them, is away.
pub(super) async fn operator_of(app: &App, headers: &HeaderMap) -> Result<OperatorName, ApiError> {
    let token = bearer(headers).and_then(|token| TokenDigest::of(token).ok());
    let token = token.ok_or_else(unauthenticated)?;
    app.store.operator_of(&token).await?.ok_or_else(unauthenticated)
}

/// The operator, or nobody where the request brings no proof of who asks: a business service.
///
/// # Errors
/// As [`operator_of`], for a request that brings something.
pub(super) async fn operator_or_service(
    app: &App,
    headers: &HeaderMap,
) -> Result<Option<OperatorName>, ApiError> {
    if headers.contains_key(header::AUTHORIZATION) {
        operator_of(app, headers).await.map(Some)
    } else {
        Ok(None)
    }
}

fn unauthenticated() -> ApiError {
    ApiError::new(Code::Unauthenticated, "send an operator's token: Authorization: Bearer TOKEN")
}
