//! `docs/API.md`: what a caller must know besides the document. Printed from the table of problems
//! and the limits.

use crate::api::code::Code;
use crate::api::limits::{
    ARRIVAL_LIMIT, DEFAULT_PAGE, MAX_BODY_LEN, MAX_COUPON_LEN, MAX_HEADERS, MAX_HEADERS_LEN,
    MAX_PAGE, MAX_PATH_LEN, MAX_REQUEST_ID_LEN,
};
use crate::api::operations;
use domain::audit::MAX_EVIDENCE_LEN;
use domain::ids::{MAX_FOREIGN_ID_LEN, MAX_KEY_LEN};
use domain::money::MAX_MINOR_UNITS;
use domain::order::{MAX_ORDER_LINES, MAX_QUANTITY};
use std::fmt::Write;

const HEAD: &str = "# The API\n\n\
    Printed from `starter/src/`; a test fails when this page or `starter/openapi.json` is stale\n\
    (`UPDATE_GENERATED=1 cargo test --workspace --bins` writes both anew). A running API serves\n\
    the document under `/openapi.json` and, as a page that needs no internet, under `/docs`.\n";

const RULES: &str = include_str!("rules.md");

/// The whole page.
pub(super) fn render() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Endpoints\n\n| request | does |\n|---|---|\n");
    for operation in operations() {
        let verb = operation.verb.as_str().to_uppercase();
        let _ = writeln!(page, "| `{verb} {}` | {} |", operation.path, operation.summary);
    }
    page.push_str(RULES);
    write_limits(&mut page);
    write_problems(&mut page);
    page
}

fn write_limits(page: &mut String) {
    page.push_str("\n## Limits\n\n| of | at most | beyond it |\n|---|---|---|\n");
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    let arrival = format!("{} s", ARRIVAL_LIMIT.as_secs());
    for (of, most, beyond) in [
        ("a body", kib(MAX_BODY_LEN), Some(Code::BodyTooLarge)),
        ("the arrival of a body", arrival, Some(Code::RequestTimeout)),
        ("headers", MAX_HEADERS.to_string(), Some(Code::HeadersTooLarge)),
        ("all headers together", kib(MAX_HEADERS_LEN), Some(Code::HeadersTooLarge)),
        ("a path with its query", kib(MAX_PATH_LEN), Some(Code::PathTooLong)),
        ("lines of an order", MAX_ORDER_LINES.to_string(), Some(Code::InvalidInput)),
        ("quantity of a line", MAX_QUANTITY.to_string(), Some(Code::InvalidInput)),
        ("an amount, in minor units", MAX_MINOR_UNITS.to_string(), Some(Code::InvalidInput)),
        ("an Idempotency-Key", format!("{MAX_KEY_LEN} characters"), Some(Code::InvalidInput)),
        (
            "the Idempotency-Key of a decision, an account, a sku, a channel's transaction",
            format!("{MAX_FOREIGN_ID_LEN} characters"),
            Some(Code::InvalidInput),
        ),
        ("a coupon", format!("{MAX_COUPON_LEN} characters"), Some(Code::InvalidInput)),
        ("evidence, a reason", format!("{MAX_EVIDENCE_LEN} bytes"), Some(Code::InvalidInput)),
        ("a page", format!("{MAX_PAGE}, {DEFAULT_PAGE} if not said"), Some(Code::InvalidInput)),
        ("a Request-Id", format!("{MAX_REQUEST_ID_LEN} characters"), None),
    ] {
        let beyond = beyond.map_or("it is replaced".to_owned(), |code| {
            format!("{} `{}`", code.row().status, code.row().word)
        });
        let _ = writeln!(page, "| {of} | {most} | {beyond} |");
    }
    page.push_str(
        "\nBeyond 100 headers or about 400 KiB of them the server answers 431 without a body.\n",
    );
}

fn write_problems(page: &mut String) {
    page.push_str(
        "\n## Problems\n\n\
         A problem is `application/problem+json` with `type` (`urn:oncepay:problem:CODE`),\n\
         `title`, `status`, `detail`, `code`, `request_id`, and where it helps `field`, `payment`\n\
         or `sku`. Decide by `code`: it keeps its status and its meaning. Which operation answers\n\
         which is in the document.\n\n| code | status | means | do |\n|---|---|---|---|\n",
    );
    for code in Code::all() {
        let row = code.row();
        let word = match code.words().as_slice() {
            [word] => format!("`{word}`"),
            _ => "the rule's own word".to_owned(),
        };
        let (status, title, advice) = (row.status, row.title, row.advice);
        let _ = writeln!(page, "| {word} | {status} | {title} | {advice} |");
    }
    let words = Code::DecisionRefused.words().join("`, `");
    let _ = writeln!(page, "\nThe words of a refused decision: `{words}`.");
}
