//! What may not be written, with what to do instead.

use super::repository::Finding;
use super::source::{Source, is_word};

/// Something that code may not say.
struct Ban {
    text: &'static str,
    holds_in: fn(&str) -> bool,
    instead: &'static str,
}

const BANS: [Ban; 8] = [
    Ban { text: "todo!(", holds_in: everywhere, instead: "finish it" },
    Ban {
        text: "unimplemented!(",
        // The declarations of activities have no bodies: the macro replaces them.
        holds_in: |path| path != "workflows/src/contract.rs",
        instead: "finish it",
    },
    Ban { text: "dbg!(", holds_in: everywhere, instead: "remove it, or log with tracing" },
    Ban {
        text: "#[ignore",
        holds_in: everywhere,
        instead: "mend the test or delete it; a test is never skipped quietly",
    },
    Ban { text: "#[allow(", holds_in: everywhere, instead: EXPECT },
    Ban { text: "#![allow(", holds_in: everywhere, instead: EXPECT },
    Ban {
        text: "sleep(",
        holds_in: |path| path.starts_with("tests/scenarios/"),
        instead: "wait for a condition with `tests::wait::until`",
    },
    Ban {
        text: "sqlx::query",
        holds_in: |path| !path.starts_with("store/") && !path.starts_with("tests/"),
        instead: "SQL lives in `store`, in the function that needs it",
    },
];

const EXPECT: &str = "use `#[expect(…, reason = \"…\")]`, which speaks up once it is needless";

/// Words that no text of the repository holds. Each is put together from parts, so that this
/// file does not hold them either.
const WORDS: [(&str, &str); 6] = [
    (concat!("/wo", "rk/"), "name a path from the root of the repository"),
    (concat!("pypi", ".org"), "an installation chooses its registry itself; do not name one"),
    (concat!("crates", ".io/"), "an installation chooses its registry itself; do not name one"),
    (concat!("CE", "O"), "the text is for readers of this repository; say it without"),
    (concat!("sub", "agent"), "the text is for readers of this repository; say it without"),
    (concat!("npm", "js."), "an installation chooses its registry itself; do not name one"),
];

fn everywhere(_: &str) -> bool {
    true
}

pub fn banned_code(path: &str, text: &str) -> Vec<Finding> {
    let source = Source::of(text);
    let bans = BANS.iter().filter(|ban| (ban.holds_in)(path));
    let found = bans.flat_map(|ban| {
        let places = source.find(ban.text).into_iter();
        places.map(|at| (source.line(at), format!("`{}`: {}", ban.text, ban.instead)))
    });
    found.map(|(line, what)| Finding::new(path, line, what)).collect()
}

pub fn foreign_words(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        for (word, instead) in WORDS {
            if holds(text, word) {
                findings.push(Finding::new(path, line, format!("`{word}`: {instead}")));
            }
        }
    }
    findings
}

/// An acronym counts as a whole word only; anything else counts in any case and place.
fn holds(text: &str, word: &str) -> bool {
    if !word.chars().all(char::is_uppercase) {
        return text.to_lowercase().contains(word);
    }
    let mut places = text.match_indices(word);
    places.any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ban_holds_where_it_should() {
        for (path, text) in [
            ("domain/src/a.rs", "\n todo!()"),
            ("workflows/src/ids.rs", "\n unimplemented!()"),
            ("tests/src/a.rs", "\n dbg!(1)"),
            ("dev/tests/a.rs", "\n#[ignore = \"slow\"]"),
            ("store/src/a.rs", "\n#[allow(dead_code)]"),
            ("store/src/a.rs", "\n#![allow(dead_code)]"),
            ("tests/scenarios/a.rs", "\n tokio::time::sleep(limit)"),
            ("starter/src/a.rs", "\n sqlx::query_as!(A, \"\")"),
        ] {
            let found = banned_code(path, text);
            assert_eq!(found.len(), 1, "{path}: {text}");
            assert_eq!(found[0].line, 2);
        }
    }

    #[test]
    fn exceptions_comments_and_strings_are_left_alone() {
        for (path, text) in [
            ("workflows/src/contract.rs", "unimplemented!()"),
            ("tests/src/wait.rs", "tokio::time::sleep(step)"),
            ("tests/scenarios/a.rs", "oversleep(1); // sleep(1)"),
            ("store/src/a.rs", "sqlx::query!(\"\")"),
            ("tests/src/a.rs", "sqlx::query(\"todo!()\")"),
            ("domain/src/a.rs", "#[expect(dead_code, reason = \"…\")]"),
        ] {
            assert_eq!(banned_code(path, text), [], "{path}: {text}");
        }
    }

    #[test]
    fn words_that_do_not_belong_are_found() {
        for (word, _) in WORDS {
            let found = foreign_words("a.md", &format!("\nsee ({word}).\n"));
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2);
        }
        let shout = WORDS[4].0.to_uppercase();
        assert_eq!(foreign_words("a.md", &shout).len(), 1);
        assert_eq!(foreign_words("a.md", concat!("the O", "CE", "OS network")), []);
    }
}
