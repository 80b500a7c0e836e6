//! Which crate may import which, read from `cargo metadata`; and what is never built, read from
//! `cargo tree`.

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use super::repository::{Finding, Repository};

static METADATA: LazyLock<Metadata> = LazyLock::new(read);

/// What one of our crates may import of ours, and what of others it may not name.
struct Rule {
    package: &'static str,
    ours: &'static [&'static str],
    /// A name that ends in `*` stands for all that begin with it.
    banned: &'static [&'static str],
}

const RULES: [Rule; 11] = [
    Rule {
        package: "activities",
        ours: &["channels", "domain", "store", "workflows"],
        banned: &["axum", "reqwest", "sqlx"],
    },
    Rule { package: "bench", ours: &[], banned: &["reqwest", "sqlx"] },
    Rule { package: "channels", ours: &["domain"], banned: &["sqlx", "temporalio-*"] },
    Rule { package: "dev", ours: &[], banned: &["sqlx", "temporalio-*", "tokio"] },
    Rule { package: "domain", ours: &[], banned: &["chrono", "rand", "reqwest", "sqlx", "tokio"] },
    Rule { package: "sandbox", ours: &[], banned: &["sqlx", "temporalio-*"] },
    Rule {
        package: "starter",
        ours: &["channels", "domain", "store", "workflows"],
        banned: &["sqlx"],
    },
    Rule { package: "store", ours: &["domain"], banned: &["reqwest", "temporalio-*"] },
    Rule {
        package: "tests",
        ours: &["activities", "channels", "dev", "domain", "store", "workflows"],
        banned: &[],
    },
    Rule {
        package: "worker",
        ours: &["activities", "channels", "store", "workflows"],
        banned: &["reqwest", "sqlx"],
    },
    Rule { package: "workflows", ours: &["domain"], banned: &["reqwest", "sqlx", "tokio", "uuid"] },
];

/// The test programs of package `tests`: each one links the SDK anew.
const TEST_PROGRAMS: [&str; 2] = ["layout", "scenarios"];

/// One cryptographic library everywhere: `aws-lc-rs`.
const NEVER_BUILT: [&str; 4] = ["native-tls", "openssl", "ring", "rsa"];

/// What a manifest asks for.
struct Import {
    name: String,
    is_ours: bool,
    /// For tests only: others' crates are free there, the arrows between ours are not.
    for_tests: bool,
}

/// An import that must go, and what to do.
struct Wrong {
    name: String,
    what: String,
}

pub fn wrong_arrows() -> Vec<Finding> {
    check_all(wrong_imports_of_ours)
}

pub fn banned_crates() -> Vec<Finding> {
    check_all(banned_imports)
}

pub fn wrong_test_programs() -> Vec<Finding> {
    let tests = METADATA.workspace_packages().into_iter().find(|package| package.name == "tests");
    let targets = tests.into_iter().flat_map(|package| &package.targets);
    let mut names: Vec<_> =
        targets.filter(|target| target.is_test()).map(|target| target.name.as_str()).collect();
    names.sort_unstable();
    if names == TEST_PROGRAMS {
        return Vec::new();
    }
    let what = format!(
        "the test programs are {names:?} and not {TEST_PROGRAMS:?}; a scenario is a module of \
         scenarios/main.rs"
    );
    vec![Finding::new("tests/Cargo.toml", 1, what)]
}

/// In what is built for this machine with the default features, tests included.
pub fn second_cryptography() -> Vec<Finding> {
    let tree = tree(&["--prefix", "none", "--format", "{p}"]);
    // Would be missing if the tree were another than expected.
    assert!(packages(&tree).any(|name| name == "aws-lc-rs"), "cargo tree says:\n{tree}");
    let lock = Repository::get().text("Cargo.lock").unwrap_or_default();
    let found = never_built(&tree).into_iter().map(|name| {
        let users = self::tree(&["--depth", "3", "--invert", name]);
        let what = format!("{name} is built; switch off the feature that brings it:\n{users}");
        Finding::new("Cargo.lock", line_with(lock, &format!("name = \"{name}\"")), what)
    });
    found.collect()
}

fn check_all(rule: fn(&Rule, &[Import]) -> Vec<Wrong>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in METADATA.workspace_packages() {
        let path = manifest(package);
        let manifest = Repository::get().text(&path).unwrap_or_default();
        let Some(own) = RULES.iter().find(|rule| rule.package == package.name.as_str()) else {
            let what = "a new crate: say in `tests/layout/crates.rs` what it may import";
            findings.push(Finding::new(&path, 1, what));
            continue;
        };
        for Wrong { name, what } in rule(own, &imports(package)) {
            findings.push(Finding::new(&path, line_with(manifest, &name), what));
        }
    }
    findings
}

fn wrong_imports_of_ours(rule: &Rule, imports: &[Import]) -> Vec<Wrong> {
    let wrong = imports.iter().filter(|it| it.is_ours && !rule.ours.contains(&it.name.as_str()));
    let advise = |import: &Import| {
        let Rule { package, ours, .. } = rule;
        let what = format!(
            "{package} may not import {}, only {ours:?}; move the code to where the arrow points",
            import.name
        );
        Wrong { name: import.name.clone(), what }
    };
    wrong.map(advise).collect()
}

fn banned_imports(rule: &Rule, imports: &[Import]) -> Vec<Wrong> {
    let is_banned = |name: &str| {
        rule.banned.iter().any(|banned| match banned.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *banned,
        })
    };
    let wrong = imports.iter().filter(|it| !it.is_ours && !it.for_tests && is_banned(&it.name));
    let advise = |import: &Import| {
        let what = format!(
            "{} may not import {}; the crate whose work that is offers it to the others",
            rule.package, import.name
        );
        Wrong { name: import.name.clone(), what }
    };
    wrong.map(advise).collect()
}

fn imports(package: &Package) -> Vec<Import> {
    let import = |dependency: &cargo_metadata::Dependency| Import {
        name: dependency.name.clone(),
        is_ours: dependency.path.is_some(),
        for_tests: dependency.kind == DependencyKind::Development,
    };
    package.dependencies.iter().map(import).collect()
}

fn manifest(package: &Package) -> String {
    let root = Path::new(METADATA.workspace_root.as_str());
    let path = Path::new(package.manifest_path.as_str());
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn line_with(text: &str, start: &str) -> usize {
    let place = text.lines().position(|line| {
        let rest = line.trim_start().strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ', '=']))
    });
    place.map_or(1, |index| index + 1)
}

fn never_built(tree: &str) -> Vec<&'static str> {
    NEVER_BUILT.into_iter().filter(|never| packages(tree).any(|name| name == *never)).collect()
}

/// The names of the packages in lines such as `ring v0.17.14 (*)`.
fn packages(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().filter_map(|line| line.split_whitespace().next())
}

fn read() -> Metadata {
    let mut command = MetadataCommand::new();
    command.current_dir(&Repository::get().root).no_deps();
    command.other_options(["--offline".to_owned()]).exec().expect("cargo metadata runs")
}

fn tree(args: &[&str]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(&Repository::get().root).args(["tree", "--workspace", "--offline"]);
    let output = command.args(args).output().expect("cargo starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree failed:\n{told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(name: &str) -> Import {
        Import { name: name.to_owned(), is_ours: false, for_tests: false }
    }

    fn ours(name: &str) -> Import {
        Import { is_ours: true, ..import(name) }
    }

    fn rule(package: &str) -> &'static Rule {
        RULES.iter().find(|rule| rule.package == package).unwrap()
    }

    #[test]
    fn an_arrow_that_the_table_lacks_is_found() {
        let wrong = |package, import| wrong_imports_of_ours(rule(package), &[import]).len();
        assert_eq!(wrong("domain", ours("store")), 1);
        assert_eq!(wrong("sandbox", ours("channels")), 1);
        assert_eq!(wrong("tests", Import { for_tests: true, ..ours("sandbox") }), 1);
        assert_eq!(wrong("workflows", ours("domain")), 0);
        assert_eq!(wrong("workflows", import("store")), 0);
    }

    #[test]
    fn a_banned_crate_is_found() {
        let banned = |package, import| banned_imports(rule(package), &[import]).len();
        assert_eq!(banned("workflows", import("tokio")), 1);
        assert_eq!(banned("sandbox", import("temporalio-client")), 1);
        assert_eq!(banned("starter", import("sqlx")), 1);
        assert_eq!(banned("domain", import("tokio")), 1);
        assert_eq!(banned("domain", Import { for_tests: true, ..import("tokio") }), 0);
        assert_eq!(banned("activities", import("tokio")), 0);
    }

    #[test]
    fn what_is_never_built_is_found_in_a_tree() {
        assert_eq!(never_built("rustls v0.23.1\nring v0.17.14 (*)\nrsa v0.9.0"), ["ring", "rsa"]);
        assert!(never_built("spring v1.0.0\nring-buffer v0.1.0\nopenssl-probe v0.1.5").is_empty());
    }

    #[test]
    fn a_dependency_is_found_in_its_manifest() {
        let manifest =
            "[package]\nname = \"a\"\n\n[dependencies]\nstore-x = \"1\"\nstore.workspace";
        assert_eq!(line_with(manifest, "store"), 6);
        assert_eq!(line_with("[[package]]\nname = \"ring\"", "name = \"ring\""), 2);
    }
}
