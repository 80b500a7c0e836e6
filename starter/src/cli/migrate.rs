//! `oncepay migrate`: brings the schema up to date, as the role that owns it.

use super::say;
use crate::settings::{DatabaseArgs, secret};
use anyhow::{Context, bail};
use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use std::path::PathBuf;
use store::Store;
use store::migrate::{OWNER_ROLE, create_database, newest_version};
use url::Url;

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    database_args: DatabaseArgs,
    /// An administrator's address: creates the owner's role and the database where they are
    /// missing, and migrates as the owner.
    #[arg(long, env = "ONCEPAY_ADMIN_URL", hide_env_values = true, requires = "database")]
    admin_url: Option<SecretString>,
    /// A file that holds the administrator's address.
    #[arg(long, env = "ONCEPAY_ADMIN_URL_FILE", requires = "database")]
    admin_url_file: Option<PathBuf>,
    /// The database to create with `--admin-url`.
    #[arg(long)]
    database: Option<String>,
}

/// # Errors
/// What was attempted and why it failed.
pub(crate) async fn run(args: &MigrateArgs) -> anyhow::Result<()> {
    let admin =
        secret("ONCEPAY_ADMIN_URL", args.admin_url.as_ref(), args.admin_url_file.as_deref())?;
    let url = match (&admin, &args.database) {
        (Some(admin), Some(database)) => {
            let owner = owner_url(admin, database)?;
            create_database(admin.expose_secret(), database).await?;
            owner
        }
        (None, None) => args.database_args.read()?,
        _ => bail!("--admin-url and --database go together"),
    };
    let store = Store::connect_lazy(url.expose_secret(), 2).context("ONCEPAY_DATABASE_URL")?;
    store.migrate().await?;
    store.close().await;
    say(&format!("The schema is at migration {}.", newest_version()));
    Ok(())
}

/// The same server, as the owner of the new database. The administrator's password is not the
/// owner's.
fn owner_url(admin: &SecretString, database: &str) -> anyhow::Result<SecretString> {
    let mut url = Url::parse(admin.expose_secret()).context("ONCEPAY_ADMIN_URL is no URL")?;
    let no_user =
        || anyhow::anyhow!("ONCEPAY_ADMIN_URL must be like postgres://USER@HOST/postgres");
    url.set_username(OWNER_ROLE).map_err(|()| no_user())?;
    url.set_password(None).map_err(|()| no_user())?;
    url.set_path(database);
    Ok(SecretString::from(url.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_has_the_server_but_not_the_password() {
        let admin = SecretString::from("postgres://root:secret@db:5433/postgres?sslmode=require");
        let owner = owner_url(&admin, "shop").expect("a URL");
        assert_eq!(owner.expose_secret(), "postgres://oncepay_owner@db:5433/shop?sslmode=require");
        assert!(owner_url(&SecretString::from("postgres"), "shop").is_err());
    }
}
