//! `oncepay trace`: everything that happened to an order, as a timeline.

use super::client::Client;
use super::{cell, money, print_json, say, span, table};
use crate::settings::ApiArgs;
use chrono::NaiveDate;
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
        say(text(&trace));
    }
    Ok(())
}

fn text(trace: &Value) -> String {
    let order = &trace["order"];
    let payable = money(&order["payable"]["amount"], &order["payable"]["currency"]);
    let mut parts = vec![format!("{} {}, {payable}", cell(&order["id"]), cell(&order["state"]))];
    let payments = trace["payments"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.extend((1..).zip(payments).map(payment));
    let day = one_day(trace);
    let times = if day.is_some() { TIME_OF_DAY } else { DATE_AND_TIME };
    let lines = table(&["time", "step", "#", "what", "text"], lines(trace, payments, times));
    let day = day.map(|day| format!("Times are UTC of {day}.\n\n")).unwrap_or_default();
    parts.push(format!("{day}{lines}"));
    if trace["truncated"] == json!(true) {
        parts.push("There is more than one answer holds; these are the oldest.".to_owned());
    }
    parts.join("\n\n")
}

/// One fact a line, so that every id and address can be copied whole.
fn payment((number, payment): (usize, &Value)) -> String {
    let mut lines = vec![format!("#{number} {} {}", cell(&payment["id"]), cell(&payment["state"]))];
    let facts = ["transaction", "workflow_id", "web_ui"];
    let known = facts.iter().filter(|fact| payment[**fact].is_string());
    lines.extend(
        known.map(|fact| format!("   {} {}", fact.replace('_', " "), cell(&payment[*fact]))),
    );
    lines.join("\n")
}

const TIME_OF_DAY: &str = "%H:%M:%S%.3f";
const DATE_AND_TIME: &str = "%Y-%m-%d %H:%M:%S%.3f";

/// The day, where everything happened on one: it need not stand in every line then.
fn one_day(trace: &Value) -> Option<NaiveDate> {
    let entries = trace["timeline"].as_array()?.iter();
    let mut days =
        entries.filter_map(|entry| span::instant(&entry["at"])).map(|at| at.date_naive());
    let first = days.next()?;
    days.all(|day| day == first).then_some(first)
}

/// The timeline, with the time since the line before and the payment's number in the list above.
fn lines(trace: &Value, payments: &[Value], times: &str) -> Vec<Vec<String>> {
    let mut before = None;
    let mut lines = Vec::new();
    for entry in trace["timeline"].as_array().into_iter().flatten() {
        let at = span::instant(&entry["at"]);
        let step = at.zip(before).map_or_else(String::new, |(at, before)| span::step(at - before));
        before = at.or(before);
        let number = payments.iter().position(|payment| payment["id"] == entry["payment"]);
        lines.push(vec![
            at.map_or_else(|| "-".to_owned(), |at| at.format(times).to_string()),
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
    fn a_timeline_of_several_days_tells_the_day_in_every_line() {
        let at = |at: &str| json!({ "at": at, "what": "order_made", "text": "made" });
        let timeline = [at("2026-12-01T23:59:59Z"), at("2026-12-02T00:00:00Z")];
        let text = text(&json!({ "order": {}, "timeline": timeline }));
        assert!(text.contains("2026-12-02 00:00:00.000"), "{text}");
    }

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
        assert_eq!(cells, ["04:00:01.203", "+1.203", "s", "2", "payment", "event", "paid"]);
        assert!(text.contains("Times are UTC of 2026-12-01."), "{text}");
        assert!(text.contains("payment/acme/k1") && text.contains("http://ui/payment"));
        assert!(text.contains("these are the oldest"), "{text}");
    }
}
