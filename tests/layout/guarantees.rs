//! The page of guarantees: each scenario's story and what its tests assert, printed from the
//! modules themselves.

use crate::layout::repository::File;
use std::fmt::Write;

pub const PAGE: &str = "docs/GUARANTEES.md";
const FOLDER: &str = "tests/scenarios/";

/// The whole page, from the files of the repository.
pub fn render(files: &[File]) -> String {
    let mut page = String::from(
        "# What is guaranteed, and what proves it\n\n\
         Printed from `tests/scenarios/`; a test fails when this page is stale\n\
         (`UPDATE_GENERATED=1 cargo test --workspace --test layout` writes it anew). Each module\n\
         is one thing that goes wrong, played against a real Temporal, a real PostgreSQL and the\n\
         sandbox process; after each, `tests/src/checker.rs` compares the channel's truth, the\n\
         rows and the histories with the laws. One alone:\n\
         `cargo test --workspace --test scenarios -- NAME`.\n",
    );
    let mut modules: Vec<_> = files.iter().filter_map(module).collect();
    modules.sort();
    for (name, story, tests) in modules {
        let _ = write!(page, "\n## {name}\n\n{story}\n\n");
        for test in tests {
            let _ = writeln!(page, "- {}", test.replace('_', " "));
        }
    }
    page
}

/// A module's name, its story and its tests; `None` for one that has no test.
fn module(file: &File) -> Option<(String, String, Vec<String>)> {
    let name = file.path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    let told = file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let story: Vec<_> = told.collect();
    let tests = tests(&file.text);
    let name = name.trim_end_matches("/mod").replace('/', "::");
    (!tests.is_empty()).then(|| (name, story.join("\n"), tests))
}

fn tests(text: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        let function = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
        match function.and_then(|rest| rest.split('(').next()) {
            Some(name) if is_test => {
                tests.push(name.to_owned());
                is_test = false;
            }
            Some(_) => is_test = false,
            None if line.starts_with("#[tokio::test") || line == "#[test]" => is_test = true,
            None => {}
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_tells_its_story_and_its_tests_as_sentences() {
        let text = "//! It breaks,\n//! badly.\n\nfn no() {}\n#[tokio::test(flavor = \"x\")]\n\
                    async fn it_holds_all_the_same() {}\n";
        let file = |path: &str| File { path: path.to_owned(), text: text.to_owned() };
        let page = render(&[file("tests/scenarios/it_breaks.rs"), file("tests/src/other.rs")]);
        let told = "\n## it_breaks\n\nIt breaks,\nbadly.\n\n- it holds all the same\n";
        assert!(page.ends_with(told), "{page}");
        assert!(!page.contains("other"));
    }
}
