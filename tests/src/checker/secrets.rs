//! What must not be written down anywhere.

use super::Evidence;
use crate::World;
use crate::settings::{DECISION_KEY, OPERATORS, SECRET};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// A history as anybody can read it: inputs and results are base64 in its JSON.
pub(super) fn in_plain(history: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(history).into_owned();
    let mut left = vec![serde_json::from_slice(history).unwrap_or(Value::Null)];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => left.extend(fields.into_iter().map(|(_, value)| value)),
            Value::Array(values) => left.extend(values),
            Value::String(coded) => {
                let bytes = BASE64_STANDARD.decode(coded).unwrap_or_default();
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    text
}

impl World {
    /// Every row of every table, as text.
    pub(super) async fn written_rows(&self) -> Vec<String> {
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'",
        )
        .fetch_all(&self.rows)
        .await
        .expect("the checker reads the tables");
        let mut texts = Vec::new();
        for table in tables {
            let sql = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM \"{table}\" t");
            let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&self.rows).await;
            texts.push(rows.expect("the checker reads the rows"));
        }
        texts
    }
}

impl Evidence {
    /// The API answers nothing that its document does not promise.
    pub(super) fn the_api_keeps_its_promise(&self, broken: &mut Vec<String>) {
        let lines = self.texts.iter().flat_map(|text| text.lines());
        let unpromised = lines.filter(|line| line.contains("ALARM: an answer without a promise"));
        broken.extend(unpromised.map(|line| format!("the API's document: {line}")));
    }

    /// L15: no secret is in a row, a history or a log.
    pub(super) fn no_secret_is_written_down(&self, broken: &mut Vec<String>) {
        let tokens = OPERATORS.into_iter().map(|(_, token)| token);
        let secrets = tokens.chain([SECRET, DECISION_KEY]);
        for secret in secrets {
            if self.texts.iter().any(|text| text.contains(secret)) {
                let shown = &secret[..4];
                broken.push(format!("L15: the secret that begins with {shown} is written down"));
            }
        }
    }
}
