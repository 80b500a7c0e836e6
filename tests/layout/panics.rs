//! Outside tests, `unwrap` and `expect` say why they cannot fail.

use super::repository::Finding;
use super::source::Source;

const PANICS: [&str; 2] = [".unwrap()", ".expect("];
const REASON: &str = "Cannot fail";

pub fn unexplained_panics(path: &str, text: &str) -> Vec<Finding> {
    if is_test_file(path) {
        return Vec::new();
    }
    let source = Source::of(text);
    let lines: Vec<_> = text.lines().zip(source.code.lines()).collect();
    let mut findings = Vec::new();
    for panic in PANICS {
        for at in source.find(panic) {
            let line = source.line(at);
            if !source.is_test_only(at) && !is_explained(&lines[..line]) {
                let what = format!("`{panic}`: return the error, or say `// {REASON}: …` above");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// Integration tests, the harness of the scenarios, and `mod tests;` in a file of its own.
fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Whether the last of these lines, or a comment above its statement, gives the reason. A comment
/// covers the lines of one statement, and the fields below it that panic too.
fn is_explained(lines: &[(&str, &str)]) -> bool {
    let panics = |code: &str| PANICS.iter().any(|panic| code.contains(panic));
    let [above @ .., (last, _)] = lines else { return false };
    if last.contains(REASON) {
        return true;
    }
    for (text, code) in above.iter().rev() {
        let code = code.trim_end();
        if text.contains(REASON) {
            return true;
        }
        let is_blank = text.trim().is_empty();
        let is_other_field = code.ends_with(',') && !panics(code);
        if is_blank || is_other_field || code.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_without_a_reason_is_found() {
        for text in [
            "fn a() {\n    b.unwrap();\n}",
            "fn a() {\n    b.expect(\"b\");\n}",
            "fn a() {\n    // Cannot fail: c is there.\n    c();\n    b.unwrap();\n}",
            "#[cfg(test)]\nmod tests;\nfn a() { b.unwrap(); }",
        ] {
            assert_eq!(unexplained_panics("domain/src/a.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_reason_or_a_test_is_enough() {
        for text in [
            "b.unwrap(); // Cannot fail: b is there.",
            "// Cannot fail: the texts are\n// short.\nlet a = b\n    .c()\n    .expect(\"\");",
            "A {\n    // Cannot fail: known.\n    b: b.unwrap(),\n    c: c.unwrap(),\n}",
            "#[cfg(test)]\nmod tests {\n    fn a() { b.unwrap() }\n}",
            "b.unwrap_or_default(); // .unwrap()",
        ] {
            assert_eq!(unexplained_panics("domain/src/a.rs", text), [], "{text}");
        }
        for path in ["domain/src/money/tests.rs", "dev/tests/servers.rs", "tests/src/api.rs"] {
            assert_eq!(unexplained_panics(path, "b.unwrap()"), [], "{path}");
        }
    }
}
