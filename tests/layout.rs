//! The rules of this repository that a machine can check. Each failure names the place and what to
//! do; how a rule is checked, and samples that break it, are in `layout/`.

mod layout {
    pub mod bans;
    pub mod compose;
    pub mod crates;
    pub mod excerpts;
    pub mod floats;
    pub mod guarantees;
    pub mod metrics;
    pub mod pages;
    pub mod panics;
    pub mod repository;
    pub mod size;
    pub mod source;
    pub mod sql;
}

use ::tests::metrics::{ALERTS, DASHBOARD};
use layout::repository::{Finding, Repository, is_rust, report};
use layout::{
    bans, compose, crates, excerpts, floats, guarantees, metrics, pages, panics, size, sql,
};

#[test]
fn crates_import_only_along_the_arrows() {
    report(&crates::wrong_arrows());
}

#[test]
fn crates_do_not_name_what_is_not_their_work() {
    report(&crates::banned_crates());
}

#[test]
fn package_tests_has_two_test_programs() {
    report(&crates::wrong_test_programs());
}

#[test]
fn one_cryptographic_library_is_built() {
    report(&crates::second_cryptography());
}

#[test]
fn files_are_short() {
    report(&in_rust(size::long_files));
}

#[test]
fn functions_are_short() {
    report(&in_rust(size::long_functions));
}

#[test]
fn lines_are_short() {
    report(&in_rust(size::long_lines));
}

#[test]
fn code_says_nothing_that_is_banned() {
    report(&in_rust(bans::banned_code));
}

#[test]
fn no_float_comes_near_money() {
    report(&in_rust(floats::floats));
}

#[test]
fn a_panic_outside_tests_says_why_it_cannot_happen() {
    report(&in_rust(panics::unexplained_panics));
}

#[test]
fn every_query_of_the_store_has_a_name() {
    report(&in_rust(sql::nameless_queries));
}

#[test]
fn no_file_holds_a_word_that_does_not_belong() {
    // A checksum may hold any letters.
    report(&Repository::get().check(|path| path != "Cargo.lock", bans::foreign_words));
}

#[test]
fn migrations_are_numbered_without_a_gap() {
    let files = Repository::get().files.iter().map(|file| file.path.as_str());
    let paths: Vec<_> = files.filter(|path| sql::is_migration(path)).collect();
    assert!(!paths.is_empty(), "no migration found");
    report(&sql::misnumbered_migrations(&paths));
}

#[test]
fn migrations_take_nothing_away() {
    report(&Repository::get().check(sql::is_migration, sql::destructive_migrations));
}

#[test]
fn the_page_of_payment_states_is_current() {
    let path = Repository::get().root.join(pages::STATE_PAGE);
    let fresh = domain::state_page::render();
    if std::env::var(pages::UPDATE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    report(&pages::stale_page(pages::STATE_PAGE, &committed, &fresh));
}

#[test]
fn the_page_of_guarantees_is_current() {
    let repository = Repository::get();
    let path = repository.root.join(guarantees::PAGE);
    let fresh = guarantees::render(&repository.files);
    if std::env::var(pages::UPDATE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    report(&pages::stale_page(guarantees::PAGE, &committed, &fresh));
}

#[test]
fn the_page_for_clients_quotes_what_the_tests_run() {
    let repository = Repository::get();
    let path = repository.root.join(excerpts::PAGE);
    let read = || std::fs::read_to_string(&path).expect("the page is there");
    report(&excerpts::unquoted(&read()));
    let fresh = excerpts::render(&read(), |path| repository.text(path));
    let findings = fresh.as_ref().err().map_or(&[][..], Vec::as_slice);
    report(findings);
    let fresh = fresh.expect("no finding");
    if std::env::var(pages::UPDATE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    report(&pages::stale_page(excerpts::PAGE, &read(), &fresh));
}

#[test]
fn the_readme_is_short_and_names_both_commands() {
    report(&Repository::get().check(|path| path == "README.md", pages::readme));
}

#[test]
fn the_runbook_is_short_and_tells_every_rule() {
    let repository = Repository::get();
    let text = repository.text(pages::RUNBOOK).expect("the runbook is there");
    report(&pages::runbook(pages::RUNBOOK, text));
}

#[test]
fn docker_compose_runs_everything_with_settings_that_are_read() {
    const FILE: &str = "docker-compose.yml";
    let repository = Repository::get();
    let text = repository.text(FILE).expect("docker-compose.yml is there");
    let of_programs = |path: &&str| {
        let mut parts = path.split('/');
        matches!(parts.next(), Some("worker" | "starter" | "sandbox")) && is_rust(path)
    };
    let files = repository.files.iter().filter(|file| of_programs(&file.path.as_str()));
    let code: String = files.map(|file| file.text.as_str()).collect();
    let mut findings = pages::missing_services(FILE, text);
    findings.extend(pages::missing_attributes(FILE, text, &dev::temporal::SEARCH_ATTRIBUTES));
    findings.extend(pages::unknown_settings(FILE, text, &code));
    findings.extend(pages::allowed_actions(FILE, text));
    findings.extend(compose::loose_images(FILE, text));
    findings.extend(compose::open_ports(FILE, text));
    findings.extend(compose::retired_keys(FILE, text));
    let is_there = |path: &str| repository.root.join(path).exists();
    findings.extend(compose::missing_mounts(FILE, text, is_there));
    report(&findings);
}

#[test]
fn every_metric_that_is_looked_at_is_counted_and_every_alert_has_advice() {
    let repository = Repository::get();
    let text = |path| repository.text(path).unwrap_or_else(|| panic!("{path} is there"));
    let ours = metrics::ours(&repository.files);
    assert!(!ours.is_empty(), "no metric found");
    let looks = [DASHBOARD, ALERTS];
    let mut findings = Vec::new();
    for path in [DASHBOARD, ALERTS, pages::RUNBOOK] {
        findings.extend(metrics::unknown_names(path, text(path), &ours));
        findings.extend(metrics::unknown_jobs(path, text(path), text(metrics::PROMETHEUS)));
    }
    findings.extend(metrics::unseen_names(&ours, &looks.map(text)));
    findings.extend(metrics::untold_alerts(text(ALERTS), text(pages::RUNBOOK)));
    report(&findings);
}

#[test]
fn the_attributes_that_are_checked_are_those_that_are_created() {
    let checked = workflows::attributes::ALL.map(|(name, kind)| (name, format!("{kind:?}")));
    let created = dev::temporal::SEARCH_ATTRIBUTES.map(|(name, kind)| (name, kind.to_owned()));
    assert_eq!(checked, created);
}

fn in_rust(rule: impl Fn(&str, &str) -> Vec<Finding>) -> Vec<Finding> {
    Repository::get().check(is_rust, rule)
}
