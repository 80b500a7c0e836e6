//! Maintenance windows: while one lasts, the channel says so and executes nothing.
//!
//! A window ends by its own time, by whoever began it, or with the process.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Accounts;
use crate::answer::Answer;

const MAX_SECONDS: i64 = 86_400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    account: Option<String>,
    seconds: i64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// Absent for all accounts.
    account: Option<String>,
    until: DateTime<Utc>,
}

/// At most one for each account, and one for all of them.
#[derive(Default)]
pub struct Windows(Vec<Window>);

impl Windows {
    /// Begins a window now, in place of one for the same account.
    pub fn begin(
        &mut self,
        wanted: Wanted,
        accounts: &Accounts,
        now: DateTime<Utc>,
    ) -> Result<Window, String> {
        let Wanted { account, seconds } = wanted;
        if !(1..=MAX_SECONDS).contains(&seconds) {
            return Err(format!("seconds must be 1 to {MAX_SECONDS}"));
        }
        if account.as_ref().is_some_and(|name| accounts.get(name).is_none()) {
            return Err("there is no such account".to_owned());
        }
        self.0.retain(|window| window.account != account);
        let window = Window { account, until: now + TimeDelta::seconds(seconds) };
        self.0.push(window.clone());
        Ok(window)
    }

    /// When the account's maintenance ends, if it is under any.
    pub fn until(&self, account: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let hit = |window: &&Window| window.account.as_deref().is_none_or(|name| name == account);
        self.lasting(now).filter(hit).map(|window| window.until).max()
    }

    pub fn list(&self, now: DateTime<Utc>) -> Vec<&Window> {
        self.lasting(now).collect()
    }

    pub fn end(&mut self) {
        self.0.clear();
    }

    fn lasting(&self, now: DateTime<Utc>) -> impl Iterator<Item = &Window> {
        self.0.iter().filter(move |window| now < window.until)
    }
}

/// The channel's word: this request was not executed. About an earlier one it says nothing.
pub fn answer(until: DateTime<Utc>) -> Answer {
    let message = "the channel is under maintenance";
    Answer::not_executed(503, "maintenance", message).with("until", json!(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lasts_until_its_end_and_the_later_of_two_counts() {
        let accounts = json!([{ "account": "a", "secret": "00".repeat(16), "idempotent": true,
            "lookup": true, "refuses_known_reference": true }]);
        let accounts = Accounts::parse(&accounts.to_string()).unwrap();
        let start = DateTime::UNIX_EPOCH;
        let at = |seconds| start + TimeDelta::seconds(seconds);
        let mut windows = Windows::default();
        let mut begin = |account: Option<&str>, seconds| {
            let account = account.map(str::to_owned);
            windows.begin(Wanted { account, seconds }, &accounts, start).map(|window| window.until)
        };
        assert_eq!(begin(Some("a"), 60), Ok(at(60)));
        assert_eq!(begin(Some("a"), 10), Ok(at(10)), "in place of the first");
        assert_eq!(begin(None, 20), Ok(at(20)));
        assert!(begin(Some("nobody"), 1).is_err());
        assert!(begin(None, 0).is_err() && begin(None, MAX_SECONDS + 1).is_err());
        for (seconds, until) in [(0, Some(at(20))), (19, Some(at(20))), (20, None)] {
            assert_eq!(windows.until("a", at(seconds)), until);
            assert_eq!(windows.until("b", at(seconds)), until);
        }
        assert_eq!(windows.list(at(5)).len(), 2);
        assert_eq!(windows.list(at(15)).len(), 1, "one that is over is not listed");
        windows.end();
        assert_eq!(windows.until("a", start), None);
    }
}
