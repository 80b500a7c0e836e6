//! The schema. Migrations only go forward and are safe while the code before them still runs.

use crate::Store;
use crate::error::{Doing, StoreError};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;

static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// The role that owns the schema.
pub const OWNER_ROLE: &str = "oncepay_owner";

/// The number of the last migration that this program knows.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0)
}

impl Store {
    /// Applies what is missing. Two at once wait for each other; a third finds nothing to do.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; what was applied before stays.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        MIGRATOR
            .run(&self.pool)
            .await
            .map_err(|error| sqlx::Error::Migrate(Box::new(error)))
            .doing("migrating the schema")
    }
}

/// Creates the owner's role and the database where they are missing. For a laptop and for tests;
/// in production an administrator does this once.
///
/// # Errors
/// [`StoreError`] when the address is wrong or the role may not create databases.
pub async fn create_database(admin_url: &str, database: &str) -> Result<(), StoreError> {
    const DOING: &str = "creating the database";
    let name_is_plain = !database.is_empty()
        && database.len() <= 63
        && database.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !name_is_plain {
        let source = sqlx::Error::Configuration("a database name is a-z, 0-9 and _".into());
        return Err(StoreError::Unavailable { doing: DOING, source });
    }
    let options = PgConnectOptions::from_str(admin_url).doing(DOING)?;
    let mut admin = options.connect().await.doing(DOING)?;
    let statements = [
        (format!("CREATE ROLE {OWNER_ROLE} LOGIN CREATEROLE"), ["42710", "23505"]),
        (format!("CREATE DATABASE {database} OWNER {OWNER_ROLE}"), ["42P04", "23505"]),
    ];
    for (statement, already_there) in statements {
        // Safe: the only variable part was checked above to be a plain name.
        let result = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await;
        let known = |error: &sqlx::Error| {
            let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
            code.is_some_and(|code| already_there.contains(&code.as_ref()))
        };
        match result {
            Err(error) if !known(&error) => return Err(StoreError::of(DOING, error)),
            _ => {}
        }
    }
    admin.close().await.doing(DOING)
}
