//! The files that people and other programs read: the state page, the README, docker-compose.

use super::repository::Finding;

/// Set to write the generated page anew.
pub const UPDATE: &str = "UPDATE_GENERATED";
pub const STATE_PAGE: &str = "docs/payment-states.md";

const MAX_README: usize = 150;
/// What a reader types first.
const COMMANDS: [&str; 2] = ["cargo dev demo", "cargo dev test"];
/// Everything that has to run; others may be there too.
const SERVICES: [&str; 13] = [
    "grafana",
    "oncepay-database",
    "oncepay-migrate",
    "postgres",
    "prometheus",
    "sandbox",
    "starter",
    "temporal",
    "temporal-namespace",
    "temporal-postgres",
    "temporal-schema",
    "temporal-ui",
    "worker",
];

/// Settings of temporalio/ui.
const SWITCHED_OFF: [&str; 2] =
    ["TEMPORAL_BATCH_ACTIONS_DISABLED", "TEMPORAL_WORKFLOW_TERMINATE_DISABLED"];
pub const RUNBOOK: &str = "docs/RUNBOOK.md";
const MAX_RUNBOOK: usize = 200;

/// The first line in which a generated page differs from what generates it.
pub fn stale_page(path: &str, committed: &str, fresh: &str) -> Vec<Finding> {
    if committed == fresh {
        return Vec::new();
    }
    let same = committed.lines().zip(fresh.lines()).take_while(|(old, new)| old == new).count();
    let what = format!("stale; `{UPDATE}=1 cargo test --workspace --test layout` writes it anew");
    vec![Finding::new(path, same + 1, what)]
}

pub fn readme(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_README {
        let what = format!("{lines} lines of {MAX_README}; move what is not needed first to docs/");
        findings.push(Finding::new(path, MAX_README + 1, what));
    }
    for command in COMMANDS {
        if !text.contains(command) {
            findings.push(Finding::new(path, 1, format!("does not name `{command}`")));
        }
    }
    findings
}

pub fn runbook(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = untold_rules(path, text);
    let lines = text.lines().count();
    if lines > MAX_RUNBOOK {
        let what = format!("{lines} lines of {MAX_RUNBOOK}; nobody reads more at night");
        findings.push(Finding::new(path, MAX_RUNBOOK + 1, what));
    }
    findings
}

pub fn missing_services(path: &str, text: &str) -> Vec<Finding> {
    let is_there =
        |service: &&str| text.lines().any(|line| line.trim_end() == format!("  {service}:"));
    let missing = SERVICES.iter().filter(|service| !is_there(service));
    missing.map(|name| Finding::new(path, 1, format!("add the service `{name}`"))).collect()
}

/// Every search attribute that the workflows set is created, with its type.
pub fn missing_attributes(path: &str, text: &str, wanted: &[(&str, &str)]) -> Vec<Finding> {
    let told =
        |(name, kind): &&(&str, &str)| text.contains(&format!("--name {name} --type {kind}"));
    let missing = wanted.iter().filter(|attribute| !told(attribute));
    let what = |(name, kind): &(&str, &str)| format!("create `--name {name} --type {kind}`");
    missing.map(|attribute| Finding::new(path, 1, what(attribute))).collect()
}

/// Actions that would end or change many payments at once stay off in the Web UI.
pub fn allowed_actions(path: &str, text: &str) -> Vec<Finding> {
    let is_off = |name: &&str| text.contains(&format!("{name}: \"true\""));
    let missing = SWITCHED_OFF.iter().filter(|name| !is_off(name));
    let what = |name: &&str| format!("set `{name}: \"true\"` for the Web UI");
    missing.map(|name| Finding::new(path, 1, what(name))).collect()
}

/// Every rule that an explanation cites is told to operators.
pub fn untold_rules(path: &str, text: &str) -> Vec<Finding> {
    let words = domain::explain::Rule::ALL.map(domain::explain::Rule::as_str);
    let missing = words.iter().filter(|word| !text.contains(&format!("| `{word}` |")));
    missing.map(|word| Finding::new(path, 1, format!("tell the rule `{word}`"))).collect()
}

/// Every setting of our programs is one that a program reads; `code` is the code of all of them.
pub fn unknown_settings(path: &str, text: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let name = text.trim_start().split(':').next().unwrap_or_default();
        let is_setting = name.starts_with("ONCEPAY_") || name.starts_with("SANDBOX_");
        if is_setting && !code.contains(&format!("\"{name}\"")) {
            let what = format!("no program of ours reads `{name}`");
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_is_found_at_its_first_difference() {
        assert_eq!(stale_page("a.md", "a\nb\n", "a\nb\n"), []);
        assert_eq!(stale_page("a.md", "a\nb\n", "a\nc\n")[0].line, 2);
        assert_eq!(stale_page("a.md", "a\n", "a\nc\n")[0].line, 2);
        assert_eq!(stale_page("a.md", "a\n", "a")[0].line, 2);
    }

    #[test]
    fn a_long_readme_or_one_without_the_commands_is_found() {
        let good = format!("{}\n{}\n", COMMANDS[0], COMMANDS[1]);
        assert_eq!(readme("README.md", &good), []);
        assert_eq!(readme("README.md", COMMANDS[0]).len(), 1);
        assert_eq!(readme("README.md", &format!("{good}{}", "x\n".repeat(149))).len(), 1);
    }

    #[test]
    fn a_rule_that_operators_are_not_told_is_found() {
        let rules = domain::explain::Rule::ALL.map(|rule| format!("| `{}` | x |", rule.as_str()));
        assert_eq!(runbook("r.md", &rules.join("\n")), []);
        let findings = runbook("r.md", &rules[1..].join("\n"));
        assert_eq!(findings.len(), 1, "{findings:?}");
        let long = format!("{}{}", rules.join("\n"), "\n".repeat(MAX_RUNBOOK));
        assert_eq!(runbook("r.md", &long).len(), 1);
    }

    #[test]
    fn a_web_ui_that_may_end_many_payments_is_found() {
        let off: String = SWITCHED_OFF.map(|name| format!("      {name}: \"true\"\n")).concat();
        assert_eq!(allowed_actions("d.yml", &off), []);
        let on = off.replacen("true", "false", 1);
        assert_eq!(allowed_actions("d.yml", &on).len(), 1);
    }

    #[test]
    fn a_missing_service_is_found() {
        let text = SERVICES.map(|name| format!("  {name}:\n")).concat();
        assert_eq!(missing_services("c.yml", &text), []);
        let text = text.replace("  worker:", "  # worker:");
        assert_eq!(missing_services("c.yml", &text).len(), 1);
    }

    #[test]
    fn a_missing_attribute_and_one_of_another_type_are_found() {
        let wanted = [("Amount", "Int"), ("Channel", "Keyword")];
        let check = |text| missing_attributes("c.yml", text, &wanted).len();
        assert_eq!(check("--name Amount --type Int\n--name Channel --type Keyword"), 0);
        assert_eq!(check("--name Amount --type Int\n--name Channel --type Text"), 1);
    }

    #[test]
    fn a_setting_that_nothing_reads_is_found() {
        let code = r#"env = "ONCEPAY_LISTEN""#;
        let check = |text| unknown_settings("c.yml", text, code).len();
        assert_eq!(check("      ONCEPAY_LISTEN: 1\n      OTHER: ${ONCEPAY_X}"), 0);
        assert_eq!(check("      ONCEPAY_LISTENS: 1"), 1);
    }
}
