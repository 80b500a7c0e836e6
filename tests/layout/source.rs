//! A Rust file as the rules read it: the code without its comments and strings, byte for byte in
//! the same place, so that a sample in a string breaks no rule.

use std::ops::Range;

pub struct Source<'a> {
    pub text: &'a str,
    /// The text with blanks for what is in comments, strings and characters.
    pub code: String,
    /// Where the insides of the string literals are.
    pub strings: Vec<Range<usize>>,
    /// What is compiled for tests only.
    tests: Vec<Range<usize>>,
}

impl<'a> Source<'a> {
    pub fn of(text: &'a str) -> Self {
        let mut mask = Mask { bytes: text.as_bytes(), blank: Vec::new(), strings: Vec::new() };
        mask.run();
        let mut code = text.as_bytes().to_vec();
        for range in &mask.blank {
            for byte in &mut code[range.clone()] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        let code = String::from_utf8(code).expect("whole characters are blanked");
        let tests = test_only(&code);
        Self { text, code, strings: mask.strings, tests }
    }

    /// The number of the line that holds a byte, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    pub fn is_test_only(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// The inline modules that are compiled for tests only.
    pub fn test_modules(&self) -> impl Iterator<Item = Range<usize>> {
        let is_module = |range: &&Range<usize>| {
            let mut words = self.code[(*range).clone()].split_whitespace();
            words.any(|word| word == "mod") && self.code[..range.end].ends_with('}')
        };
        self.tests.iter().filter(is_module).cloned()
    }

    /// Where a text stands in the code and is not the end of a longer word.
    pub fn find(&self, text: &str) -> Vec<usize> {
        let found = self.code.match_indices(text).map(|(at, _)| at);
        let starts_word = text.starts_with(is_word);
        found.filter(|at| !starts_word || !self.code[..*at].ends_with(is_word)).collect()
    }
}

pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Where the block ends that opens at the first brace after `from`; `None` if an item without a
/// block ends first.
pub fn block_end(code: &str, from: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut open = None;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match (byte, open) {
            (b';', None) if depth == 0 => return None,
            (b'(' | b'[', None) => depth += 1,
            (b')' | b']', None) => depth = depth.checked_sub(1)?,
            (b'{', None) if depth == 0 => (open, depth) = (Some(at), 1),
            (b'{', Some(_)) => depth += 1,
            (b'}', Some(start)) => {
                depth -= 1;
                if depth == 0 {
                    return Some((start, at + 1));
                }
            }
            _ => {}
        }
    }
    None
}

fn test_only(code: &str) -> Vec<Range<usize>> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let items = code.match_indices(ATTRIBUTE).map(|(at, _)| {
        let from = at + ATTRIBUTE.len();
        let end_of_line = code[from..].find(';').map_or(code.len(), |end| from + end + 1);
        at..block_end(code, from).map_or(end_of_line, |(_, end)| end)
    });
    items.collect()
}

/// Finds comments and literals.
struct Mask<'a> {
    bytes: &'a [u8],
    blank: Vec<Range<usize>>,
    strings: Vec<Range<usize>>,
}

impl Mask<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while at < self.bytes.len() {
            at = match &self.bytes[at..] {
                [b'/', b'/', ..] => self.comment(at, self.end_of(at, b"\n")),
                [b'/', b'*', ..] => self.comment(at, self.end_of_block_comment(at)),
                [b'r', b'"' | b'#', ..] if self.is_raw_string(at) => self.raw_string(at),
                [b'"', ..] => self.string(at),
                [b'\'', ..] => self.character(at),
                _ => at + 1,
            };
        }
    }

    fn comment(&mut self, at: usize, end: usize) -> usize {
        self.blank.push(at..end);
        end
    }

    fn literal(&mut self, inside: Range<usize>) {
        self.blank.push(inside.clone());
        self.strings.push(inside);
    }

    /// Where a text begins at or after a place; the end of the file if it never does.
    fn end_of(&self, from: usize, text: &[u8]) -> usize {
        let rest = self.bytes[from..].windows(text.len()).position(|window| window == text);
        rest.map_or(self.bytes.len(), |place| from + place)
    }

    fn end_of_block_comment(&self, from: usize) -> usize {
        let mut depth = 0;
        let mut at = from;
        while at < self.bytes.len() {
            match &self.bytes[at..] {
                [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
                [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
                _ => at += 1,
            }
            if depth == 0 {
                break;
            }
        }
        at
    }

    /// `r"` or `r#"`, and neither `for"` nor `r#type`. `br"` is one too.
    fn is_raw_string(&self, at: usize) -> bool {
        let before = &self.bytes[..at];
        let before = before.strip_suffix(b"b").unwrap_or(before);
        let in_word = before.last().is_some_and(|byte| is_word(char::from(*byte)));
        let hashes = self.hashes(at + 1);
        !in_word && self.bytes.get(at + 1 + hashes) == Some(&b'"')
    }

    fn hashes(&self, from: usize) -> usize {
        self.bytes[from..].iter().take_while(|byte| **byte == b'#').count()
    }

    fn raw_string(&mut self, at: usize) -> usize {
        let hashes = self.hashes(at + 1);
        let start = at + 2 + hashes;
        let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        let end = self.end_of(start, &close);
        self.literal(start..end);
        end + close.len()
    }

    fn string(&mut self, at: usize) -> usize {
        let mut end = at + 1;
        while end < self.bytes.len() && self.bytes[end] != b'"' {
            end += if self.bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(self.bytes.len());
        self.literal(at + 1..end);
        end + 1
    }

    /// A character, or else a lifetime, which stays.
    fn character(&mut self, at: usize) -> usize {
        let start = at + 1;
        let end = match self.bytes.get(start) {
            Some(b'\\') => self.end_of(start + 2, b"'"),
            Some(first) => {
                let length = match first {
                    0xf0.. => 4,
                    0xe0.. => 3,
                    0xc0.. => 2,
                    _ => 1,
                };
                start + length
            }
            None => return start,
        };
        if self.bytes.get(end) != Some(&b'\'') {
            return start;
        }
        self.blank.push(start..end);
        end + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blanked_and_lifetimes_stay() {
        let text = r##"a<'x>("\"{", '{', '\'', 'é', r#"{"# /* { /* */ } */); // {"##;
        let source = Source::of(text);
        assert!(!source.code.contains(['{', '}']), "{}", source.code);
        assert!(source.code.starts_with("a<'x>(\""), "{}", source.code);
        assert_eq!(source.code.len(), text.len());
        let strings: Vec<_> = source.strings.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(strings, [r#"\"{"#, "{"]);
    }

    #[test]
    fn a_raw_word_is_no_string() {
        let source = Source::of("let r#type = br\"todo!()\"; todo!()");
        assert_eq!(source.find("todo!("), [26]);
        assert!(Source::of("not_todo!()").find("todo!(").is_empty());
    }

    #[test]
    fn what_is_compiled_for_tests_is_known() {
        let text =
            "fn a() {}\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { fn b() {} }\nfn c";
        let source = Source::of(text);
        let place = |word: &str| text.find(word).unwrap();
        assert!(source.is_test_only(place("mod tests")) && source.is_test_only(place("fn b")));
        assert!(!source.is_test_only(place("fn a")) && !source.is_test_only(place("fn c")));
        assert_eq!(source.test_modules().count(), 1);
        assert_eq!(source.line(place("fn b")), 5);
    }
}
