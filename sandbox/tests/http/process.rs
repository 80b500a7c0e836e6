//! Starts the program with ports of its own and ends it with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// Of the account `stranger`, which no test signs for.
const OTHER_SECRET: &str = "ffeeddccbbaa99887766554433221100";
/// Long enough to repeat a charge at once.
const WINDOW_SECONDS: u64 = 2;
const LIMIT: Duration = Duration::from_secs(20);

pub struct Sandbox {
    pub child: Child,
    pub channel: String,
    pub fulfilment: String,
    folder: PathBuf,
    owns_folder: bool,
}

impl Sandbox {
    pub fn start() -> Self {
        let folder = fresh_folder();
        let mut sandbox = Self::start_in(&folder, None);
        sandbox.owns_folder = true;
        sandbox
    }

    /// Starts on the ledger of this folder, which outlives the process.
    pub fn start_on(folder: &Path) -> Self {
        Self::start_in(folder, Some(&folder.join("ledger")))
    }

    fn start_in(folder: &Path, ledger: Option<&Path>) -> Self {
        let accounts = folder.join("accounts.json");
        std::fs::write(&accounts, accounts_list().to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
        command.args(["--listen", "127.0.0.1:0", "--fulfilment-listen", "127.0.0.1:0"]);
        command.arg("--accounts").arg(accounts).stdout(Stdio::piped());
        if let Some(ledger) = ledger {
            command.arg("--ledger").arg(ledger);
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let fields = loop {
            let line = lines.next().expect("the sandbox ended").unwrap();
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["fields"]["message"] == "listening" {
                break line["fields"].clone();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let address = |name: &str| fields[name].as_str().unwrap().to_owned();
        let (channel, fulfilment) = (address("listen"), address("fulfilment_listen"));
        let folder = folder.to_owned();
        Self { child, channel, fulfilment, folder, owns_folder: false }
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.owns_folder {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn accounts_list() -> Value {
    let account = |name: &str, idempotent: bool, lookup: bool, refuses: bool| {
        json!({ "account": name, "secret": SECRET, "idempotent": idempotent, "lookup": lookup,
            "refuses_known_reference": refuses, "grace_ms": 2000 })
    };
    let mut stranger = account("stranger", true, true, true);
    stranger["secret"] = json!(OTHER_SECRET);
    let mut no_close = account("no-close", false, true, true);
    no_close["close"] = json!(false);
    let brief = |name: &str, refuses: bool| {
        let mut brief = account(name, true, true, refuses);
        brief["idempotency_window_s"] = json!(WINDOW_SECONDS);
        brief
    };
    json!([
        stranger,
        account("main", true, true, true),
        account("refusing", false, true, true),
        account("again", false, true, false),
        account("blind", false, false, false),
        no_close,
        brief("brief", true),
        brief("brief-again", false),
    ])
}

pub fn fresh_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("sandbox-test-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Waits until the condition holds.
#[track_caller]
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_in_time(holds), "not in time: {what}");
}

/// Waits until the condition holds, or until the limit: then it is false.
pub fn holds_in_time(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
