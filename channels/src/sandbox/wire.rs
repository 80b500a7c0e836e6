//! The sandbox's own spelling. Nothing here is ours.

use domain::UnixMillis;
use serde::{Deserialize, Serialize};

/// An account as it is set up. The sandbox reads the same list and ignores what is only for us.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the capabilities are independent of each other")]
pub(super) struct AccountSettings {
    pub account: String,
    pub secret: secrecy::SecretString,
    pub idempotent: bool,
    pub lookup: bool,
    pub refuses_known_reference: bool,
    #[serde(default = "yes")]
    pub close: bool,
    #[serde(default = "day")]
    pub idempotency_window_s: u64,
    #[serde(default)]
    pub lookup_complete: bool,
    pub grace_ms: u64,
    pub call_limit_ms: u64,
}

fn yes() -> bool {
    true
}

fn day() -> u64 {
    86_400
}

#[derive(Debug, Serialize)]
pub(super) struct ChargeBody<'a> {
    pub reference: &'a str,
    pub amount: u64,
    pub currency: &'a str,
    pub payment_method: &'a str,
    pub description: String,
    pub pay_before: String,
}

/// A charge as the sandbox shows it.
#[derive(Debug, Deserialize)]
pub(super) struct ChargeObject {
    pub reference: String,
    pub transaction: Option<String>,
    pub status: String,
    pub amount: u64,
    pub currency: String,
    pub decline_code: Option<String>,
    pub decline_final: Option<bool>,
    pub action: Option<Action>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    pub kind: String,
    pub url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ErrorBody {
    pub error: String,
    /// Present and false only where it is the channel's word that nothing was executed.
    pub executed: Option<bool>,
    pub charge: Option<ChargeObject>,
}

/// `2026-12-01T10:05:30Z`, the form in which the sandbox takes an instant.
pub(super) fn rfc3339(at: UnixMillis) -> String {
    let seconds = at.0.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
