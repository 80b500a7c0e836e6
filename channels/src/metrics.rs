//! What the channels are asked, and what they answer. No label holds a reference or an account.

use domain::channel::{ChargeAnswer, CloseAnswer, LookupAnswer};
use prometheus::{
    HistogramVec, IntCounterVec, histogram_opts, register_histogram_vec, register_int_counter_vec,
};
use std::sync::LazyLock;
use std::time::Duration;

/// From a channel beside us to the longest call limit.
const DURATIONS_S: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 30.0];

static CALLS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests to channels, by what became of them.";
    let labels = &["channel", "operation", "outcome"];
    // Cannot fail: name and labels are constants, registered once.
    register_int_counter_vec!("oncepay_channel_calls_total", help, labels).expect("a metric")
});
static DURATION: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time until a channel's answer, or until there was none.";
    let name = "oncepay_channel_call_duration_seconds";
    let opts = histogram_opts!(name, help, DURATIONS_S.into());
    // Cannot fail: name and labels are constants, registered once.
    register_histogram_vec!(opts, &["channel", "operation"]).expect("a metric")
});

/// Counts one call.
pub(crate) fn called(channel: &str, operation: &str, outcome: &str, took: Duration) {
    CALLS.with_label_values(&[channel, operation, outcome]).inc();
    DURATION.with_label_values(&[channel, operation]).observe(took.as_secs_f64());
}

pub(crate) fn of_charge(answer: &ChargeAnswer) -> &'static str {
    match answer {
        ChargeAnswer::Succeeded { .. } => "succeeded",
        ChargeAnswer::Declined { .. } => "declined",
        ChargeAnswer::AwaitingPayer { .. } => "awaiting_payer",
        ChargeAnswer::NotExecuted { .. } => "not_executed",
        ChargeAnswer::Unknown { .. } => "unknown",
    }
}

pub(crate) fn of_lookup(answer: &LookupAnswer) -> &'static str {
    match answer {
        LookupAnswer::Succeeded { .. } => "succeeded",
        LookupAnswer::Failed { .. } => "declined",
        LookupAnswer::Closed => "closed",
        LookupAnswer::Open { .. } => "open",
        LookupAnswer::NotFound => "not_found",
        LookupAnswer::Unknown { .. } => "unknown",
    }
}

pub(crate) fn of_close(answer: &CloseAnswer) -> &'static str {
    match answer {
        CloseAnswer::Closed => "closed",
        CloseAnswer::Succeeded { .. } => "succeeded",
        CloseAnswer::Unknown { .. } => "unknown",
    }
}
