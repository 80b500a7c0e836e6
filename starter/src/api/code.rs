//! The codes of the API's problems: one table. It is the contract: a code keeps its status and its
//! meaning. The API's document and `docs/API.md` are printed from it.

use axum::http::StatusCode;
use workflows::payment::messages::code;

/// What went wrong, for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    InvalidInput,
    MalformedJson,
    IdempotencyKeyMissing,
    WorkflowIdMismatch,
    Unauthenticated,
    NotFound,
    OrderNotFound,
    PaymentNotFound,
    ReviewNotFound,
    MethodNotAllowed,
    RequestTimeout,
    OrderBusy,
    OrderNotPayable,
    OutOfStock,
    DecisionOvertaken,
    BodyTooLarge,
    PathTooLong,
    UnsupportedMediaType,
    IdempotencyConflict,
    AmountDiffers,
    UnknownAccount,
    UnknownMerchant,
    UnknownProduct,
    CouponNotUsable,
    TotalNotPayable,
    DecisionRefused,
    HeadersTooLarge,
    InternalError,
    DatabaseUnavailable,
    TemporalUnavailable,
    WorkerUnavailable,
}

/// A row of the table.
pub(crate) struct Row {
    pub word: &'static str,
    pub status: u16,
    pub title: &'static str,
    /// What a caller does about it.
    pub advice: &'static str,
}

/// In the order of the codes' declaration.
const TABLE: [(Code, Row); 31] = [
    (
        Code::InvalidInput,
        row(
            code::INVALID_INPUT,
            400,
            "The request is not valid",
            "mend what `field` names; `detail` says the rule",
        ),
    ),
    (
        Code::MalformedJson,
        row(
            "malformed_json",
            400,
            "The body is not JSON",
            "send one JSON object; `detail` says where it breaks",
        ),
    ),
    (
        Code::IdempotencyKeyMissing,
        row(
            "idempotency_key_missing",
            400,
            "The Idempotency-Key header is missing",
            "draw a key for what you want done, store it, and send it with every repetition",
        ),
    ),
    (
        Code::WorkflowIdMismatch,
        row(
            code::WORKFLOW_ID_MISMATCH,
            400,
            "The workflow id is not the intent's",
            "start the workflow under `payment/{merchant}/{key}` of its own input",
        ),
    ),
    (
        Code::Unauthenticated,
        row(
            "unauthenticated",
            401,
            "Who asks is not proved",
            "send an operator's token: `Authorization: Bearer TOKEN`",
        ),
    ),
    (
        Code::NotFound,
        row("not_found", 404, "Not found", "check the path; `/docs` lists those that are answered"),
    ),
    (
        Code::OrderNotFound,
        row(code::ORDER_NOT_FOUND, 404, "There is no such order", "check the order's id"),
    ),
    (
        Code::PaymentNotFound,
        row(
            "payment_not_found",
            404,
            "There is no such payment",
            "check the payment's id; neither PostgreSQL nor Temporal knows it",
        ),
    ),
    (
        Code::ReviewNotFound,
        row("review_not_found", 404, "There is no such review", "check the review's id"),
    ),
    (
        Code::MethodNotAllowed,
        row(
            "method_not_allowed",
            405,
            "Method not allowed",
            "use a method that the header `Allow` names",
        ),
    ),
    (
        Code::RequestTimeout,
        row(
            "request_timeout",
            408,
            "The body did not arrive in time",
            "send the same request again under the same key",
        ),
    ),
    (
        Code::OrderBusy,
        row(
            code::ORDER_BUSY,
            409,
            "Another payment of the order is open",
            "follow the payment that `payment` names; a new one may start once it has failed",
        ),
    ),
    (
        Code::OrderNotPayable,
        row(
            code::ORDER_NOT_PAYABLE,
            409,
            "The order cannot be paid",
            "stop: it is paid, finished or too late, or the channel said not to try again",
        ),
    ),
    (
        Code::OutOfStock,
        row(
            "out_of_stock",
            409,
            "Not enough in stock",
            "order less of what `sku` names, or later; the key is still free",
        ),
    ),
    (
        Code::DecisionOvertaken,
        row(
            "decision_overtaken",
            409,
            "The review has moved on",
            "read the review again and decide about what it says now",
        ),
    ),
    (
        Code::BodyTooLarge,
        row(
            "body_too_large",
            413,
            "The body is too large",
            "send less; `docs/API.md` has the limits",
        ),
    ),
    (
        Code::PathTooLong,
        row(
            "path_too_long",
            414,
            "The path is too long",
            "send a shorter path and query; `docs/API.md` has the limits",
        ),
    ),
    (
        Code::UnsupportedMediaType,
        row(
            "unsupported_media_type",
            415,
            "The body must be application/json",
            "send `Content-Type: application/json`",
        ),
    ),
    (
        Code::IdempotencyConflict,
        row(
            code::IDEMPOTENCY_CONFLICT,
            422,
            "The key was used for another request",
            "`field` names what differs: repeat the first request, or draw a new key",
        ),
    ),
    (
        Code::AmountDiffers,
        row(
            code::AMOUNT_DIFFERS,
            422,
            "The amount is not what the order costs",
            "read the order's `payable` and show it to the payer",
        ),
    ),
    (
        Code::UnknownAccount,
        row(
            code::UNKNOWN_ACCOUNT,
            422,
            "There is no such account at the channel",
            "use an account that the worker was set up with",
        ),
    ),
    (
        Code::UnknownMerchant,
        row(
            "unknown_merchant",
            422,
            "There is no such merchant",
            "load the merchant: `oncepay catalog import`",
        ),
    ),
    (
        Code::UnknownProduct,
        row(
            "unknown_product",
            422,
            "There is no such product",
            "order what the merchant has; `sku` names what it has not",
        ),
    ),
    (
        Code::CouponNotUsable,
        row(
            "coupon_not_usable",
            422,
            "The coupon cannot be used",
            "order without it, or with another one",
        ),
    ),
    (
        Code::TotalNotPayable,
        row(
            "total_not_payable",
            422,
            "The total cannot be paid",
            "order something that costs at least one minor unit, and no more than the limit",
        ),
    ),
    (
        Code::DecisionRefused,
        row(
            "decision_refused",
            422,
            "The decision is refused",
            "`code` is the rule that forbids it; nothing was changed",
        ),
    ),
    (
        Code::HeadersTooLarge,
        row(
            "headers_too_large",
            431,
            "The headers are too many or too large",
            "send fewer headers; `docs/API.md` has the limits",
        ),
    ),
    (
        Code::InternalError,
        row(
            "internal_error",
            500,
            "Something is wrong on our side",
            "tell us `request_id`; whether it was done is not known, so keep the key",
        ),
    ),
    (
        Code::DatabaseUnavailable,
        row(
            "database_unavailable",
            503,
            "The database is not available",
            "send the same request again under the same key, after `Retry-After`",
        ),
    ),
    (
        Code::TemporalUnavailable,
        row(
            "temporal_unavailable",
            503,
            "Temporal is not available",
            "send the same request again under the same key, after `Retry-After`",
        ),
    ),
    (
        Code::WorkerUnavailable,
        row(
            "worker_unavailable",
            503,
            "No worker answered in time",
            "send the same request again under the same key, after `Retry-After`",
        ),
    ),
];

impl Code {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(code, _)| *code)
    }

    pub(crate) fn row(self) -> &'static Row {
        // Cannot fail: a test holds that every code stands at its place.
        &TABLE[self as usize].1
    }

    pub(crate) fn status(self) -> StatusCode {
        // Cannot fail: every status of the table is a valid one.
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The words that a problem with this code may carry. A refused decision says which rule.
    pub(crate) fn words(self) -> Vec<&'static str> {
        if self == Self::DecisionRefused {
            return code::OF_DECISIONS.to_vec();
        }
        vec![self.row().word]
    }
}

const fn row(word: &'static str, status: u16, title: &'static str, advice: &'static str) -> Row {
    Row { word, status, title, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_no_word_stands_twice() {
        for (place, code) in Code::all().enumerate() {
            assert_eq!(code as usize, place, "{code:?}");
            assert_eq!(code.status().as_u16(), code.row().status);
        }
        assert_eq!(Code::WorkerUnavailable as usize + 1, TABLE.len(), "the last one");
        let mut words: Vec<_> = Code::all().map(|code| code.row().word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), TABLE.len());
    }
}
