//! `oncepay operator`: who may decide reviews, as the owner of the database keeps them.

use super::{print_json, say, table};
use crate::resources::rfc3339;
use crate::settings::{DatabaseArgs, secret};
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use domain::operator::{OperatorName, TokenDigest};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::path::PathBuf;
use store::Store;
use store::operators::{AddedOperator, KnownName};

/// Bytes of a token that is drawn: 256 bits.
const TOKEN_BYTES: usize = 32;

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorCommand {
    /// Add a person who may decide reviews. Their token is printed once and kept nowhere.
    Add(AddArgs),
    /// List everybody who may or might decide.
    List(ListArgs),
    /// From now on this person's token proves nothing.
    Disable(DisableArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// 1 to 40 characters of a-z, 0-9, `.`, `_` and `-`.
    name: OperatorName,
    /// A token that was made elsewhere, instead of a random one that is printed.
    #[arg(long, env = "ONCEPAY_NEW_OPERATOR_TOKEN", hide_env_values = true)]
    token: Option<SecretString>,
    /// A file that holds that token.
    #[arg(long, env = "ONCEPAY_NEW_OPERATOR_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Give a name that is there another token; also one that was disabled.
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DisableArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The operator.
    name: OperatorName,
}

/// # Errors
/// What was attempted and why it failed.
pub(crate) async fn run(command: &OperatorCommand) -> anyhow::Result<()> {
    match command {
        OperatorCommand::Add(args) => add(args).await,
        OperatorCommand::List(args) => list(args).await,
        OperatorCommand::Disable(args) => disable(args).await,
    }
}

fn connect(database: &DatabaseArgs) -> anyhow::Result<Store> {
    let url = database.read()?;
    Store::connect_lazy(url.expose_secret(), 1).context("ONCEPAY_DATABASE_URL")
}

async fn add(args: &AddArgs) -> anyhow::Result<()> {
    let file = args.token_file.as_deref();
    let given = secret("ONCEPAY_NEW_OPERATOR_TOKEN", args.token.as_ref(), file)?;
    let token = given.clone().map_or_else(draw, Ok)?;
    let digest = TokenDigest::of(token.expose_secret())?;
    let known = if args.replace { KnownName::Replace } else { KnownName::Refuse };
    let store = connect(&args.database)?;
    let name = &args.name;
    match store.add_operator(name, &digest, known).await? {
        AddedOperator::Added => {}
        AddedOperator::NameTaken => {
            bail!("{name} is there already; --replace gives the name another token")
        }
        AddedOperator::TokenTaken => bail!("another operator has this token"),
    }
    store.close().await;
    if given.is_none() {
        // Alone on standard output, so that a script can keep it.
        say(token.expose_secret());
        eprintln!("{name} may decide with this token. It is not shown again.");
    } else {
        eprintln!("{name} may decide with the token that was given.");
    }
    Ok(())
}

fn draw() -> anyhow::Result<SecretString> {
    let mut bytes = [0; TOKEN_BYTES];
    aws_lc_rs::rand::fill(&mut bytes).ok().context("drawing a random token")?;
    Ok(SecretString::from(hex::encode(bytes)))
}

async fn list(args: &ListArgs) -> anyhow::Result<()> {
    let store = connect(&args.database)?;
    let operators = store.read_operators().await?;
    store.close().await;
    if args.json {
        let entry = |operator: &store::operators::OperatorRecord| {
            json!({
                "object": "operator",
                "name": operator.name,
                "created_at": rfc3339(operator.created_at),
                "disabled_at": operator.disabled_at.map(rfc3339),
            })
        };
        print_json(&json!({
            "object": "list", "data": operators.iter().map(entry).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let row = |operator: &store::operators::OperatorRecord| {
        let disabled = operator.disabled_at.map_or_else(|| "-".to_owned(), rfc3339);
        vec![operator.name.clone(), rfc3339(operator.created_at), disabled]
    };
    say(&table(&["name", "added at", "disabled at"], operators.iter().map(row)));
    Ok(())
}

async fn disable(args: &DisableArgs) -> anyhow::Result<()> {
    let store = connect(&args.database)?;
    let found = store.disable_operator(&args.name).await?;
    store.close().await;
    if !found {
        bail!("there is no operator {}", args.name);
    }
    say(&format!("{} may decide no more.", args.name));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_token_is_a_token_and_never_the_same() {
        let (one, other) = (draw().expect("drawn"), draw().expect("drawn"));
        assert_eq!(one.expose_secret().len(), 2 * TOKEN_BYTES);
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert!(TokenDigest::of(one.expose_secret()).is_ok());
    }
}
