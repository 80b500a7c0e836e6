//! No float comes near money.

use super::repository::Finding;
use super::source::Source;

const CRATES: [&str; 4] = ["domain/", "channels/", "workflows/", "store/"];

pub fn floats(path: &str, text: &str) -> Vec<Finding> {
    // A metric is a float by its format, and none of ours is an amount.
    if !CRATES.iter().any(|name| path.starts_with(name)) || path.ends_with("/metrics.rs") {
        return Vec::new();
    }
    let source = Source::of(text);
    let mut findings = Vec::new();
    for (line, code) in (1..).zip(source.code.lines()) {
        for word in ["f32", "f64"] {
            let is_float = |at: usize| {
                let (before, after) = (&code[..at], &code[at + word.len()..]);
                // `1_f64` and `as_secs_f64` are floats, `buf64` and `f64x2` are other words.
                !before.ends_with(char::is_alphabetic)
                    && !after.starts_with(super::source::is_word)
                    && !is_interval(path, before, word, after)
            };
            if code.match_indices(word).any(|(at, _)| is_float(at)) {
                let what = format!("`{word}`: count in integers; money and time are exact here");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// Seconds for PostgreSQL's `make_interval(secs => …)`, which takes a float: only in `store`, and
/// only under a name that says so.
fn is_interval(path: &str, before: &str, word: &str, after: &str) -> bool {
    if !path.starts_with("store/") || word != "f64" {
        return false;
    }
    let in_seconds = before.ends_with("_s: ") || before.ends_with("_S: ");
    let of_duration = before.ends_with(".as_secs_") && after.starts_with("()");
    let attend_after = path == "store/src/rows.rs"
        && before.ends_with("attend_after: Option<")
        && after.starts_with('>');
    in_seconds || of_duration || attend_after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_found() {
        for (path, text) in [
            ("domain/src/a.rs", "let amount: f64 = x;"),
            ("domain/src/a.rs", "wait.as_secs_f64()"),
            ("channels/src/a.rs", "fn rate() -> f32"),
            ("workflows/src/a.rs", "1_f64"),
            ("store/src/a.rs", "amount: f64"),
            ("store/src/metrics_of_money.rs", "amount: f64"),
            ("store/src/a.rs", "call_limit_s: f32"),
            ("store/src/a.rs", "call_limit_s as f64"),
            ("store/src/a.rs", "attend_after: Option<f64>"),
            ("store/src/rows.rs", "amount: Option<f64>"),
        ] {
            assert_eq!(floats(path, text).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn seconds_for_the_database_and_other_crates_are_left_alone() {
        for (path, text) in [
            ("store/src/a.rs", "const LIMIT_S: f64 = 900.0;"),
            ("store/src/a.rs", "let limit_s = limit.as_secs_f64();"),
            ("store/src/rows.rs", "pub attend_after: Option<f64>,"),
            ("domain/src/a.rs", "// f64\nlet buf64 = \"f64\";"),
            ("dev/src/a.rs", "let ratio: f64 = x;"),
        ] {
            assert_eq!(floats(path, text), [], "{path}: {text}");
        }
    }
}
