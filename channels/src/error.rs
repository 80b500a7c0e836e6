//! Settings that cannot be used. Answers of a channel are never errors: what is not known is
//! `Unknown`.

/// Why a channel's settings stop the start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{what} is not a list of accounts")]
    NotAList { what: &'static str, source: serde_json::Error },
    #[error("account {account:?}: {field} {rule}")]
    Invalid { account: String, field: &'static str, rule: String },
    #[error("account {account:?} is there twice")]
    Repeated { account: String },
    #[error("{what} is not an http or https address")]
    Address { what: &'static str },
    #[error("building the HTTP client")]
    Client(#[source] reqwest::Error),
}
