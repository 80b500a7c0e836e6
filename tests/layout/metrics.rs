//! Metrics by their names: what a dashboard, an alert or the runbook names is something that a
//! program counts. The code is the list of ours. The SDK's own names, and the labels, are held
//! against a running worker by the scenario `dashboard_that_shows_nothing`.

use super::pages::RUNBOOK;
use super::repository::{File, Finding};
use super::source::Source;
use ::tests::metrics::{ALERTS, base_name, named};

pub const PROMETHEUS: &str = "deploy/prometheus/prometheus.yml";
const OURS: &str = "oncepay_";

/// The names in the code.
pub fn ours(files: &[File]) -> Vec<String> {
    let counted = files.iter().filter(|file| file.path.ends_with("/src/metrics.rs"));
    let mut names = Vec::new();
    for file in counted.filter(|file| !file.path.starts_with("tests/")) {
        let source = Source::of(&file.text);
        let strings = source.strings.iter().filter(|range| !source.is_test_only(range.start));
        let strings = strings.map(|range| &file.text[range.clone()]);
        names.extend(strings.filter(|text| text.starts_with(OURS)).map(str::to_owned));
    }
    names
}

/// Names of ours that no program counts.
pub fn unknown_names(path: &str, text: &str, ours: &[String]) -> Vec<Finding> {
    let named = named(text).into_iter().filter(|(_, name)| name.starts_with(OURS));
    let unknown = named.filter(|(_, name)| {
        let is_ours = |name: &str| ours.iter().any(|one| one == name);
        !is_ours(name) && !is_ours(base_name(name))
    });
    unknown
        .map(|(line, name)| Finding::new(path, line, format!("nothing counts `{name}`")))
        .collect()
}

/// Metrics of ours that neither the dashboard nor an alert looks at.
pub fn unseen_names(ours: &[String], seen: &[&str]) -> Vec<Finding> {
    let looks = |name: &&String| {
        seen.iter().any(|text| named(text).iter().any(|(_, seen)| base_name(seen) == **name))
    };
    let unseen = ours.iter().filter(|name| !looks(name));
    let what = |name| format!("show `{name}`, or do not count it");
    unseen.map(|name| Finding::new("deploy/grafana/oncepay.json", 1, what(name))).collect()
}

/// Jobs that a query names and Prometheus does not ask.
pub fn unknown_jobs(path: &str, text: &str, config: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let plain = text.replace("\\\"", "\"");
        for job in plain.split("job=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if !config.lines().any(|line| line.trim() == format!("- job_name: {job}")) {
                findings.push(Finding::new(path, line, format!("{PROMETHEUS} has no job `{job}`")));
            }
        }
    }
    findings
}

/// Alerts of which the runbook does not say what to do.
pub fn untold_alerts(alerts: &str, runbook: &str) -> Vec<Finding> {
    let lines = (1..).zip(alerts.lines());
    let alerts =
        lines.filter_map(|(line, text)| Some((line, text.trim().strip_prefix("- alert: ")?)));
    let untold = alerts.filter(|(_, name)| !runbook.contains(&format!("| `{name}` |")));
    let what = |name| format!("{RUNBOOK} does not say what to do about `{name}`");
    untold.map(|(line, name)| Finding::new(ALERTS, line, what(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_the_code_are_those_that_are_not_in_its_tests() {
        let text = "counter(\"oncepay_a_total\");\n#[cfg(test)]\nmod tests { \"oncepay_b\" }";
        let file = |path: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [file("store/src/metrics.rs"), file("tests/src/metrics.rs"), file("a.rs")];
        assert_eq!(ours(&files), ["oncepay_a_total"]);
    }

    #[test]
    fn a_name_that_nothing_counts_is_found_and_so_is_one_that_nobody_sees() {
        let ours = ["oncepay_a_total".to_owned(), "oncepay_b_seconds".to_owned()];
        let text = "rate(oncepay_a_total[5m])\nsum(oncepay_b_seconds_bucket) + temporal_x";
        assert_eq!(unknown_names("a.yml", text, &ours), []);
        assert_eq!(unknown_names("a.yml", "\noncepay_a{x=\"y\"}", &ours)[0].line, 2);
        assert_eq!(unseen_names(&ours, &[text]), []);
        assert_eq!(unseen_names(&ours, &["oncepay_a_total_more"]).len(), 2);
    }

    #[test]
    fn a_job_that_nobody_asks_and_an_alert_without_advice_are_found() {
        let config = "  - job_name: worker\n";
        assert_eq!(unknown_jobs("a.yml", "up{job=\"worker\"}", config), []);
        assert_eq!(unknown_jobs("a.json", "\nup{job=\\\"workers\\\"}", config)[0].line, 2);
        assert_eq!(untold_alerts("  - alert: Down\n", "| `Down` | x |"), []);
        assert_eq!(untold_alerts("\n  - alert: Down\n", "Down")[0].line, 2);
    }
}
