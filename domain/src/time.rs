//! An instant as a number, so that histories, rows and messages carry the same one.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// This instant and `wait` more; saturates at the end of time.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(wait_ms))
    }

    /// How long it is from this instant to a later one; zero when that has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        let wait_ms = later.0.saturating_sub(self.0);
        Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0))
    }
}
