//! What docker-compose brings up: always the same images, reachable from this machine only, with
//! files that are there. The file is read by its lines, as it is written here.

use super::repository::Finding;

/// Built from this repository, so they have no version of their own.
const BUILT_HERE: &str = "oncepay/";
const LOOPBACK: &str = "127.0.0.1:";
/// Old names of the format; a name of the whole is for whoever runs it to give.
const RETIRED: [&str; 2] = ["version:", "name:"];

/// Images without a version that somebody chose.
pub fn loose_images(path: &str, text: &str) -> Vec<Finding> {
    let images =
        numbered(text).filter_map(|(line, text)| Some((line, text.strip_prefix("image: ")?)));
    let is_loose = |image: &str| {
        let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag.trim_start_matches('v'));
        !image.starts_with(BUILT_HERE) && !tag.starts_with(|first: char| first.is_ascii_digit())
    };
    let loose = images.filter(|(_, image)| is_loose(image));
    let what = |image| format!("`{image}`: give it a version");
    loose.map(|(line, image)| Finding::new(path, line, what(image))).collect()
}

/// Ports that others than this machine would reach.
pub fn open_ports(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_ports = false;
    for (line, text) in numbered(text) {
        match text.strip_prefix("- ") {
            Some(port) if in_ports && !port.trim_matches('"').starts_with(LOOPBACK) => {
                findings.push(Finding::new(path, line, format!("{port}: begin with `{LOOPBACK}`")));
            }
            Some(_) => {}
            None => in_ports = text == "ports:",
        }
    }
    findings
}

pub fn retired_keys(path: &str, text: &str) -> Vec<Finding> {
    let lines = (1..).zip(text.lines());
    let retired = lines.filter(|(_, line)| RETIRED.iter().any(|key| line.starts_with(key)));
    retired.map(|(line, key)| Finding::new(path, line, format!("remove `{key}`"))).collect()
}

/// Files and folders of ours that are mounted and are not there.
pub fn missing_mounts(path: &str, text: &str, is_there: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mounts = numbered(text).filter_map(|(line, text)| {
        let (from, _) = text.strip_prefix("- ./")?.split_once(':')?;
        Some((line, from))
    });
    let missing = mounts.filter(|(_, from)| !is_there(from));
    missing.map(|(line, from)| Finding::new(path, line, format!("`{from}` is not there"))).collect()
}

/// The lines with their numbers, without what is before and after the words.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_version_is_found() {
        let images = "image: postgres:18\nimage: prom/prometheus:v3.5.0\nimage: oncepay/worker";
        assert_eq!(loose_images("c.yml", images), []);
        for loose in ["image: postgres", "image: postgres:latest", "image: host:80/postgres"] {
            assert_eq!(loose_images("c.yml", loose).len(), usize::from(!loose.contains("80")));
        }
    }

    #[test]
    fn a_port_that_others_reach_is_found() {
        let port = |port| format!("    ports:\n      - {port}\n    volumes:\n      - a:/b\n");
        assert_eq!(open_ports("c.yml", &port("\"127.0.0.1:80:80\"")), []);
        for open in ["\"80:80\"", "8080", "\"0.0.0.0:80:80\""] {
            assert_eq!(open_ports("c.yml", &port(open))[0].line, 2, "{open}");
        }
    }

    #[test]
    fn a_retired_key_is_found_at_the_top_only() {
        assert_eq!(retired_keys("c.yml", "services:\n  a:\n    name: b\n"), []);
        assert_eq!(retired_keys("c.yml", "version: '3'\nname: b\n").len(), 2);
    }

    #[test]
    fn a_mount_of_nothing_is_found() {
        let text = "volumes:\n  - ./deploy/a.yml:/etc/a.yml:ro\n  - data:/var\n";
        assert_eq!(missing_mounts("c.yml", text, |path| path == "deploy/a.yml"), []);
        assert_eq!(missing_mounts("c.yml", text, |_| false)[0].line, 2);
    }
}
