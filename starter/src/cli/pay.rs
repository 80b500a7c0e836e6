//! `oncepay pay`: takes a payment through the API.

use super::client::{Client, Post};
use super::print_json;
use super::say;
use crate::settings::{ApiArgs, TokenArgs};
use clap::Args;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::process::ExitCode;

/// The exit status once the payer is not charged and never will be under this key.
const NOT_CHARGED: u8 = 3;
/// The exit status while nobody knows, or a person must look.
const NOT_KNOWN: u8 = 4;
const EXIT_STATUS: &str = "Exit status: 0 paid; 3 declined or not charged; 4 not known yet, or a \
    person must look; 1 the request failed (the same command may be repeated); 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct PayArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// Who is paid.
    #[arg(long)]
    merchant: String,
    /// The order that is paid for.
    #[arg(long)]
    order: String,
    /// What the order costs, in minor units: 1999 is CNY 19.99.
    #[arg(long)]
    amount: u64,
    /// The order's currency, an ISO 4217 code.
    #[arg(long)]
    currency: String,
    /// The channel.
    #[arg(long)]
    channel: String,
    /// Our account at the channel.
    #[arg(long)]
    account: String,
    /// The channel's token for how the payer pays.
    #[arg(long)]
    payment_method: String,
    /// The idempotency key: the same key never charges twice.
    #[arg(long)]
    key: String,
    #[command(flatten)]
    token: TokenArgs,
}

/// # Errors
/// The API's problem as a sentence.
pub(crate) async fn run(args: &PayArgs) -> anyhow::Result<ExitCode> {
    let body = json!({
        "merchant": args.merchant,
        "order": args.order,
        "amount": args.amount,
        "currency": args.currency,
        "channel": args.channel,
        "account": args.account,
        "payment_method": args.payment_method,
    });
    let token = args.token.read()?;
    let path = "/v1/payment_intents";
    let post = Post { path, key: &args.key, token: token.as_ref(), body: &body };
    let answer = Client::new(&args.api)?.post(post).await?;
    if args.api.json {
        print_json(&answer.body);
    } else {
        say(&line(answer.status, &answer.body));
    }
    Ok(ExitCode::from(exit_status(&answer.body)))
}

/// Money that the order does not need is no success: somebody must give it back.
fn exit_status(payment: &Value) -> u8 {
    let text = |name: &str| payment[name].as_str();
    match (text("state"), text("effect")) {
        (Some("Succeeded"), _) | (Some("Persisted"), Some("Applied")) => 0,
        (Some("Failed" | "Closed"), _) => NOT_CHARGED,
        _ => NOT_KNOWN,
    }
}

/// A payment in one line.
fn line(status: StatusCode, payment: &Value) -> String {
    let text = |name: &str| payment[name].as_str().unwrap_or("-");
    let later = if status == StatusCode::ACCEPTED {
        format!("\nAsk again with: oncepay status {}", text("id"))
    } else {
        String::new()
    };
    format!("{} {}: {}{later}", text("id"), text("state"), text("message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::payment::render;
    use crate::resources::payment::tests::{intent, view};
    use domain::state_page;

    #[test]
    fn a_script_reads_from_the_exit_status_whether_it_may_deliver_or_ask_again() {
        for (name, state) in state_page::states() {
            let status = exit_status(&render(&intent(), &view(state.clone()).into()));
            let wanted = match state.name() {
                "Succeeded" | "Persisted" => 0,
                "Failed" | "Closed" => NOT_CHARGED,
                _ => NOT_KNOWN,
            };
            assert_eq!(status, wanted, "{name}");
        }
        let surplus = json!({ "state": "Persisted", "effect": "Surplus" });
        assert_eq!(exit_status(&surplus), NOT_KNOWN);
    }

    #[test]
    fn a_payment_that_is_not_finished_says_how_to_ask_again() {
        let payment = json!({ "id": "pay_x", "state": "Unknown", "message": "not known yet" });
        let line_200 = line(StatusCode::OK, &payment);
        assert_eq!(line_200, "pay_x Unknown: not known yet");
        assert!(line(StatusCode::ACCEPTED, &payment).ends_with("oncepay status pay_x"));
    }
}
