//! `cargo dev status` and `cargo dev down`.
//!
//! Neither starts anything.

use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use dev::http;
use dev::paths::Workspace;
use dev::postgres::query;
use dev::stack::Addresses;
use dev::state::State;
use dev::table;
use dev::temporal;
use serde_json::json;

const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Longer than the graces of all parts together.
const DOWN_LIMIT: Duration = Duration::from_mins(2);

/// How the answer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Table,
    Json,
}

pub fn run(workspace: &Workspace, shape: Shape) -> ExitCode {
    let Some(state) = State::running(workspace) else {
        match shape {
            Shape::Table => println!("nothing is up; `cargo dev up` starts everything"),
            Shape::Json => println!("{}", json!({ "up": false, "parts": [] })),
        }
        return ExitCode::FAILURE;
    };
    let parts = parts(&state.addresses);
    let pid = |name: &str| {
        // The API is named after its program.
        let name = if name == "HTTP API" { "starter" } else { name };
        let found = state.processes.iter().find(|one| one.name.eq_ignore_ascii_case(name));
        found.map(|one| one.identity.pid)
    };
    match shape {
        Shape::Table => {
            let row = |(name, address, health): &Part| {
                let pid = pid(name).map_or_else(String::new, |pid| format!("pid {pid}"));
                vec![(*name).to_owned(), address.clone(), health.words().to_owned(), pid]
            };
            say(&table::render(&parts.iter().map(row).collect::<Vec<_>>()));
        }
        Shape::Json => {
            let part = |(name, address, health): &Part| {
                let answers = *health == Health::Answers;
                let status = health.words();
                json!({
                    "name": name, "address": address, "answers": answers, "status": status,
                    "pid": pid(name),
                })
            };
            let parts: Vec<_> = parts.iter().map(part).collect();
            say(&format!("{:#}", json!({ "up": true, "pid": state.up.pid, "parts": parts })));
        }
    }
    exit_code(&parts)
}

/// A part: its name, its address, and how it is.
type Part = (&'static str, String, Health);

/// How a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Answers,
    /// It is there and says itself that it cannot work now.
    NotReady,
    Silent,
}

impl Health {
    fn words(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::NotReady => "answers 503: not ready",
            Self::Silent => "does not answer",
        }
    }

    fn of_status(status: Option<u16>) -> Self {
        match status {
            Some(200) => Self::Answers,
            Some(503) => Self::NotReady,
            _ => Self::Silent,
        }
    }

    fn of_server(answers: bool) -> Self {
        if answers { Self::Answers } else { Self::Silent }
    }
}

/// A script hears of a part that is down.
fn exit_code(parts: &[Part]) -> ExitCode {
    let up = parts.iter().all(|(_, _, health)| *health == Health::Answers);
    if up { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints; a reader that has seen enough (`| grep -q`) is no error.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn parts(addresses: &Addresses) -> Vec<Part> {
    let http = |name, url: &str, path: &str| {
        let status = http::get(&format!("{url}{path}")).ok().map(|answer| answer.status);
        (name, url.to_owned(), Health::of_status(status))
    };
    let database = match port_of(&addresses.database_admin) {
        Some(port) => query(port, "postgres", "postgres", "SELECT 1").is_ok(),
        None => connects(&addresses.database_admin),
    };
    let temporal = match port_of(&addresses.temporal) {
        Some(port) => temporal::speaks_http2(port),
        None => connects(&addresses.temporal),
    };
    let mut parts = vec![
        http("HTTP API", &addresses.http, "/readyz"),
        ("Temporal", addresses.temporal.clone(), Health::of_server(temporal)),
        ("PostgreSQL", addresses.database.clone(), Health::of_server(database)),
        http("Sandbox", &addresses.sandbox, "/healthz"),
        http("Worker", &addresses.worker, "/readyz"),
    ];
    if let Some(ui) = &addresses.ui {
        parts.insert(1, http("Web UI", ui, "/"));
    }
    parts
}

/// The port, if the server is on this machine and wants no password.
fn port_of(address: &str) -> Option<u16> {
    let (user, host, port) = split(address)?;
    (host == "127.0.0.1" && !user.contains(':')).then_some(port)
}

/// Of a server elsewhere it is only known whether it takes connections.
fn connects(address: &str) -> bool {
    let connect = || {
        let (_, host, port) = split(address)?;
        let address = (host, port).to_socket_addrs().ok()?.next()?;
        TcpStream::connect_timeout(&address, CONNECT_LIMIT).ok()
    };
    connect().is_some()
}

/// User (with a password), host and port.
fn split(address: &str) -> Option<(&str, &str, u16)> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next()?;
    let (user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = authority.rsplit_once(':')?;
    Some((user, host, port.parse().ok()?))
}

pub fn down(workspace: &Workspace) -> Result<ExitCode> {
    let Some(state) = State::load(workspace) else {
        println!("nothing is up");
        return Ok(ExitCode::SUCCESS);
    };
    if state.up.is_running() {
        eprintln!("stopping `cargo dev up` (pid {}) …", state.up.pid);
        state.up.terminate();
        if !state.up.wait_gone(DOWN_LIMIT) {
            bail!("pid {} does not stop within {DOWN_LIMIT:?}", state.up.pid);
        }
    }
    state.stop_leftovers()?;
    State::remove(workspace);
    println!("everything is down; the data in .dev stays");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_ready_is_told_from_one_that_is_silent() {
        let health = [Some(200), Some(503), Some(404), None].map(Health::of_status);
        let words = health.map(Health::words);
        let silent = "does not answer";
        assert_eq!(words, ["answers", "answers 503: not ready", silent, silent]);
        let part = |health| ("x", String::new(), health);
        let failure = format!("{:?}", ExitCode::FAILURE);
        let code = |parts: &[Part]| format!("{:?}", exit_code(parts));
        assert_ne!(code(&[part(Health::Answers)]), failure);
        assert_eq!(code(&[part(Health::Answers), part(Health::NotReady)]), failure);
    }

    #[test]
    fn only_own_servers_are_asked_in_their_protocol() {
        assert_eq!(port_of("127.0.0.1:7233"), Some(7233));
        assert_eq!(port_of("postgres://postgres@127.0.0.1:5434/postgres"), Some(5434));
        assert_eq!(port_of("postgres://u:p@127.0.0.1:5432/x"), None);
        assert_eq!(port_of("postgres://u@db.example:5432/x"), None);
        let far = split("postgres://u:p@db.example:5432/x?sslmode=require");
        assert_eq!(far, Some(("u:p", "db.example", 5432)));
    }
}
