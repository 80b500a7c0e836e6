//! The truth outlives the process, also one that was killed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::client::Request;
use crate::process::{Sandbox, fresh_folder, holds_in_time, until};

#[test]
fn the_truth_is_the_same_after_a_kill() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    let charged = sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.charge("again", "pm_card").reply().expect(200);
    sandbox.charge("again", "pm_card").reply().expect(200);
    sandbox.charge("refusing", "pm_action").reply().expect(200);
    assert_eq!(sandbox.pay("refusing").status, 200);
    sandbox.close("blind").reply().expect(200);
    let goods = json!({ "merchant": "m", "order": "o", "payment": "p", "amount": 1,
        "currency": "CNY" });
    for _ in 0..2 {
        let fulfil = Request::plain(&sandbox.fulfilment, "POST", "/fulfilments", &goods);
        assert_eq!(fulfil.header("Idempotency-Key", "k").reply().status, 200);
    }
    let drop_it = json!({ "kind": "drop_connection", "after_commit": true });
    sandbox.charge("main", "pm_card").fault(&drop_it).send();
    sandbox.add_fault(&json!({ "operation": "charge", "fault": { "kind": "refused" } }));
    // What is on the disk for certain: the lines of requests go before that of the last commit.
    let goods = Request::plain(&sandbox.fulfilment, "POST", "/fulfilments", &goods);
    let before = sandbox.truth();
    assert_eq!(goods.header("Idempotency-Key", "k").reply().status, 200);
    assert_eq!(sandbox.money(), 4);
    sandbox.kill();

    let sandbox = Sandbox::start_on(&folder);
    let after = sandbox.truth();
    for part in ["charges", "objects"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    assert_eq!(after["fulfilments"][0]["times_received"], 3);
    let requests = before["requests"].as_array().unwrap();
    assert_eq!(requests.as_slice(), &after["requests"].as_array().unwrap()[..requests.len()]);
    // The waiting fault was not kept, and every promise still holds.
    let replay = sandbox.charge("main", "pm_card").reply();
    assert_eq!(replay.expect(200), charged);
    assert_eq!(replay.headers["x-sandbox-replayed"], "true");
    sandbox.charge("refusing", "pm_action").reply().expect(409);
    sandbox.close("refusing").reply().expect(409);
    assert_eq!(sandbox.charge("blind", "pm_card").reply().expect(200)["status"], "closed");
    assert_eq!(sandbox.lookup("again").reply().expect(200)["charges"], 2);
    assert_eq!(sandbox.money(), 4);
    drop(sandbox);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_closed_charge_and_a_late_one_stay_what_they_were() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    for account in ["main", "again"] {
        sandbox.charge(account, "pm_action").reply().expect(200);
    }
    sandbox.charge("again", "pm_action").reply().expect(200);
    sandbox.close("main").reply().expect(200);
    assert_eq!(sandbox.pay("again").status, 200);
    let before = sandbox.truth();
    sandbox.kill();
    let sandbox = Sandbox::start_on(&folder);
    let after = sandbox.truth();
    assert_eq!((&before["charges"], &before["objects"]), (&after["charges"], &after["objects"]));
    assert_eq!(sandbox.pay("main").status, 409);
    assert_eq!(sandbox.pay("again").status, 200, "the second open charge still waits");
    assert_eq!(sandbox.money(), 2);
    drop(sandbox);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_ledger_belongs_to_one_process() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    let ledger = folder.join("ledger");
    let output = program(&folder, &["--ledger", ledger.to_str().unwrap()]);
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("open the ledger"), "{said}");
    sandbox.charge("main", "pm_card").reply().expect(200);
    drop(sandbox);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_torn_last_line_is_cut_off_and_any_other_bad_line_stops_the_start() {
    let folder = fresh_folder();
    let sandbox = Sandbox::start_on(&folder);
    sandbox.charge("main", "pm_card").reply().expect(200);
    sandbox.kill();
    let ledger = folder.join("ledger");
    let append = |text: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&ledger).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let whole = std::fs::read(&ledger).unwrap();
    append(r#"{"event":"charged","cha"#);
    let sandbox = Sandbox::start_on(&folder);
    assert_eq!(std::fs::read(&ledger).unwrap(), whole);
    assert_eq!(sandbox.money(), 1);
    sandbox.charge("refusing", "pm_card").reply().expect(200);
    sandbox.kill();
    let sandbox = Sandbox::start_on(&folder);
    assert_eq!(sandbox.money(), 2);
    sandbox.kill();
    append("{\"event\":\"surprise\"}\n");
    let output = program(&folder, &["--ledger", ledger.to_str().unwrap()]);
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("read the ledger") && said.contains("surprise"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_bad_accounts_file_stops_the_start_and_is_named() {
    let folder = fresh_folder();
    let list = json!([{ "account": "main", "secret": "00".repeat(16), "lookup": true }]);
    std::fs::write(folder.join("accounts.json"), list.to_string()).unwrap();
    let output = program(&folder, &[]);
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("field `idempotent`") && said.contains("accounts.json"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sigterm_stops_at_once_though_a_request_is_held() {
    let mut sandbox = Sandbox::start();
    let held = sandbox.charge("main", "pm_card").fault(&json!({ "kind": "timeout_before_commit" }));
    let waiting = std::thread::spawn(move || held.send());
    until("the request is held", || sandbox.truth()["requests"] != json!([]));
    let pid = sandbox.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut status = None;
    until("the process ends", || {
        status = sandbox.child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success());
    drop(waiting.join());
}

/// Runs the program, which is expected to end by itself, and gives what it said.
fn program(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
    command.args(["--listen", "127.0.0.1:0", "--fulfilment-listen", "127.0.0.1:0", "--accounts"]);
    command.arg(folder.join("accounts.json")).args(more);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = holds_in_time(|| child.try_wait().unwrap().is_some());
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert!(ended, "it runs on");
    output
}
