//! `oncepay trace`: everything that happened to an order, as a timeline.

use super::client::Client;
use super::{cell, money, print_json, say, span, table};
use crate::settings::ApiArgs;
use clap::Args;
use domain::OrderId;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// The order.
    order: String,
}

/// # Errors
/// The API's problem as a sentence.
pub(crate) async fn run(args: &TraceArgs) -> anyhow::Result<()> {
    let id = OrderId::parse(args.order.clone())?;
    let trace = Client::new(&args.api)?.get(&format!("/v1/orders/{id}/trace")).await?;
    if args.api.json {
        print_json(&trace);
    } else {
        say(&text(&trace));
    }
    Ok(())
}

fn text(trace: &Value) -> String {
    let order = &trace["order"];
    let payable = money(&order["payable"]["amount"], &order["payable"]["currency"]);
    let mut parts = vec![format!("{} {}, {payable}", cell(&order["id"]), cell(&order["state"]))];
    let payments = trace["payments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !payments.is_empty() {
        parts.push(table(&PAYMENT_HEAD, (1..).zip(payments).map(payment)));
        // A line each: an address that a table breaks cannot be copied.
        let pages = (1..).zip(payments).map(page);
        parts.push(pages.collect::<Vec<_>>().join("\n"));
    }
    parts.push(table(&["time", "step", "#", "what", "text"], lines(trace, payments)));
    if trace["truncated"] == json!(true) {
        parts.push("There is more than one answer holds; these are the oldest.".to_owned());
    }
    parts.join("\n\n")
}

const PAYMENT_HEAD: [&str; 4] = ["#", "payment", "state", "transaction"];

/// The workflow's page where that is known, else its id.
fn page((number, payment): (usize, &Value)) -> String {
    let page =
        if payment["web_ui"].is_null() { &payment["workflow_id"] } else { &payment["web_ui"] };
    format!("workflow of {number}: {}", cell(page))
}

fn payment((number, payment): (usize, &Value)) -> Vec<String> {
    vec![
        number.to_string(),
        cell(&payment["id"]),
        cell(&payment["state"]),
        cell(&payment["transaction"]),
    ]
}

/// The timeline, with the time since the line before and the payment's number in the table above.
fn lines(trace: &Value, payments: &[Value]) -> Vec<Vec<String>> {
    let mut before = None;
    let mut lines = Vec::new();
    for entry in trace["timeline"].as_array().into_iter().flatten() {
        let at = span::instant(&entry["at"]);
        let step = at.zip(before).map_or_else(String::new, |(at, before)| span::step(at - before));
        before = at.or(before);
        let number = payments.iter().position(|payment| payment["id"] == entry["payment"]);
        lines.push(vec![
            at.map_or_else(|| "-".to_owned(), |at| at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()),
            step,
            number.map_or_else(String::new, |index| (index + 1).to_string()),
            cell(&entry["what"]).replace('_', " "),
            cell(&entry["text"]),
        ]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_shows_utc_times_steps_and_which_payment() {
        let trace = json!({
            "order": {
                "id": "ord_x", "state": "Paid", "payable": { "amount": 1999, "currency": "CNY" },
            },
            "payments": [
                { "id": "pay_a", "state": "Failed", "workflow_id": "payment/acme/k1" },
                { "id": "pay_b", "state": "Persisted", "web_ui": "http://ui/payment" },
            ],
            "timeline": [
                { "at": "2026-12-01T04:00:00.000Z", "what": "order_made", "text": "made" },
                {
                    "at": "2026-12-01T04:00:01.203Z", "what": "payment_event", "payment": "pay_b",
                    "text": "paid",
                },
            ],
            "truncated": true,
        });
        let text = text(&trace);
        assert!(text.starts_with("ord_x Paid, CNY 19.99"), "{text}");
        let line = text.lines().find(|line| line.contains("paid")).expect("the event");
        let cells: Vec<_> = line.split_whitespace().collect();
        let wanted = ["2026-12-01", "04:00:01.203", "+1.203", "s", "2", "payment", "event", "paid"];
        assert_eq!(cells, wanted);
        let whole = |line| text.lines().any(|one| one == line);
        assert!(whole("workflow of 1: payment/acme/k1"), "{text}");
        assert!(whole("workflow of 2: http://ui/payment"), "{text}");
        assert!(text.contains("these are the oldest"), "{text}");
    }
}
