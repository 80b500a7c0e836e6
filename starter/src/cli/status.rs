//! `oncepay status`: shows whatever has this id.

use super::client::Client;
use super::{cell, money, print_json, say, span, table};
use crate::settings::ApiArgs;
use anyhow::bail;
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// A payment (`pay_…`), an order (`ord_…`) or a review (`rev_…`).
    id: String,
}

/// # Errors
/// The API's problem as a sentence.
pub(crate) async fn run(args: &StatusArgs) -> anyhow::Result<()> {
    let shown = Client::new(&args.api)?.get(&path(&args.id)?).await?;
    if args.api.json {
        print_json(&shown);
    } else {
        print(&shown);
    }
    Ok(())
}

/// The path of a resource by the first letters of its id.
fn path(id: &str) -> anyhow::Result<String> {
    if !id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        bail!("{id:?} is not an id");
    }
    let folder = match id.split_once('_') {
        Some(("pay", _)) => "payment_intents",
        Some(("ord", _)) => "orders",
        Some(("rev", _)) => "reviews",
        _ => bail!("{id:?} is not an id: it begins with pay_, ord_ or rev_"),
    };
    Ok(format!("/v1/{folder}/{id}"))
}

/// For programs only.
const NOISE: [&str; 2] = ["object", "version"];

/// Every simple field in a table of two columns; amounts with their currency.
pub(super) fn print(resource: &Value) {
    say(table(&["field", "value"], rows(resource)));
}

fn rows(resource: &Value) -> Vec<Vec<String>> {
    let currency = &resource["currency"];
    let amounts = ["amount", "goods_total", "discount", "freight"];
    let fields = resource.as_object().into_iter().flatten();
    let row = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::Null => return None,
            _ if NOISE.contains(&name.as_str()) => return None,
            Value::Object(_) if name == "choice" => chosen(value),
            Value::Object(object) if object.contains_key("transaction") => format!(
                "{} under {}",
                money(&value["amount"], &value["currency"]),
                cell(&value["transaction"])
            ),
            value if amounts.contains(&name.as_str()) => money(value, currency),
            Value::Object(object) if object.contains_key("amount") => {
                money(&value["amount"], &value["currency"])
            }
            Value::Array(list) => list.iter().map(summary).collect::<Vec<_>>().join("\n"),
            value => cell(value),
        };
        Some(vec![name.clone(), text])
    };
    fields.filter_map(row).collect()
}

/// What a person chose, with everything that they said.
fn chosen(choice: &Value) -> String {
    let mut lines = vec![cell(&choice["kind"]).replace('_', " ")];
    if choice["transaction"].is_string() {
        let amount = match &choice["money"] {
            Value::Object(_) => money(&choice["money"]["amount"], &choice["money"]["currency"]),
            _ => money(&choice["amount"], &choice["currency"]),
        };
        lines.push(format!("{amount} under {}", cell(&choice["transaction"])));
    }
    let said = ["evidence", "risk"].into_iter().filter(|name| choice[*name].is_string());
    lines.extend(said.map(|name| format!("{name}: {}", cell(&choice[name]))));
    lines.join("\n")
}

/// A line of an order, one of its payments, or a choice or a proposal of a review.
fn summary(entry: &Value) -> String {
    if let Some(kind) = entry["kind"].as_str() {
        return entry["why"].as_str().map_or(kind.to_owned(), |why| format!("not {kind}: {why}"));
    }
    if let Some(operator) = entry["operator"].as_str() {
        let (choice, reason) = (chosen(&entry["choice"]), cell(&entry["reason"]));
        return format!(
            "{operator} at {}:\n{choice}\nreason: {reason}\nanother operator must choose the same",
            span::time(&entry["at"]),
        );
    }
    match (entry["sku"].as_str(), entry["id"].as_str()) {
        (Some(sku), _) => format!("{} x {sku}", cell(&entry["quantity"])),
        (None, Some(id)) => format!("{id} {}", cell(&entry["state"])),
        (None, None) => cell(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_shows_what_a_person_reads() {
        let review = json!({
            "object": "review", "version": 1, "amount": 1999, "currency": "CNY", "choice": null,
            "money": { "transaction": "sbx_1", "amount": 1, "currency": "CNY" },
        });
        let rows = rows(&review);
        let choice = json!({
            "kind": "confirm_paid", "transaction": "sbx_1", "amount": 1999, "currency": "CNY",
            "evidence": "line 7",
        });
        assert_eq!(chosen(&choice), "confirm paid\nCNY 19.99 under sbx_1\nevidence: line 7");
        let names: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["amount", "currency", "money"]);
        assert_eq!(rows[2][1], "CNY 0.01 under sbx_1");
    }

    #[test]
    fn a_person_reads_what_may_be_chosen_and_what_was_proposed() {
        let of = |entry| summary(&entry);
        assert_eq!(of(json!({ "kind": "confirm_paid", "why": null })), "confirm_paid");
        let forbidden = json!({ "kind": "confirm_paid", "why": "it has ended" });
        assert_eq!(of(forbidden), "not confirm_paid: it has ended");
        let choice = json!({ "kind": "confirm_paid", "transaction": "t1" });
        let proposed = json!({ "operator": "bob", "choice": choice, "reason": "seen" });
        let said = of(proposed);
        assert!(said.starts_with("bob at ") && said.contains("under t1\nreason: seen"), "{said}");
    }

    #[test]
    fn an_id_leads_to_its_resource() {
        assert_eq!(path("pay_abc").expect("known"), "/v1/payment_intents/pay_abc");
        assert_eq!(path("ord_abc").expect("known"), "/v1/orders/ord_abc");
        assert_eq!(path("rev_abc").expect("known"), "/v1/reviews/rev_abc");
        for bad in ["", "abc", "txn_abc", "pay_../orders", "pay_a?b"] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }
}
