//! `oncepay review`: what waits for a person, and a person's decision.

use super::client::{Client, Post};
use super::{cell, money, print_json, say, span, status, table};
use crate::api::limits::{DEFAULT_PAGE, MAX_PAGE};
use crate::settings::{ApiArgs, TokenArgs};
use anyhow::bail;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::ids::derive;
use domain::{OrderId, PaymentId, ReviewId};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// List the open reviews, oldest first, or those that you ask for.
    List(ListArgs),
    /// Show one review.
    Show(ShowArgs),
    /// Say what happened to the money of a payment in review.
    Decide(DecideArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// Where the reviews stand.
    #[arg(long, default_value = "open", value_parser = ["open", "decided", "overtaken"])]
    state: String,
    /// Only those of this payment.
    #[arg(long, value_parser = |text: &str| PaymentId::parse(text))]
    payment: Option<PaymentId>,
    /// Only those of this order.
    #[arg(long, value_parser = |text: &str| OrderId::parse(text))]
    order: Option<OrderId>,
    /// How many at most.
    #[arg(long, default_value_t = DEFAULT_PAGE,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PAGE)))]
    limit: u32,
    /// Those after the page that named this cursor.
    #[arg(long, value_parser = |text: &str| cursor(text))]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// The review.
    id: String,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("choice").required(true)
    .args(["paid", "not_paid", "resubmit"]))]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// The review.
    id: String,
    /// The money moved: the channel's number of the transaction.
    #[arg(long, value_name = "TRANSACTION")]
    paid: Option<String>,
    /// No money moved and none will.
    #[arg(long)]
    not_paid: bool,
    /// Send the request once more, although the one before may have been executed.
    #[arg(long, requires = "risk")]
    resubmit: bool,
    /// With --resubmit: why you take the risk of a second charge upon yourself.
    #[arg(long, requires = "resubmit")]
    risk: Option<String>,
    /// What proves it: a statement line, a message of the channel.
    #[arg(long, required_unless_present = "resubmit", conflicts_with = "resubmit")]
    evidence: Option<String>,
    /// Why you decide so.
    #[arg(long)]
    reason: String,
    /// The version of the review that you saw; the present one if absent.
    #[arg(long)]
    version: Option<u64>,
    /// The decision's own id; made of its content if absent, so that a repetition is the same.
    #[arg(long)]
    decision_id: Option<String>,
    #[command(flatten)]
    token: TokenArgs,
}

/// # Errors
/// The API's problem as a sentence.
pub(crate) async fn run(command: ReviewCommand) -> anyhow::Result<()> {
    match command {
        ReviewCommand::List(args) => list(&args).await,
        ReviewCommand::Show(args) => show(&args).await,
        ReviewCommand::Decide(args) => decide(&args).await,
    }
}

async fn list(args: &ListArgs) -> anyhow::Result<()> {
    let reviews = Client::new(&args.api)?.get(&list_path(args)).await?;
    if args.api.json {
        print_json(&reviews);
        return Ok(());
    }
    let data = reviews["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if data.is_empty() {
        say(&format!("No review is {}.", args.state));
        return Ok(());
    }
    let now = Utc::now();
    let head = ["review, payment", "reason, amount", "age", "reminder, or who decided"];
    say(&table(&head, data.iter().map(|review| list_row(review, now))));
    if reviews["has_more"] == json!(true) {
        let next = reviews["next_cursor"].as_str().unwrap_or_default();
        say(&format!("There are more; these are the oldest. The next ones: --cursor {next}"));
    }
    Ok(())
}

fn list_path(args: &ListArgs) -> String {
    let mut path = format!("/v1/reviews?state={}&limit={}", args.state, args.limit);
    if let Some(payment) = &args.payment {
        path = format!("{path}&payment={payment}");
    }
    if let Some(order) = &args.order {
        path = format!("{path}&order={order}");
    }
    if let Some(cursor) = &args.cursor {
        path = format!("{path}&cursor={cursor}");
    }
    path
}

/// A cursor is letters and digits, so that it stands in a path as it is.
fn cursor(text: &str) -> Result<String, &'static str> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { Ok(text.to_owned()) } else { Err("is no next_cursor of the API") }
}

/// How old it is, and how long until somebody is reminded of it. Two lines each: with both ids in
/// one line it is wider than a terminal.
fn list_row(review: &Value, now: DateTime<Utc>) -> Vec<String> {
    let open = review["ended_at"].is_null();
    let ends = if open { span::ahead(&review["remind_at"], now) } else { decider(review) };
    vec![
        format!("{}\n{}", cell(&review["id"]), cell(&review["payment"])),
        format!("{}\n{}", cell(&review["reason"]), money(&review["amount"], &review["currency"])),
        span::age(&review["opened_at"], now),
        ends,
    ]
}

fn decider(review: &Value) -> String {
    cell(&review["decided_by"])
}

async fn show(args: &ShowArgs) -> anyhow::Result<()> {
    let review = Client::new(&args.api)?.get(&path(&args.id)?).await?;
    if args.api.json {
        print_json(&review);
    } else {
        status::print(&review);
    }
    Ok(())
}

async fn decide(args: &DecideArgs) -> anyhow::Result<()> {
    let token = args.token.require()?;
    let client = Client::new(&args.api)?;
    let review_path = path(&args.id)?;
    let review = client.get(&review_path).await?;
    let body = body(args, &review)?;
    let key = args.decision_id.clone().unwrap_or_else(|| decision_id(&args.id, &body));
    let path = format!("{review_path}/decisions");
    let post = Post { path: &path, key: &key, token: Some(&token), body: &body };
    let answer = client.post(post).await?;
    if args.api.json {
        print_json(&answer.body);
        return Ok(());
    }
    say(&outcome(&args.id, &answer.body));
    Ok(())
}

/// What came of a decision, in words.
fn outcome(id: &str, answer: &Value) -> String {
    match answer["outcome"].as_str() {
        Some("accepted") => {
            format!("Accepted; it takes effect soon. Look again: oncepay review show {id}")
        }
        Some("proposed") => format!(
            "Proposed. The amount needs two people: nothing happens until another operator \
             chooses the same.\nThey see it with: oncepay review show {id}"
        ),
        _ => {
            let payment = &answer["payment"];
            let (id, state) = (cell(&payment["id"]), cell(&payment["state"]));
            format!("Decided. {id} {state}: {}", cell(&payment["message"]))
        }
    }
}

fn path(id: &str) -> anyhow::Result<String> {
    let id = ReviewId::parse(id)?;
    Ok(format!("/v1/reviews/{id}"))
}

/// The amount is the payment's own: a person confirms it, and does not type it.
fn body(args: &DecideArgs, review: &Value) -> anyhow::Result<Value> {
    let choice = match (&args.paid, args.not_paid, args.resubmit) {
        (Some(transaction), false, false) => json!({
            "kind": "confirm_paid",
            "transaction": transaction,
            "amount": review["amount"],
            "currency": review["currency"],
            "evidence": args.evidence,
        }),
        (None, true, false) => json!({ "kind": "confirm_not_paid", "evidence": args.evidence }),
        (None, false, true) => json!({ "kind": "resubmit_same_key", "risk": args.risk }),
        _ => bail!("say one of --paid TRANSACTION, --not-paid and --resubmit"),
    };
    let version = args.version.map_or_else(|| review["version"].clone(), Value::from);
    Ok(json!({ "version": version, "choice": choice, "reason": args.reason }))
}

/// The same decision has the same id, so that a repetition changes nothing. The version is not
/// part of it: after the first success the review has the next one.
fn decision_id(review: &str, body: &Value) -> String {
    let (choice, reason) = (body["choice"].to_string(), body["reason"].to_string());
    format!("dec_{}", derive("decision", &[review, &choice, &reason]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Cli, Command};
    use clap::Parser;

    fn args(extra: &[&str]) -> Result<DecideArgs, String> {
        let mut all = vec!["oncepay", "review", "decide", "rev_x", "--reason=seen"];
        if !extra.contains(&"--resubmit") {
            all.push("--evidence=line 4");
        }
        let cli = Cli::try_parse_from(all.iter().chain(extra)).map_err(|e| e.to_string())?;
        match cli.command {
            Command::Review(ReviewCommand::Decide(args)) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    fn review() -> Value {
        json!({ "version": 1, "amount": 1999, "currency": "CNY" })
    }

    #[test]
    fn a_list_says_how_old_a_review_is_and_when_somebody_is_reminded() {
        let mut review = json!({
            "id": "rev_x", "reason": "outcome_unknown", "payment": "pay_x", "amount": 1999,
            "currency": "CNY", "opened_at": "2026-12-01T00:00:00Z",
            "remind_at": "2026-12-01T04:00:00Z", "ended_at": null, "decided_by": null,
        });
        let now = span::instant(&json!("2026-12-01T03:30:00Z")).expect("a time");
        let row = list_row(&review, now);
        assert_eq!(row[..2], ["rev_x\npay_x", "outcome_unknown\nCNY 19.99"]);
        assert_eq!(row[2..], ["3 h 30 min", "in 30 min"]);
        review["ended_at"] = json!("2026-12-01T01:00:00Z");
        review["decided_by"] = json!("alice");
        assert_eq!(list_row(&review, now)[3], "alice");
    }

    #[test]
    fn a_list_asks_for_what_is_wanted() {
        let order = format!("ord_{}", "a".repeat(26));
        let list = ["oncepay", "review", "list", "--state=decided", "--order", &order];
        let cli = Cli::try_parse_from(list).expect("valid");
        let Command::Review(ReviewCommand::List(args)) = cli.command else { panic!("a list") };
        assert_eq!(list_path(&args), format!("/v1/reviews?state=decided&limit=20&order={order}"));
        assert!(Cli::try_parse_from(["oncepay", "review", "list", "--state=Open"]).is_err());
    }

    #[test]
    fn a_decision_says_exactly_one_thing() {
        assert!(args(&[]).is_err());
        assert!(args(&["--paid=t1", "--not-paid"]).is_err());
        let paid = body(&args(&["--paid=t1"]).expect("valid"), &review()).expect("valid");
        assert_eq!(paid["choice"]["amount"], 1999);
        assert_eq!(paid["version"], 1);
        let version = ["--not-paid", "--version=4"];
        let not_paid = body(&args(&version).expect("valid"), &review()).expect("valid");
        assert_eq!(not_paid["choice"], json!({ "kind": "confirm_not_paid", "evidence": "line 4" }));
        assert_eq!(not_paid["version"], 4);
        assert!(args(&["--resubmit"]).is_err(), "a risk must be named");
        assert!(args(&["--resubmit", "--risk=r", "--evidence=e"]).is_err());
        let resubmit = args(&["--resubmit", "--risk=the payer waits"]).expect("valid");
        let resubmit = body(&resubmit, &review()).expect("valid");
        let expected = json!({ "kind": "resubmit_same_key", "risk": "the payer waits" });
        assert_eq!(resubmit["choice"], expected);
    }

    #[test]
    fn a_person_is_told_that_a_second_one_is_needed() {
        let said = outcome("rev_x", &json!({ "outcome": "proposed" }));
        assert!(said.contains("another operator") && said.contains("rev_x"), "{said}");
        let payment = json!({ "id": "pay_x", "state": "Persisted", "message": "paid" });
        let said = outcome("rev_x", &json!({ "outcome": "decided", "payment": payment }));
        assert_eq!(said, "Decided. pay_x Persisted: paid");
    }

    #[test]
    fn a_repeated_decision_has_the_same_id() {
        let of = |transaction: &str| {
            let args = args(&[&format!("--paid={transaction}")]).expect("valid");
            decision_id("rev_x", &body(&args, &review()).expect("valid"))
        };
        assert_eq!(of("t1"), of("t1"));
        assert_ne!(of("t1"), of("t2"));
        assert!(domain::DecisionId::parse(of("t1")).is_ok());
    }
}
