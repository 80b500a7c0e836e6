//! How long a file, a function and a line may be.

use super::repository::Finding;
use super::source::{Source, block_end};

/// Lines of a file without its inline test module.
const MAX_FILE: usize = 400;
/// Lines of a file with everything.
const MAX_FILE_WITH_TESTS: usize = 600;
/// From the line of `fn` to that of the closing brace.
const MAX_FUNCTION: usize = 70;
const MAX_COLUMNS: usize = 100;
/// The first line of a file that a program wrote.
const GENERATED: &str = "// @generated";

pub fn long_files(path: &str, text: &str) -> Vec<Finding> {
    if text.starts_with(GENERATED) {
        return Vec::new();
    }
    let source = Source::of(text);
    let all = text.lines().count();
    let tests: usize = source
        .test_modules()
        .map(|range| source.line(range.end) + 1 - source.line(range.start))
        .sum();
    let (have, limit) = match all - tests {
        without @ MAX_FILE.. if without > MAX_FILE => (without, MAX_FILE),
        _ if all > MAX_FILE_WITH_TESTS => (all, MAX_FILE_WITH_TESTS),
        _ => return Vec::new(),
    };
    let what = format!("the file has {have} lines of {limit}; give a part its own file");
    vec![Finding::new(path, 1, what)]
}

pub fn long_functions(path: &str, text: &str) -> Vec<Finding> {
    if text.starts_with(GENERATED) {
        return Vec::new();
    }
    let source = Source::of(text);
    let mut findings = Vec::new();
    for at in source.find("fn ") {
        let Some((_, end)) = block_end(&source.code, at) else { continue };
        let line = source.line(at);
        let lines = source.line(end - 1) + 1 - line;
        if lines > MAX_FUNCTION {
            let name = source.code[at + 3..].split(['(', '<']).next().unwrap_or_default();
            let what = format!("{name} has {lines} lines of {MAX_FUNCTION}; name its parts");
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

pub fn long_lines(path: &str, text: &str) -> Vec<Finding> {
    if text.starts_with(GENERATED) {
        return Vec::new();
    }
    let long = |(line, text): (usize, &str)| {
        let columns = text.chars().count();
        let what = format!("the line has {columns} columns of {MAX_COLUMNS}; break it");
        (columns > MAX_COLUMNS).then(|| Finding::new(path, line, what))
    };
    (1..).zip(text.lines()).filter_map(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_long_file_is_found_and_its_test_module_is_not_counted() {
        let body = "const A: u8 = 1;\n".repeat(MAX_FILE);
        let tests = |lines| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(lines));
        assert!(long_files("a.rs", &body).is_empty());
        assert_eq!(lines(&long_files("a.rs", &format!("{body}const B: u8 = 1;\n"))), [1]);
        assert!(long_files("a.rs", &format!("{body}{}", tests(197))).is_empty());
        assert_eq!(lines(&long_files("a.rs", &format!("{body}{}", tests(198)))), [1]);
        let generated = format!("{GENERATED}\n{body}");
        assert!(long_files("a.rs", &generated).is_empty());
    }

    #[test]
    fn a_long_function_is_found_and_braces_in_text_are_not() {
        let of = |lines: usize| {
            format!("trait A {{ fn a(&self); }}\nfn b() {{\n{}}}\n", "\"}\"; // }\n".repeat(lines))
        };
        assert!(long_functions("a.rs", &of(68)).is_empty());
        let found = long_functions("a.rs", &of(69));
        assert_eq!(lines(&found), [2]);
        assert!(found[0].what.starts_with("b has 71 lines"), "{}", found[0]);
    }

    #[test]
    fn a_long_line_is_found_and_letters_are_counted_not_bytes() {
        let text = format!("// {}\n// {}\n", "é".repeat(97), "e".repeat(98));
        assert_eq!(lines(&long_lines("a.rs", &text)), [2]);
    }
}
