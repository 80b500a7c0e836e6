//! What is tried again, what is refused, and what is a bug.

use domain::PaymentId;
use std::time::Duration;
use store::StoreError;
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{Refusal, code};

/// The intent is refused: the run ends with this code, and its key stays free.
pub(crate) fn refused(refusal: Refusal) -> ActivityError {
    ApplicationFailure::builder(refusal.message.clone())
        .type_name(refusal.code.clone())
        .non_retryable(true)
        .details(refusal)
        .build()
        .into()
}

/// A failure of the store. Its message names what was attempted; the cause goes to the log only,
/// because a failure's text stays in the workflow's history in clear.
pub(crate) fn store(payment: &PaymentId, error: &StoreError) -> ActivityError {
    if error.is_transient() {
        tracing::warn!(payment.id = %payment, error = ?error, "the database is not available");
        return ApplicationFailure::builder(error.to_string())
            .type_name("database_unavailable".to_owned())
            .build()
            .into();
    }
    tracing::error!(payment.id = %payment, error = ?error, "ALARM: a rule was about to be broken");
    ApplicationFailure::builder(error.to_string())
        .type_name(code::BROKEN_RULE.to_owned())
        .non_retryable(true)
        .build()
        .into()
}

/// A failure that must not end the run, because the news would be lost with it: tried again, after
/// a longer wait where it is no outage.
pub(crate) fn kept(payment: &PaymentId, error: &StoreError, wait: Duration) -> ActivityError {
    if error.is_transient() {
        return store(payment, error);
    }
    tracing::error!(payment.id = %payment, error = ?error, "ALARM: news cannot be written down");
    ApplicationFailure::builder(error.to_string())
        .type_name(code::BROKEN_RULE.to_owned())
        .next_retry_delay(wait)
        .build()
        .into()
}

/// Not now; the same call may work later.
pub(crate) fn again(kind: &'static str, message: String) -> ActivityError {
    ApplicationFailure::builder(message).type_name(kind.to_owned()).build().into()
}
