//! PostgreSQL: the only crate that runs SQL. Every transaction is short, holds no network call,
//! and recognises itself when it is run again after a lost commit answer.
//!
//! Locks are always taken in one order: order, payment, stock by product, coupon.

pub mod catalog;
mod claims;
pub mod decisions;
mod effects;
pub mod error;
pub mod exchanges;
pub mod explained;
pub mod fulfilment;
mod locks;
pub mod metrics;
pub mod migrate;
mod news;
pub mod operators;
mod order_moves;
pub mod orders;
pub mod payments;
pub mod reads;
pub mod reviews;
mod rows;
pub mod settle_payment;
pub mod trace;

pub use error::StoreError;

use error::Doing;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};
use std::str::FromStr;
use std::time::Duration;

/// How long one call waits for a free connection before PostgreSQL counts as unavailable.
pub const ACQUIRE_LIMIT: Duration = Duration::from_secs(2);
/// A connection that was used so short a time ago is not tested before it is used again: each test
/// is a round trip, and whoever meets a dead connection tries again anyway.
const TEST_AFTER: Duration = Duration::from_secs(1);
/// How long one statement may run, and how long it may wait for a lock.
pub const STATEMENT_LIMIT_MS: u32 = 5_000;

/// A pool of connections under one role. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

impl Store {
    /// Prepares a pool; the first query connects, so that a process starts while PostgreSQL is
    /// down and is ready once it is back.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the address cannot be read.
    pub fn connect_lazy(url: &str, max_connections: u32) -> Result<Self, StoreError> {
        Self::connect(url, max_connections, &[])
    }

    /// The same for a process that runs payments. Their statements find rows by key, so one plan
    /// of each serves all: PostgreSQL plans it once for a connection, not five times and more.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the address cannot be read.
    pub fn connect_for_payments(url: &str, max_connections: u32) -> Result<Self, StoreError> {
        Self::connect(url, max_connections, &[("plan_cache_mode", "force_generic_plan")])
    }

    fn connect(
        url: &str,
        max_connections: u32,
        settings: &[(&str, &str)],
    ) -> Result<Self, StoreError> {
        let limit = STATEMENT_LIMIT_MS.to_string();
        let options = PgConnectOptions::from_str(url)
            .doing("reading the database address")?
            .application_name("oncepay")
            .options([
                ("statement_timeout", limit.as_str()),
                ("lock_timeout", limit.as_str()),
                // A process that froze inside a transaction does not hold its locks for ever.
                ("idle_in_transaction_session_timeout", limit.as_str()),
                ("tcp_user_timeout", limit.as_str()),
            ])
            .options(settings.iter().copied());
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(ACQUIRE_LIMIT)
            .test_before_acquire(false)
            .before_acquire(|connection, met| {
                Box::pin(async move {
                    if met.idle_for >= TEST_AFTER {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        metrics::begin();
        Ok(Self { pool })
    }

    /// Whether PostgreSQL answers and its schema is at least the one this program was built for.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], or [`StoreError::Missing`] for a migration not yet applied.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let applied = sqlx::query_scalar!(
            r#"-- schema.version
            SELECT max(version) AS "version" FROM _sqlx_migrations WHERE success"#
        )
        .fetch_one(&self.pool)
        .await
        .doing("reading the schema's version")?;
        let needed = migrate::newest_version();
        if applied.unwrap_or(0) >= needed {
            Ok(())
        } else {
            Err(StoreError::Missing { what: "migration", id: needed.to_string() })
        }
    }

    /// Closes every connection; calls after it fail as unavailable.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
