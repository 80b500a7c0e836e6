//! The people who may decide reviews. Added with the owner's role; the API only asks whose a token
//! is.

use crate::Store;
use crate::error::{Doing, StoreError};
use chrono::{DateTime, Utc};
use domain::operator::{OperatorName, TokenDigest};

/// What to do with a name that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownName {
    Refuse,
    /// It gets the new token, and may decide again if it was disabled. What it proposed before
    /// does not count.
    Replace,
}

/// What came of adding an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedOperator {
    Added,
    NameTaken,
    /// Another operator has this token. Nothing was changed.
    TokenTaken,
}

/// An operator as others may see them.
#[derive(Clone, Debug)]
pub struct OperatorRecord {
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub disabled_at: Option<DateTime<Utc>>,
}

impl Store {
    /// Adds a person who may decide, or gives a known one another token.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_operator(
        &self,
        name: &OperatorName,
        token: &TokenDigest,
        known: KnownName,
    ) -> Result<AddedOperator, StoreError> {
        let added = sqlx::query!(
            r#"-- operator.add
            INSERT INTO operator (name, token_sha256) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE
            SET token_sha256 = $2, disabled_at = NULL,
                token_since = CASE
                    WHEN operator.token_sha256 = $2 AND operator.disabled_at IS NULL
                    THEN operator.token_since ELSE clock_timestamp()
                END
            WHERE $3"#,
            name.as_str(),
            token.as_bytes(),
            known == KnownName::Replace,
        )
        .execute(&self.pool)
        .await
        .doing("adding an operator");
        match added {
            Ok(added) if added.rows_affected() == 1 => Ok(AddedOperator::Added),
            Ok(_) => Ok(AddedOperator::NameTaken),
            Err(StoreError::BrokenRule { constraint, .. }) if constraint == "operator_token" => {
                Ok(AddedOperator::TokenTaken)
            }
            Err(error) => Err(error),
        }
    }

    /// From now on the operator's token proves nothing. Whoever is disabled already stays so since
    /// then. Returns false where there is no such operator.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn disable_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        let disabled = sqlx::query!(
            r#"-- operator.disable
            UPDATE operator SET disabled_at = coalesce(disabled_at, clock_timestamp())
            WHERE name = $1"#,
            name.as_str(),
        )
        .execute(&self.pool)
        .await
        .doing("disabling an operator")?;
        Ok(disabled.rows_affected() == 1)
    }

    /// # Errors
    /// [`StoreError`].
    pub async fn read_operators(&self) -> Result<Vec<OperatorRecord>, StoreError> {
        sqlx::query_as!(
            OperatorRecord,
            r#"-- operator.list
            SELECT name, created_at, disabled_at FROM operator ORDER BY name"#,
        )
        .fetch_all(&self.pool)
        .await
        .doing("reading operators")
    }

    /// Whose token this is. The digest is compared by the index: however long that takes says
    /// something about digests only, and nobody can make a token for a digest.
    ///
    /// # Errors
    /// [`StoreError`]: who asks is then not known, and nothing may be decided.
    pub async fn operator_of(
        &self,
        token: &TokenDigest,
    ) -> Result<Option<OperatorName>, StoreError> {
        let name = sqlx::query_scalar!(
            r#"-- operator.of_token
            SELECT name FROM operator WHERE token_sha256 = $1 AND disabled_at IS NULL"#,
            token.as_bytes(),
        )
        .fetch_optional(&self.pool)
        .await
        .doing("looking for an operator")?;
        let inconsistent = |_| StoreError::Inconsistent {
            table: "operator",
            column: "name",
            row: "the token's".to_owned(),
        };
        name.map(OperatorName::parse).transpose().map_err(inconsistent)
    }
}
