//! The part of `docs/SETTINGS.md` about the worker, printed from its own arguments.

use crate::config::Config;
use clap::{Arg, CommandFactory};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const PAGE: &str = "docs/SETTINGS.md";
const MARKS: [&str; 2] = ["<!-- begin: worker -->\n", "<!-- end: worker -->\n"];

/// Every argument with its variable.
fn settings() -> BTreeMap<String, Arg> {
    let command = Config::command();
    let named = |arg: &Arg| Some((arg.get_env()?.to_string_lossy().into_owned(), arg.clone()));
    command.get_arguments().filter_map(named).collect()
}

fn table() -> String {
    let mut table = "| setting | argument | if absent | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, arg) in settings() {
        let defaults = arg.get_default_values().iter();
        let defaults: Vec<_> =
            defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect();
        let is_required = arg.is_required_set() || arg.is_hide_env_values_set();
        let default = match defaults.as_slice() {
            // A secret is required here or in its file.
            [] if is_required => "required".to_owned(),
            [] => "–".to_owned(),
            some => some.join(","),
        };
        let flag = arg.get_long().map_or_else(|| "–".to_owned(), |long| format!("`--{long}`"));
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace('|', "\\|");
        let _ = writeln!(table, "| `{name}` | {flag} | {default} | {help} |");
    }
    table
}

#[test]
fn the_page_of_settings_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (head, rest) = page.split_once(MARKS[0]).expect("the mark of the beginning");
    let (old, tail) = rest.split_once(MARKS[1]).expect("the mark of the end");
    let fresh = table();
    if std::env::var("UPDATE_GENERATED").is_ok_and(|value| value == "1") {
        let page = format!("{head}{}{fresh}{}{tail}", MARKS[0], MARKS[1]);
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(old, fresh, "`UPDATE_GENERATED=1 cargo test --workspace --bins` writes {PAGE} anew");
}

#[test]
fn every_secret_may_be_in_a_file_and_every_setting_has_a_meaning() {
    let all = settings();
    let is_secret = |arg: &Arg| arg.is_hide_env_values_set();
    let secrets: Vec<_> = all.iter().filter(|(_, arg)| is_secret(arg)).collect();
    assert!(secrets.len() >= 2, "{secrets:?}");
    for (name, _) in secrets {
        assert!(all.contains_key(&format!("{name}_FILE")), "{name}");
    }
    for (name, arg) in &all {
        assert!(arg.get_help().is_some(), "{name}");
        let told = name.trim_start_matches("ONCEPAY_").to_lowercase().replace('_', "-");
        assert_eq!(arg.get_long(), Some(told.as_str()), "the page says how {name} is an argument");
        let word = ["TOKEN", "KEY", "PASSWORD", "SECRET", "DATABASE_URL", "ADMIN_URL"];
        let looks_secret = word.iter().any(|word| name.ends_with(word));
        assert_eq!(looks_secret, is_secret(arg), "{name}");
    }
}
