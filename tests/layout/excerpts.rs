//! Pages that quote files: between two marks a page has a piece of a file that the tests run.
//!
//! A file marks its piece with comments that end in `begin: NAME` and `end: NAME`, a page its place
//! with `<!-- begin: PATH NAME -->` and `<!-- end: PATH NAME -->`.

use super::repository::Finding;
use std::fmt::Write;

pub const PAGE: &str = "docs/CLIENTS.md";
/// What the page must quote.
pub const QUOTED: [&str; 2] =
    ["tests/python/start_payment.py", "tests/typescript/start_payment.ts"];

/// The page with every quoted piece as it is now.
pub fn render<'a>(
    page: &str,
    file: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, Vec<Finding>> {
    let mut fresh = String::new();
    let mut findings = Vec::new();
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        let _ = writeln!(fresh, "{line}");
        let Some(mark) = mark(line, "<!-- begin: ", " -->") else { continue };
        let end = format!("<!-- end: {mark} -->");
        if !lines.any(|(_, line)| line == end) {
            findings.push(Finding::new(PAGE, number, format!("`{end}` is missing")));
            break;
        }
        let piece = mark.split_once(' ').and_then(|(path, name)| piece(file(path)?, name));
        match piece {
            Some(piece) => {
                let _ = writeln!(fresh, "```{}\n{piece}```\n{end}", language(mark));
            }
            None => findings.push(Finding::new(PAGE, number, format!("there is no `{mark}`"))),
        }
    }
    if findings.is_empty() { Ok(fresh) } else { Err(findings) }
}

/// Files that are to be quoted and are not.
pub fn unquoted(page: &str) -> Vec<Finding> {
    let missing = QUOTED.iter().filter(|path| !page.contains(&format!("<!-- begin: {path} ")));
    missing.map(|path| Finding::new(PAGE, 1, format!("does not quote `{path}`"))).collect()
}

fn mark<'a>(line: &'a str, start: &str, end: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix(end)
}

fn piece(file: &str, name: &str) -> Option<String> {
    let (begin, end) = (format!(" begin: {name}"), format!(" end: {name}"));
    let mut lines = file.lines();
    lines.find(|line| line.ends_with(&begin))?;
    let mut piece = String::new();
    for line in lines {
        if line.ends_with(&end) {
            return Some(piece);
        }
        let _ = writeln!(piece, "{line}");
    }
    None
}

fn language(mark: &str) -> &'static str {
    if mark.contains(".py ") { "python" } else { "ts" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "import a\n# begin: start\ngo()\n# end: start\n";
    const PLACE: &str = "x\n<!-- begin: a.py start -->\nold\n<!-- end: a.py start -->\ny\n";

    #[test]
    fn a_piece_takes_the_place_of_what_was_between_the_marks() {
        let fresh = render(PLACE, |path| (path == "a.py").then_some(FILE)).expect("is found");
        assert_eq!(
            fresh,
            "x\n<!-- begin: a.py start -->\n```python\ngo()\n```\n<!-- end: a.py start -->\ny\n"
        );
        assert_eq!(render(&fresh, |_| Some(FILE)), Ok(fresh.clone()), "written once, it stays");
    }

    #[test]
    fn a_piece_or_a_mark_that_is_missing_is_found() {
        assert_eq!(render(PLACE, |_| None).expect_err("no file")[0].line, 2);
        assert!(render(PLACE, |_| Some("# begin: start\ngo()\n")).is_err(), "no end of the piece");
        assert!(render("<!-- begin: a.py start -->\n", |_| Some(FILE)).is_err());
        assert_eq!(unquoted(PLACE).len(), 2);
    }
}
