//! `oncepay explain`: why a payment is where it is, and what a person may do about it.

use super::client::Client;
use super::{cell, print_json, say, span, table};
use crate::settings::ApiArgs;
use chrono::{DateTime, Utc};
use clap::Args;
use domain::PaymentId;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// The payment.
    payment: String,
}

/// # Errors
/// The API's problem as a sentence.
pub(crate) async fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let id = PaymentId::parse(args.payment.clone())?;
    let told = Client::new(&args.api)?.get(&format!("/v1/payment_intents/{id}/explain")).await?;
    if args.api.json {
        print_json(&told);
    } else {
        say(text(&told, Utc::now()));
    }
    Ok(())
}

fn text(told: &Value, now: DateTime<Utc>) -> String {
    let mut parts = vec![
        format!("{} {}: {}", cell(&told["payment"]), cell(&told["state"]), cell(&told["message"])),
        facts(told, now),
    ];
    // In a line of its own: an address that a table breaks cannot be copied.
    if told["web_ui"].is_string() {
        parts.push(format!("web ui: {}", cell(&told["web_ui"])));
    }
    if told["source"] != "row" {
        parts.push("The row was not read; this is what the payment's workflow knows.".to_owned());
    }
    let list = |name: &str| told[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let may = list("may").iter().map(|entry| vec![words(&entry["act"]), cell(&entry["how"])]);
    parts.push(if may.len() == 0 {
        "Nothing is left for a person to do.".to_owned()
    } else {
        table(&["you may", "how"], may)
    });
    let may_not = list("may_not").iter().map(|entry| {
        let mut why = cell(&entry["why"]);
        if !entry["until"].is_null() {
            why = format!("{why} (until {})", span::time(&entry["until"]));
        }
        vec![words(&entry["act"]), why, cell(&entry["rule"])]
    });
    parts.push(table(&["you may not", "why", "rule"], may_not));
    parts.join("\n\n")
}

/// What is known, one fact a line.
fn facts(told: &Value, now: DateTime<Utc>) -> String {
    let until = |what: &Value, says: &str, until: &Value| {
        // The Web UI renders Markdown, a terminal does not.
        let what =
            what.as_str().map_or_else(|| "nothing".to_owned(), |what| what.replace("**", ""));
        if until.is_null() {
            return what;
        }
        format!("{what}\n{says} {} ({})", span::time(until), span::ahead(until, now))
    };
    let last = &told["last_event"];
    let mut rows = vec![vec![
        "order".to_owned(),
        format!("{} {}", cell(&told["order"]), cell(&told["order_state"])),
    ]];
    if last.is_object() {
        let moved = format!("{} becomes {}", cell(&last["from"]), cell(&last["to"]));
        let who = format!("{} at {}", cell(&last["actor"]), span::time(&last["at"]));
        let text = format!("{}\n{moved}, by {who}", cell(&last["cause"]));
        rows.push(vec!["last event".to_owned(), text]);
    }
    let waits = until(&told["waits_for"], "somebody looks by", &told["waits_until"]);
    rows.push(vec!["waits for".to_owned(), waits]);
    if told["workflow_says"].is_string() {
        let says = until(&told["workflow_says"], "goes on by itself at", &told["workflow_until"]);
        rows.push(vec!["workflow says".to_owned(), says]);
    }
    if let Some(status) = told["workflow_status"].as_str().filter(|status| *status != "running") {
        let status = if status == "none" { "there is none" } else { status }.replace('_', " ");
        let nobody = if told["waits_for"].is_null() {
            String::new()
        } else {
            "; nobody is at work on the payment: oncepay resume starts its workflow".to_owned()
        };
        rows.push(vec!["workflow".to_owned(), format!("{status}{nobody}")]);
    }
    for review in told["reviews"].as_array().into_iter().flatten() {
        let id = cell(&review["id"]);
        let text = format!("{id} {}: oncepay review show {id}", words(&review["reason"]));
        rows.push(vec!["open review".to_owned(), text]);
    }
    table(&["fact", ""], rows)
}

fn words(word: &Value) -> String {
    cell(word).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_person_reads_what_is_waited_for_and_which_rule_forbids_the_rest() {
        let told = json!({
            "payment": "pay_x", "order": "ord_x", "order_state": "AwaitingPayment",
            "state": "Unknown", "source": "row", "message": "not known yet",
            "last_event": {
                "kind": "answer_lost", "from": "Processing", "to": "Unknown", "actor": "charge",
                "at": "2026-12-01T04:00:00.123Z", "cause": "the channel's answer was lost",
            },
            "waits_for": "the channel's word", "waits_until": "2026-12-01T04:50:00Z",
            "workflow_says": "**Waiting** for lookup 3 of 6", "workflow_until": null,
            "workflow_status": "terminated",
            "reviews": [{ "id": "rev_x", "reason": "outcome_unknown" }],
            "may": [{ "act": "resume", "how": "oncepay resume" }],
            "may_not": [{
                "act": "charge_again", "rule": "no_repeat_without_proof",
                "why": "the previous request may have been executed",
                "until": "2026-12-01T04:01:00Z",
            }],
        });
        let now = span::instant(&json!("2026-12-01T04:20:00Z")).expect("a time");
        let text = text(&told, now);
        for wanted in [
            "pay_x Unknown: not known yet",
            "Processing becomes Unknown, by charge at 2026-12-01 04:00:00 UTC",
            "somebody looks by 2026-12-01 04:50:00 UTC (in 30 min)",
            "Waiting for lookup 3 of 6",
            "terminated; nobody is at work on the payment: oncepay resume starts its workflow",
            "rev_x outcome unknown: oncepay review show rev_x",
            "charge again",
            "no_repeat_without_proof",
            "(until 2026-12-01 04:01:00 UTC)",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
        }
        assert!(!text.contains("The row was not read"));
    }
}
