//! Times and durations as a person reads them. Times are UTC, as on the record.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

/// A time of the API's.
pub(super) fn instant(value: &Value) -> Option<DateTime<Utc>> {
    let parsed = DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
    Some(parsed.with_timezone(&Utc))
}

/// `2026-12-01 04:00:00 UTC`; a dash where there is none.
pub(super) fn time(value: &Value) -> String {
    instant(value)
        .map_or_else(|| "-".to_owned(), |at| at.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// How long ago a time was: `3 min`.
pub(super) fn age(value: &Value, now: DateTime<Utc>) -> String {
    instant(value).map_or_else(|| "-".to_owned(), |at| span(now - at))
}

/// How far ahead a time is: `in 3 min`, or `3 min ago`.
pub(super) fn ahead(value: &Value, now: DateTime<Utc>) -> String {
    match instant(value) {
        None => "-".to_owned(),
        Some(at) if at >= now => format!("in {}", span(at - now)),
        Some(at) => format!("{} ago", span(now - at)),
    }
}

/// A duration in its two largest units.
pub(super) fn span(length: TimeDelta) -> String {
    let seconds = length.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// The time between two steps, exact to the millisecond while that says something.
pub(super) fn step(length: TimeDelta) -> String {
    let milliseconds = length.num_milliseconds().max(0);
    if milliseconds < 60_000 {
        format!("+{}.{:03} s", milliseconds / 1_000, milliseconds % 1_000)
    } else {
        format!("+{}", span(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_are_short_and_never_negative() {
        for (seconds, text) in
            [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_500, "2 h 5 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(span(TimeDelta::seconds(seconds)), text);
        }
        assert_eq!(step(TimeDelta::milliseconds(1_203)), "+1.203 s");
        assert_eq!(step(TimeDelta::milliseconds(61_000)), "+1 min");
    }

    #[test]
    fn a_time_is_utc_and_says_whether_it_has_passed() {
        let at = json!("2026-12-01T05:00:30.500+01:00");
        let now = instant(&json!("2026-12-01T04:02:30.500Z")).expect("a time");
        assert_eq!(time(&at), "2026-12-01 04:00:30 UTC");
        assert_eq!((age(&at, now).as_str(), ahead(&at, now).as_str()), ("2 min", "2 min ago"));
        assert_eq!(ahead(&json!("2026-12-01T04:03:00Z"), now), "in 29 s");
        assert_eq!(time(&json!(null)), "-");
    }
}
