//! Timeouts and retries of every activity call, by name. None runs out silently: an activity that
//! may be repeated is repeated for ever, and time alone never makes a payment a failure.

use std::time::Duration;
use temporalio_common::RetryPolicy;
use temporalio_workflow::{
    ActivityOptions, LocalActivityOptions, TimerOptions, WorkflowCancellationToken,
};

/// Longest run of `charge`: the longest call limit of a channel (30 s), and the time of two
/// transactions that are each run three times.
const CHARGE_LIMIT: Duration = Duration::from_secs(90);
/// That the worker of a charge, a lookup or a decision is gone is noticed after this. The first
/// beat comes after a second, so a worker that is merely slow is rarely taken for dead; and being
/// taken for dead is harmless.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// One call to the channel (at most 30 s), perhaps a close after it, and a transaction.
const ASK_LIMIT: Duration = Duration::from_secs(90);
/// One transaction.
const ROW_LIMIT: Duration = Duration::from_secs(15);
const FULFIL_LIMIT: Duration = Duration::from_secs(30);
/// The first attempt to fulfil runs inside the workflow task that saw the money.
const FULFIL_INLINE_LIMIT: Duration = Duration::from_secs(2);

fn for_ever(first: Duration, longest: Duration) -> RetryPolicy {
    RetryPolicy::builder().initial_interval(first).maximum_interval(longest).build()
}

fn quick() -> RetryPolicy {
    for_ever(Duration::from_millis(200), Duration::from_secs(2))
}

/// Each command has its own token: a cancelled workflow still writes down what it knows.
fn detached() -> WorkflowCancellationToken {
    WorkflowCancellationToken::new()
}

pub(crate) fn charge() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(CHARGE_LIMIT)
        .heartbeat_timeout(HEARTBEAT)
        .retry_policy(quick())
        .cancellation_token(detached())
        .build()
}

/// For what asks the channel: a lookup, and a decision that closes the reference first.
pub(crate) fn ask() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(ASK_LIMIT)
        .heartbeat_timeout(HEARTBEAT)
        .retry_policy(quick())
        .cancellation_token(detached())
        .build()
}

pub(crate) fn row() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(ROW_LIMIT)
        .retry_policy(quick())
        .cancellation_token(detached())
        .build()
}

pub(crate) fn fulfil() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(FULFIL_LIMIT)
        .retry_policy(for_ever(Duration::from_secs(1), Duration::from_secs(60)))
        .cancellation_token(detached())
        .build()
}

pub(crate) fn fulfil_inline() -> LocalActivityOptions {
    LocalActivityOptions::builder()
        .start_to_close_timeout(FULFIL_INLINE_LIMIT)
        .schedule_to_close_timeout(FULFIL_INLINE_LIMIT)
        .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
        .cancellation_token(detached())
        .build()
}

pub(crate) fn timer(wait: Duration, token: &WorkflowCancellationToken, why: &str) -> TimerOptions {
    TimerOptions::builder(wait).summary(why.to_owned()).cancellation_token(token.clone()).build()
}
