//! The part of `docs/SETTINGS.md` about `oncepay`, printed from its own arguments.

use crate::settings::Cli;
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const PAGE: &str = "docs/SETTINGS.md";
const MARKS: [&str; 2] = ["<!-- begin: oncepay -->\n", "<!-- end: oncepay -->\n"];

/// Every argument with a variable, under the commands that read it.
fn settings() -> BTreeMap<String, (Arg, Vec<String>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), Cli::command())];
    while let Some((path, command)) = left.pop() {
        for arg in command.get_arguments() {
            let Some(name) = arg.get_env() else { continue };
            let name = name.to_string_lossy().into_owned();
            let (_, readers) = found.entry(name).or_insert_with(|| (arg.clone(), Vec::new()));
            readers.push(path.clone());
        }
        let below = |sub: &Command| (format!("{path} {}", sub.get_name()), sub.clone());
        left.extend(command.get_subcommands().map(below));
    }
    found
}

fn table() -> String {
    let mut table =
        "| setting | argument | if absent | meaning | read by |\n|---|---|---|---|---|\n"
            .to_owned();
    for (name, (arg, mut readers)) in settings() {
        readers.sort();
        let readers = match readers.as_slice() {
            [first, _, _, _, ..] => format!("`{}` and others", first.trim()),
            few => few.iter().map(|one| format!("`{}`", one.trim())).collect::<Vec<_>>().join(", "),
        };
        let defaults = arg.get_default_values().iter();
        let defaults: Vec<_> =
            defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect();
        let default = match defaults.as_slice() {
            [] if arg.is_required_set() => "required".to_owned(),
            [] => "–".to_owned(),
            some => some.join(","),
        };
        let flag = arg.get_long().map_or_else(|| "–".to_owned(), |long| format!("`--{long}`"));
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace('|', "\\|");
        let _ = writeln!(table, "| `{name}` | {flag} | {default} | {help} | {readers} |");
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
    let secrets: Vec<_> = all.iter().filter(|(_, (arg, _))| is_secret(arg)).collect();
    assert!(secrets.len() >= 3, "{secrets:?}");
    for (name, _) in secrets {
        assert!(all.contains_key(&format!("{name}_FILE")), "{name}");
    }
    for (name, (arg, _)) in &all {
        assert!(arg.get_help().is_some(), "{name}");
        let word = ["TOKEN", "KEY", "PASSWORD", "SECRET", "DATABASE_URL", "ADMIN_URL"];
        let looks_secret = word.iter().any(|word| name.ends_with(word));
        assert_eq!(looks_secret, is_secret(arg), "{name}");
    }
}
