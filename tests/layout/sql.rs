//! SQL has a name, and migrations only go forward.

use super::repository::Finding;
use super::source::{Source, is_word};

const FOLDER: &str = "store/migrations/";

/// Every query of `store` begins with the comment by which PostgreSQL's log names it.
pub fn nameless_queries(path: &str, text: &str) -> Vec<Finding> {
    if !path.starts_with("store/src/") {
        return Vec::new();
    }
    let source = Source::of(text);
    let mut findings = Vec::new();
    for at in source.find("sqlx::query") {
        let sql = source.strings.iter().find(|range| range.start > at);
        let sql = sql.map_or("", |range| &text[range.clone()]);
        if !has_name(sql) {
            let what = "the SQL must begin with `-- what.does` and must be a literal here";
            findings.push(Finding::new(path, source.line(at), what));
        }
    }
    findings
}

fn has_name(sql: &str) -> bool {
    let name = sql.lines().next().and_then(|line| line.strip_prefix("-- "));
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    name.and_then(|name| name.split_once('.')).is_some_and(|(a, b)| is_part(a) && is_part(b))
}

/// The paths are those of the migrations, in order.
pub fn misnumbered_migrations(paths: &[&str]) -> Vec<Finding> {
    let numbered = |(number, path): (usize, &&str)| {
        let name = path.strip_prefix(FOLDER)?;
        let what =
            format!("must be called {number:04}_….sql: numbers have no gap, names no capital");
        let rest = name.strip_prefix(&format!("{number:04}_")).unwrap_or_default();
        let word = rest.strip_suffix(".sql").unwrap_or_default();
        let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '_');
        let good = !word.is_empty() && word.chars().all(is_plain);
        (!good).then(|| Finding::new(path, 1, what))
    };
    (1..).zip(paths).filter_map(numbered).collect()
}

pub fn is_migration(path: &str) -> bool {
    path.starts_with(FOLDER)
}

pub fn destructive_migrations(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let code = text.split("--").next().unwrap_or_default().to_uppercase();
        let mut words = code.split(|letter| !is_word(letter));
        if let Some(word) = words.find(|word| matches!(*word, "DROP" | "TRUNCATE")) {
            let what = format!("`{word}`: what a table holds stays; add beside it instead");
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_a_name_is_found() {
        for text in [
            "sqlx::query!(\"SELECT 1\")",
            "sqlx::query_as!(Row, r#\"-- payments\n SELECT 1\"#)",
            "sqlx::query_as!(Row, r#\"-- Payments.Read\n SELECT 1\"#)",
            "sqlx::query(sql)",
        ] {
            assert_eq!(nameless_queries("store/src/a.rs", text).len(), 1, "{text}");
        }
        let named = "sqlx::query_as!(Row, r#\"-- payment_event.insert\n INSERT\"#)";
        assert_eq!(nameless_queries("store/src/a.rs", named), []);
    }

    #[test]
    fn a_gap_a_repeat_and_a_wild_name_are_found() {
        let check = |names: &[&str]| {
            let paths: Vec<_> = names.iter().map(|name| format!("{FOLDER}{name}")).collect();
            misnumbered_migrations(&paths.iter().map(String::as_str).collect::<Vec<_>>()).len()
        };
        assert_eq!(check(&["0001_roles.sql", "0002_catalog.sql"]), 0);
        assert_eq!(check(&["0001_roles.sql", "0003_catalog.sql"]), 1);
        assert_eq!(check(&["0001_roles.sql", "0001_catalog.sql"]), 1);
        assert_eq!(check(&["0001_Roles.sql"]), 1);
        assert_eq!(check(&["0001_roles.down"]), 1);
    }

    #[test]
    fn a_migration_that_takes_away_is_found() {
        let check = |text: &str| destructive_migrations("store/migrations/0001_a.sql", text).len();
        assert_eq!(check("SELECT 1;\nDROP TABLE payment;"), 1);
        assert_eq!(check("truncate payment;"), 1);
        assert_eq!(check("ALTER TABLE payment DROP COLUMN amount;"), 1);
        assert_eq!(check("-- Never DROP this.\nCREATE TABLE dropped (id text);"), 0);
    }
}
