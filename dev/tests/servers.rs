//! Real PostgreSQL and Temporal servers: start, stop, crash, start again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dev::paths::Workspace;
use dev::postgres::{Binaries, Postgres, PostgresOptions, query};
use dev::temporal::{self, TemporalServer, TestServer};

/// A folder of this test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let workspace = Workspace::find().unwrap();
        let folder = workspace.dev_dir().join(format!("scratch/{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rows(postgres: &Postgres) -> String {
    query(postgres.port(), "postgres", "postgres", "SELECT count(*) FROM t").unwrap().unwrap()
}

fn execute(postgres: &Postgres, sql: &str) {
    query(postgres.port(), "postgres", "postgres", sql).unwrap();
}

#[test]
fn postgres_keeps_its_rows_over_a_stop_and_a_crash() {
    let scratch = Scratch::new("postgres");
    let binaries = Binaries::find(&Workspace::find().unwrap()).unwrap();
    let options = PostgresOptions::for_tests(&scratch.0.join("pg"));
    let mut postgres = Postgres::start(&binaries, &options).unwrap();
    let (port, first_pid) = (postgres.port(), postgres.pid());
    execute(&postgres, "CREATE TABLE t AS SELECT 1 AS a");

    postgres.pause();
    postgres.stop().unwrap();
    assert!(!postgres.is_running());
    assert!(query(port, "postgres", "postgres", "SELECT 1").is_err());
    postgres.restart().unwrap();
    assert_eq!(postgres.port(), port);
    assert_ne!(postgres.pid(), first_pid);
    assert_eq!(rows(&postgres), "1");

    execute(&postgres, "INSERT INTO t SELECT 2");
    postgres.kill();
    assert!(!postgres.is_running());
    postgres.restart().unwrap();
    assert_eq!(rows(&postgres), "2");

    let data = postgres.data_dir().to_owned();
    drop(postgres);
    assert!(!data.join("postmaster.pid").exists(), "dropping it is a clean stop");

    // A pid file whose pid now belongs to another living process: this one.
    fs::write(data.join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
    let postgres = Postgres::start(&binaries, &options).unwrap();
    assert_eq!(rows(&postgres), "2");
    drop(postgres);
    if !data.starts_with(&scratch.0) {
        fs::remove_dir_all(data.parent().unwrap()).unwrap();
    }
}

#[test]
fn a_second_postgres_on_the_same_port_is_refused() {
    let scratch = Scratch::new("port");
    let binaries = Binaries::find(&Workspace::find().unwrap()).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = PostgresOptions::for_tests(&scratch.0.join("pg"));
    options.port = taken.local_addr().unwrap().port();
    let error = Postgres::start(&binaries, &options).unwrap_err().to_string();
    assert!(error.contains("is taken"), "{error}");
}

#[test]
fn temporal_comes_back_on_its_port_after_a_crash() {
    let scratch = Scratch::new("temporal");
    let cli = temporal::find(&Workspace::find().unwrap()).unwrap();
    let (db, log) = (scratch.0.join("temporal.db"), scratch.0.join("temporal.log"));
    let mut server = TemporalServer::start(&cli, &db, 0, None, &log).unwrap();
    assert!(temporal::is_ready(&cli, &server.address()));
    server.kill_9();
    assert!(!server.is_running() && !temporal::speaks_http2(server.port()));
    server.restart().unwrap();
    assert!(temporal::is_ready(&cli, &server.address()));
    server.stop();
    assert!(!server.is_running());
}

#[test]
fn the_time_skipping_server_answers_and_stops() {
    let scratch = Scratch::new("test-server");
    let workspace = Workspace::find().unwrap();
    let server = TestServer::start(&workspace, &scratch.0.join("server.log")).unwrap();
    assert!(server.is_running());
    server.stop();
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while server.is_running() && std::time::Instant::now() < deadline {}
    assert!(!server.is_running());
}
