//! What can go wrong in the store, by what the caller does next.

use crate::metrics;
use domain::IllegalTransition;

/// A failure of the store. A refusal (a business no) is not among them: it is an answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// PostgreSQL did not answer, or its answer was lost. Do it again: every write of this crate
    /// recognises itself.
    #[error("{doing}: the database is not available")]
    Unavailable { doing: &'static str, source: sqlx::Error },
    /// A constraint that the code should never meet. Not retried; an alarm.
    #[error("{doing}: the rule {constraint:?} would be broken")]
    BrokenRule { doing: &'static str, constraint: String, source: sqlx::Error },
    /// A row that is no state of ours.
    #[error("{table}.{column} of {row} holds something that is no value of ours")]
    Inconsistent { table: &'static str, column: &'static str, row: String },
    /// News that can never come in this state: a bug in the caller.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// A row that must be there is not.
    #[error("{what} {id} is not there")]
    Missing { what: &'static str, id: String },
    /// A row was changed by somebody who did not hold its lock.
    #[error("{doing}: expected to change {expected} row, changed {actual}")]
    RowsAffected { doing: &'static str, expected: u64, actual: u64 },
}

impl StoreError {
    /// Wraps an error of the driver: a violated constraint or bad data is a broken rule. All else
    /// may pass: an outage by itself, a missing right when an administrator gives it back.
    pub(crate) fn of(doing: &'static str, source: sqlx::Error) -> Self {
        let broken = source.as_database_error().and_then(|error| {
            let code = error.code().unwrap_or_default();
            // Classes 22 and 23: bad data, a constraint.
            let ours = ["22", "23"].iter().any(|class| code.starts_with(class));
            ours.then(|| error.constraint().unwrap_or(&code).to_owned())
        });
        metrics::failed(if broken.is_some() { metrics::BROKEN_RULE } else { metrics::UNAVAILABLE });
        match broken {
            Some(constraint) => Self::BrokenRule { doing, constraint, source },
            None => Self::Unavailable { doing, source },
        }
    }

    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

/// Adds what was attempted to an error of the driver.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for Result<T, sqlx::Error> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::of(doing, source))
    }
}

/// Checks that exactly one row changed.
pub(crate) fn exactly_one(
    doing: &'static str,
    result: &sqlx::postgres::PgQueryResult,
) -> Result<(), StoreError> {
    rows(doing, result.rows_affected())
}

/// The same, where the statement itself counted.
pub(crate) fn exactly_one_row(doing: &'static str, count: i64) -> Result<(), StoreError> {
    rows(doing, u64::try_from(count).unwrap_or_default())
}

fn rows(doing: &'static str, actual: u64) -> Result<(), StoreError> {
    if actual == 1 { Ok(()) } else { Err(StoreError::RowsAffected { doing, expected: 1, actual }) }
}
