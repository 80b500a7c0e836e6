//! What the API shows of orders, payments and reviews. Amounts are integer minor units, time is
//! RFC 3339 in UTC. A field is never removed and never changes its meaning.

mod event;
pub(crate) mod explain;
pub(crate) mod order;
pub(crate) mod payment;
pub(crate) mod review;
pub(crate) mod trace;

use chrono::{DateTime, SecondsFormat, Utc};

/// RFC 3339 in UTC with milliseconds.
pub(crate) fn rfc3339(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
