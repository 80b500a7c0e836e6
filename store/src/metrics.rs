//! What the store counts, for whichever process it runs in. It counts what it writes; where a
//! commit fails afterwards, the same is written and counted again.

use crate::Store;
use crate::error::{Doing, StoreError};
use crate::rows::Payment;
use domain::{ChannelKind, Effect, FailureClass, PaymentState, ReviewReason};
use prometheus::{
    IntCounterVec, IntGauge, IntGaugeVec, register_int_counter_vec, register_int_gauge,
    register_int_gauge_vec,
};
use std::sync::LazyLock;

/// The kinds of failed calls.
pub(crate) const BROKEN_RULE: &str = "broken_rule";
pub(crate) const UNAVAILABLE: &str = "unavailable";
/// Most payments that one look at what is unknown reads.
const MAX_UNKNOWN: i64 = 10_000;

static ENDED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Payments that came to an end.";
    counter("oncepay_payments_ended_total", help, &["outcome", "channel"])
});
static RECORDED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("oncepay_payments_recorded_total", "Payments that were begun.", &["channel"])
});
static CLAIMS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Rights to send a charge: the first, or another by the ground of its permit.";
    counter("oncepay_claims_total", help, &["ground"])
});
static REVIEWS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("oncepay_reviews_opened_total", "Questions for a person.", &["reason"])
});
static ERRORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("oncepay_database_errors_total", "Calls of the database that failed.", &["kind"])
});
static OPEN_REVIEWS: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Questions that wait for a person.";
    // Cannot fail: name and labels are constants, registered once.
    register_int_gauge_vec!("oncepay_open_reviews", help, &["reason"]).expect("a metric of ours")
});
static OVERDUE_REVIEWS: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Questions that have waited for a person longer than they may.";
    // Cannot fail: name and labels are constants, registered once.
    register_int_gauge_vec!("oncepay_overdue_reviews", help, &["reason"]).expect("a metric of ours")
});
static UNKNOWN: LazyLock<IntGauge> = LazyLock::new(|| {
    let help = "Payments whose outcome is unknown.";
    // Cannot fail: the name is a constant, registered once.
    register_int_gauge!("oncepay_unknown_payments", help).expect("a metric of ours")
});
static CONNECTIONS: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let (name, help) = ("oncepay_database_connections", "Connections of this process.");
    // Cannot fail: name and labels are constants, registered once.
    register_int_gauge_vec!(name, help, &["state"]).expect("a metric of ours")
});
static CONNECTIONS_LIMIT: LazyLock<IntGauge> = LazyLock::new(|| {
    let help = "Most connections that this process may have.";
    // Cannot fail: the name is a constant, registered once.
    register_int_gauge!("oncepay_database_connections_limit", help).expect("a metric of ours")
});
static OLDEST_UNKNOWN: LazyLock<IntGauge> = LazyLock::new(|| {
    let help = "Time since the first request of the oldest payment whose outcome is unknown.";
    // Cannot fail: the name is a constant, registered once.
    register_int_gauge!("oncepay_oldest_unknown_age_seconds", help).expect("a metric of ours")
});

fn counter(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    // Cannot fail: names and labels are constants, and each is registered once.
    register_int_counter_vec!(name, help, labels).expect("a metric of ours")
}

impl Store {
    /// Counts what waits for somebody, in time that has a bound: the open reviews by their reason,
    /// the payments whose outcome is unknown, and how long ago the oldest of them was first sent.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn measure_backlog(&self) -> Result<(), StoreError> {
        let open = sqlx::query!(
            r#"-- review.backlog
            SELECT
                reason,
                count(*) AS "count!",
                count(*) FILTER (WHERE remind_at <= clock_timestamp()) AS "overdue!"
            FROM review WHERE state = 'Open' GROUP BY reason"#,
        )
        .fetch_all(&self.pool)
        .await
        .doing("counting open reviews")?;
        let unknown = sqlx::query!(
            r#"-- payments.unknown
            SELECT
                count(*) AS "count!",
                EXTRACT(EPOCH FROM clock_timestamp() - min(first_sent_at))::bigint AS "oldest_s"
            FROM (SELECT first_sent_at FROM payment
                  WHERE attend_by IS NOT NULL AND state = 'Unknown'
                  ORDER BY attend_by LIMIT $1) AS unknown"#,
            MAX_UNKNOWN,
        )
        .fetch_one(&self.pool)
        .await
        .doing("looking for the oldest unknown outcome")?;
        for reason in ReviewReason::ALL {
            let found = open.iter().find(|row| row.reason == reason.as_str());
            let (count, overdue) = found.map_or((0, 0), |row| (row.count, row.overdue));
            OPEN_REVIEWS.with_label_values(&[reason.as_str()]).set(count);
            OVERDUE_REVIEWS.with_label_values(&[reason.as_str()]).set(overdue);
        }
        UNKNOWN.set(unknown.count);
        OLDEST_UNKNOWN.set(unknown.oldest_s.unwrap_or(0));
        Ok(())
    }

    /// Counts this process's connections; it asks nobody.
    pub fn measure_connections(&self) {
        let idle = i64::try_from(self.pool.num_idle()).unwrap_or(i64::MAX);
        CONNECTIONS.with_label_values(&["idle"]).set(idle);
        CONNECTIONS.with_label_values(&["in_use"]).set(i64::from(self.pool.size()) - idle);
        let limit = self.pool.options().get_max_connections();
        CONNECTIONS_LIMIT.set(i64::from(limit));
    }
}

/// Begins at zero what is rare and must be seen: a counter that first appears with its first event
/// has not grown, for whoever watches it.
pub(crate) fn begin() {
    for kind in [BROKEN_RULE, UNAVAILABLE] {
        ERRORS.with_label_values(&[kind]);
    }
    for reason in ReviewReason::ALL {
        REVIEWS.with_label_values(&[reason.as_str()]);
    }
}

/// A payment was begun.
pub(crate) fn recorded(channel: ChannelKind) {
    RECORDED.with_label_values(&[channel.as_str()]).inc();
}

/// A payment moved from one state to another.
pub(crate) fn moved(from: &str, payment: &Payment) {
    let outcome = outcome(&payment.state);
    if let Some(outcome) = outcome.filter(|_| from != payment.state.name()) {
        ENDED.with_label_values(&[outcome, payment.intent.channel.as_str()]).inc();
    }
}

pub(crate) fn claimed(permit: Option<&str>) {
    CLAIMS.with_label_values(&[permit.unwrap_or("first")]).inc();
}

pub(crate) fn review_opened(reason: ReviewReason) {
    REVIEWS.with_label_values(&[reason.as_str()]).inc();
}

pub(crate) fn failed(kind: &'static str) {
    ERRORS.with_label_values(&[kind]).inc();
}

/// The word for an end.
fn outcome(state: &PaymentState) -> Option<&'static str> {
    match state {
        PaymentState::Persisted { effect: Effect::Applied, .. } => Some("paid"),
        PaymentState::Persisted { effect: Effect::Surplus, .. } => Some("surplus"),
        PaymentState::Persisted { effect: Effect::Late, .. } => Some("late"),
        PaymentState::Failed { class } => Some(match class {
            FailureClass::Declined => "declined",
            FailureClass::DeclinedFinally => "declined_finally",
            FailureClass::NotExecuted => "not_executed",
            FailureClass::NotStarted => "not_started",
            FailureClass::ConfirmedNotPaid => "confirmed_not_paid",
        }),
        PaymentState::Closed => Some("closed"),
        PaymentState::Created
        | PaymentState::Processing { .. }
        | PaymentState::AwaitingPayer { .. }
        | PaymentState::Unknown
        | PaymentState::Succeeded { .. }
        | PaymentState::ManualReview { .. } => None,
    }
}
