//! The commands that ask the API, and those that prepare the database. Tables for people, the
//! API's own JSON for programs.

pub(crate) mod catalog;
mod client;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod migrate;
pub(crate) mod operator;
pub(crate) mod pay;
pub(crate) mod resume;
pub(crate) mod review;
mod span;
pub(crate) mod status;
mod table;
pub(crate) mod trace;

use serde_json::Value;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use table::table;

/// What a shell says of a program whose reader left (128 + SIGPIPE), as for other tools.
const READER_LEFT: i32 = 141;
const NOT_WRITTEN: i32 = 1;

/// Prints for whoever asked. A reader that has seen enough (`| head`) ends the command quietly.
fn say(text: impl Display) {
    if let Some(status) = write(&mut std::io::stdout().lock(), text) {
        std::process::exit(status);
    }
}

/// Writes a line; the exit status if that did not work.
fn write(out: &mut impl Write, text: impl Display) -> Option<i32> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => None,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Some(READER_LEFT),
        Err(error) => {
            eprintln!("oncepay: writing the answer: {error}");
            Some(NOT_WRITTEN)
        }
    }
}

/// Prints JSON for a program.
fn print_json(value: &Value) {
    // Cannot fail: a JSON value has string keys only.
    say(serde_json::to_string_pretty(value).unwrap_or_default());
}

/// A field as a person reads it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An amount as a person reads it: `CNY 19.99`.
fn money(amount: &Value, currency: &Value) -> String {
    let known = currency.as_str().and_then(|code| domain::Currency::parse(code).ok());
    let money = amount
        .as_u64()
        .zip(known)
        .and_then(|(amount, currency)| domain::Money::new(amount, currency).ok());
    money.map_or_else(|| cell(amount), |money| money.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reader_that_has_left_ends_the_program_and_no_other_does() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert_eq!(write(&mut writer, "read"), None);
        drop(reader);
        assert_eq!(write(&mut writer, "not read"), Some(READER_LEFT));
    }

    #[test]
    fn a_person_reads_exact_amounts() {
        assert_eq!(money(&json!(1999), &json!("CNY")), "CNY 19.99");
        assert_eq!(money(&json!(1999), &json!("JPY")), "JPY 1999");
        assert_eq!(money(&json!(null), &json!("CNY")), "-");
    }
}
