//! The accounts of this channel: what each may do, and the secret it signs with.
//!
//! Read once at the start. A bad list stops the start; nothing here ever shows a secret.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::sign::Key;

const MAX_ACCOUNTS: usize = 100;
const MAX_NAME_LEN: usize = 64;
/// An HMAC-SHA256 key shorter than 16 bytes could be guessed; longer than its block adds nothing.
const SECRET_LEN: std::ops::RangeInclusive<usize> = 16..=64;

/// A year: longer than any channel promises.
const MAX_WINDOW_SECONDS: i64 = 366 * 86_400;

/// One account and what the channel promises it.
#[expect(clippy::struct_excessive_bools, reason = "the promises are independent of each other")]
pub struct Account {
    pub name: String,
    pub key: Key,
    pub idempotent: bool,
    /// How long a known reference gives its charge again; absent for ever.
    pub idempotency_window: Option<TimeDelta>,
    pub lookup: bool,
    pub close: bool,
    pub refuses_known_reference: bool,
}

pub struct Accounts(HashMap<String, Arc<Account>>);

impl Accounts {
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the accounts file {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("in the accounts file {}", file.display()))
    }

    pub fn parse(text: &str) -> Result<Self> {
        let list: Vec<Value> = serde_json::from_str(text).context("not a JSON list of accounts")?;
        ensure!((1..=MAX_ACCOUNTS).contains(&list.len()), "1 to {MAX_ACCOUNTS} accounts are taken");
        let mut accounts = HashMap::new();
        for (index, entry) in list.iter().enumerate() {
            let account =
                Account::parse(entry).with_context(|| format!("account {}", index + 1))?;
            let name = account.name.clone();
            if accounts.insert(name.clone(), Arc::new(account)).is_some() {
                bail!("account {}: field `account`: {name} is there twice", index + 1);
            }
        }
        Ok(Self(accounts))
    }

    pub fn get(&self, name: &str) -> Option<Arc<Account>> {
        self.0.get(name).cloned()
    }
}

impl Account {
    fn parse(entry: &Value) -> Result<Self> {
        let name = text(entry, "account")?;
        let printable = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        ensure!(
            printable && (1..=MAX_NAME_LEN).contains(&name.len()),
            "field `account`: must be 1 to {MAX_NAME_LEN} characters of A-Z, a-z, 0-9, _, - and ."
        );
        // The cause is left out: it would show a part of the secret.
        let secret = hex::decode(text(entry, "secret")?).ok();
        let secret = secret.filter(|secret| SECRET_LEN.contains(&secret.len()));
        let secret = secret.context("field `secret`: must be 16 to 64 bytes in hex")?;
        Ok(Self {
            name: name.to_owned(),
            key: Key::new(&secret),
            idempotent: flag(entry, "idempotent")?,
            idempotency_window: window(entry)?,
            lookup: flag(entry, "lookup")?,
            close: entry["close"].is_null() || flag(entry, "close")?,
            refuses_known_reference: flag(entry, "refuses_known_reference")?,
        })
    }

    /// Whether a charge that was made at this time is given again to whoever repeats its request.
    pub fn gives_again(&self, created_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        self.idempotent && self.idempotency_window.is_none_or(|window| now < created_at + window)
    }
}

fn text<'a>(entry: &'a Value, field: &str) -> Result<&'a str> {
    entry[field].as_str().with_context(|| format!("field `{field}`: must be a string"))
}

fn flag(entry: &Value, field: &str) -> Result<bool> {
    entry[field].as_bool().with_context(|| format!("field `{field}`: must be true or false"))
}

fn window(entry: &Value) -> Result<Option<TimeDelta>> {
    let field = "idempotency_window_s";
    if entry[field].is_null() {
        return Ok(None);
    }
    let seconds = entry[field].as_i64().filter(|s| (1..=MAX_WINDOW_SECONDS).contains(s));
    let rule = || format!("field `{field}`: must be 1 to {MAX_WINDOW_SECONDS} seconds");
    seconds.map(TimeDelta::seconds).map(Some).with_context(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry() -> Value {
        json!({ "account": "main", "secret": "00".repeat(16), "idempotent": true,
            "lookup": false, "refuses_known_reference": true, "grace_ms": 2000 })
    }

    #[test]
    fn a_good_list_is_read_and_foreign_fields_are_ignored() {
        let accounts = Accounts::parse(&json!([entry()]).to_string()).unwrap();
        let main = accounts.get("main").unwrap();
        assert!(main.idempotent && !main.lookup && main.refuses_known_reference);
        assert!(main.close && main.idempotency_window.is_none(), "what an old list promises");
        assert!(accounts.get("other").is_none());
    }

    #[test]
    fn a_charge_is_given_again_until_its_window_is_over() {
        let mut entry = entry();
        entry["idempotency_window_s"] = json!(60);
        let account = Account::parse(&entry).unwrap();
        let made = DateTime::UNIX_EPOCH;
        for (seconds, again) in [(0, true), (59, true), (60, false), (61, false)] {
            assert_eq!(account.gives_again(made, made + TimeDelta::seconds(seconds)), again);
        }
        entry["idempotent"] = json!(false);
        assert!(!Account::parse(&entry).unwrap().gives_again(made, made));
    }

    #[test]
    fn a_bad_list_is_refused_by_the_name_of_its_field_and_shows_no_secret() {
        let wrong = [
            ("account", json!("")),
            ("account", json!("a b")),
            ("account", Value::Null),
            ("secret", json!("5ec2e7zz")),
            ("secret", json!("5ec2e7")),
            ("secret", json!(5)),
            ("idempotent", json!("yes")),
            ("lookup", Value::Null),
            ("refuses_known_reference", json!(1)),
            ("close", json!("no")),
            ("idempotency_window_s", json!(0)),
            ("idempotency_window_s", json!(31_622_401)),
            ("idempotency_window_s", json!("60")),
        ];
        for (field, value) in wrong {
            let mut entry = entry();
            entry[field] = value;
            let error = Accounts::parse(&json!([entry]).to_string()).err().unwrap();
            let text = format!("{error:#}");
            assert!(text.contains(&format!("account 1: field `{field}`")), "{text}");
            assert!(!text.contains("5ec2e7"), "{text}");
        }
        assert!(Accounts::parse(&json!([entry(), entry()]).to_string()).is_err());
        for text in ["[]", "{}", "[", ""] {
            assert!(Accounts::parse(text).is_err(), "{text}");
        }
    }
}
