//! A machine is set up wrong, and `oncepay config check` says what is missing before a payment
//! does.

use crate::support::world;
use std::process::Command;
use tests::World;
use tests::servers::servers;
use tests::settings::DECISION_KEY;

/// Whether everything is fine, and the findings.
fn check(world: &World, more: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(&servers().binaries.oncepay);
    command
        .args(["config", "check"])
        .env("ONCEPAY_DATABASE_URL", world.database_url("oncepay_api"))
        .env("ONCEPAY_TEMPORAL_ADDRESS", world.temporal_url())
        .env("ONCEPAY_DECISION_KEY", DECISION_KEY)
        .envs(more.iter().copied());
    let output = tokio::task::block_in_place(|| command.output()).expect("oncepay runs");
    let findings = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}: {findings}", output.status);
    (output.status.success(), findings)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_missing_part_is_one_line_and_the_exit_status() {
    let world = world().await;
    let (good, findings) = check(&world, &[]);
    assert!(good && findings.lines().count() == 3, "{findings}");
    let nowhere = world.database_url("oncepay_api").replace("/w", "/no_such_w");
    for (setting, value, of) in [
        ("ONCEPAY_DATABASE_URL", nowhere.as_str(), "PostgreSQL"),
        ("ONCEPAY_TEMPORAL_NAMESPACE", "no-such-namespace", "Temporal"),
        ("ONCEPAY_TEMPORAL_ADDRESS", "http://127.0.0.1:1", "Temporal"),
        ("ONCEPAY_DECISION_KEY", "00", "settings"),
    ] {
        let (good, findings) = check(&world, &[(setting, value)]);
        let problems: Vec<_> =
            findings.lines().filter(|line| line.starts_with("problem")).collect();
        assert!(!good && problems.len() == 1, "{setting}: {findings}");
        assert!(problems[0].starts_with(&format!("problem  {of}: ")), "{findings}");
        assert!(!findings.contains(DECISION_KEY));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_too_old_names_the_command_that_mends_it() {
    let world = world().await;
    let newest = store::migrate::newest_version();
    sqlx::query("DELETE FROM _sqlx_migrations WHERE version = $1")
        .bind(newest)
        .execute(&world.rows)
        .await
        .expect("forgets a migration");
    let (good, findings) = check(&world, &[]);
    assert!(!good && findings.contains("oncepay migrate"), "{findings}");
}
