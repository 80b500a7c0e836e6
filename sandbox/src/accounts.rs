//! The accounts of this channel and what each can do.

use anyhow::{Context, Result, ensure};
use aws_lc_rs::hmac;
use serde::Deserialize;
use std::collections::BTreeMap;

const MIN_SECRET_LEN: usize = 16;

#[derive(Debug, Deserialize)]
struct Settings {
    account: String,
    secret: String,
    idempotent: bool,
    lookup: bool,
    refuses_known_reference: bool,
}

pub(crate) struct Account {
    pub name: String,
    pub key: hmac::Key,
    /// The same reference with the same content gives the first answer.
    pub idempotent: bool,
    pub lookup: bool,
    pub refuses_known_reference: bool,
}

#[derive(Default)]
pub(crate) struct Accounts(BTreeMap<String, Account>);

impl Accounts {
    /// Reads a JSON list; fields that are not the sandbox's own are ignored.
    pub(crate) fn parse(json: &str) -> Result<Self> {
        let list: Vec<Settings> = serde_json::from_str(json).context("not a list of accounts")?;
        let mut accounts = Self::default();
        for settings in list {
            let name = settings.account;
            ensure!(!name.is_empty(), "account must not be empty");
            let secret = hex::decode(&settings.secret)
                .with_context(|| format!("account {name:?}: secret is not hex"))?;
            let long_enough = secret.len() >= MIN_SECRET_LEN;
            ensure!(long_enough, "account {name:?}: secret has less than {MIN_SECRET_LEN} bytes");
            let account = Account {
                name: name.clone(),
                key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
                idempotent: settings.idempotent,
                lookup: settings.lookup,
                refuses_known_reference: settings.refuses_known_reference,
            };
            let repeated = accounts.0.insert(name.clone(), account).is_some();
            ensure!(!repeated, "account {name:?} is there twice");
        }
        Ok(accounts)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Account> {
        self.0.get(name)
    }
}
