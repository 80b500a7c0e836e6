//! `oncepay resume`: wakes the workflows of payments.

use super::client::{Client, Post};
use super::{cell, print_json, say};
use crate::settings::{ApiArgs, TokenArgs};
use anyhow::bail;
use clap::Args;
use domain::PaymentId;
use domain::ids::derive;
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    operator: TokenArgs,
    /// The payments.
    #[arg(required = true)]
    payments: Vec<String>,
}

/// # Errors
/// A payment that could not be woken; the others were.
pub(crate) async fn run(args: &ResumeArgs) -> anyhow::Result<()> {
    let token = args.operator.require()?;
    let parse = |text: &String| PaymentId::parse(text.clone());
    let payments = args.payments.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let client = Client::new(&args.api)?;
    let mut failed = 0;
    for id in &payments {
        let path = format!("/v1/payment_intents/{id}/resume");
        let key = derive("resume", &[id.as_str()]);
        let post = Post { path: &path, key: &key, token: Some(&token), body: &json!({}) };
        match client.post(post).await {
            Ok(answer) if args.api.json => print_json(&answer.body),
            Ok(answer) => say(&format!("{id} woken; it was {}", cell(&answer.body["state"]))),
            Err(error) => {
                failed += 1;
                eprintln!("{id}: {error:#}");
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} not woken; the same command may be repeated", payments.len());
    }
    Ok(())
}
