//! What the dashboard and the alerts ask Prometheus for, read from their own files.

/// The dashboard of docker-compose's Grafana.
pub const DASHBOARD: &str = "deploy/grafana/oncepay.json";
/// The alerts of docker-compose's Prometheus.
pub const ALERTS: &str = "deploy/prometheus/alerts.yml";

/// What a histogram is called in a query.
const OF_HISTOGRAMS: [&str; 3] = ["_bucket", "_count", "_sum"];
/// How the names of our metrics and of the SDK's begin.
const BEGINNINGS: [&str; 2] = ["oncepay_", "temporal_"];

/// The metrics that a text names, ours and the SDK's, with the lines they are in.
#[must_use]
pub fn named(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let names = names.filter(|name| BEGINNINGS.iter().any(|start| name.starts_with(start)));
        found.extend(names.map(|name| (line, name)));
    }
    found
}

/// A metric's own name, where a query names a part of a histogram.
#[must_use]
pub fn base_name(name: &str) -> &str {
    OF_HISTOGRAMS.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name)
}

/// The labels that sums are made by: what stands in `by (…)`.
#[must_use]
pub fn grouped_by(text: &str) -> Vec<&str> {
    let lists = text.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    lists.flat_map(|list| list.split(',')).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_read_from_queries() {
        let text = "{\n\
                    \"expr\": \"sum by (le, job) (rate(oncepay_a_s_bucket{x=\\\"1\\\"}[5m]))\"\n\
                    max by (reason) (temporal_b) / up";
        assert_eq!(named(text), [(2, "oncepay_a_s_bucket"), (3, "temporal_b")]);
        assert_eq!(base_name("oncepay_a_seconds_bucket"), "oncepay_a_seconds");
        assert_eq!(base_name("temporal_b"), "temporal_b");
        assert_eq!(grouped_by(text), ["le", "job", "reason"]);
    }
}
