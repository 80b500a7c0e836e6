//! What the channel does with a request, with or without a fault.

use crate::Sandbox;
use crate::accounts::Account;
use crate::charges::{Asked, ChargeBody};
use crate::faults::Fault;
use crate::ledger::{Charge, Status, new_id};
use crate::reply::Reply;
use crate::sign::unix_ms;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) async fn perform(
    sandbox: &Sandbox,
    account: &Account,
    asked: &Asked,
    fault: Option<Fault>,
) -> Reply {
    let execute = || execute(sandbox, account, asked);
    let Some(fault) = fault else { return execute() };
    match fault {
        Fault::Delay { ms } | Fault::PauseBeforeCommit { ms } => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            execute()
        }
        Fault::TimeoutBeforeCommit => Reply::Hang,
        Fault::TimeoutAfterCommit => {
            execute();
            Reply::Hang
        }
        Fault::ErrorBeforeCommit { status } => Reply::Page { status },
        Fault::ErrorAfterCommit { status } => {
            execute();
            Reply::Page { status }
        }
        Fault::DropConnection { after_commit } => {
            if after_commit {
                execute();
            }
            Reply::Cut
        }
        Fault::NotFound => Reply::error(404, "not_found"),
        Fault::Refused => Reply::not_executed(503, "not_accepted", "try again later"),
        Fault::Unsigned => match execute() {
            Reply::Signed { status, body, .. } => Reply::Unsigned { status, body },
            other => other,
        },
        Fault::WrongAmount { amount } => altered(execute(), "amount", json!(amount)),
        Fault::UnmappedStatus { status } => altered(execute(), "status", json!(status)),
        Fault::MaintenancePage => Reply::Page { status: 200 },
    }
}

fn altered(reply: Reply, field: &str, value: Value) -> Reply {
    match reply {
        Reply::Signed { status, mut body, replayed } => {
            body[field] = value;
            Reply::Signed { status, body, replayed }
        }
        other => other,
    }
}

fn execute(sandbox: &Sandbox, account: &Account, asked: &Asked) -> Reply {
    match asked {
        Asked::Charge(body) => execute_charge(sandbox, account, body),
        Asked::Lookup(reference) => execute_lookup(sandbox, account, reference),
        Asked::Close(reference) => execute_close(sandbox, account, reference),
    }
}

fn execute_charge(sandbox: &Sandbox, account: &Account, body: &ChargeBody) -> Reply {
    let mut books = sandbox.ledger.lock();
    if let Some(known) = books.find(&account.name, &body.reference).first().cloned() {
        let same = known.amount == body.amount
            && known.currency == body.currency
            && known.payment_method == body.payment_method;
        if known.status == Status::Closed {
            return Reply::ok(show(&known, 1));
        }
        if account.idempotent && same {
            return Reply::Signed { status: 200, body: show(&known, 1), replayed: true };
        }
        if account.idempotent {
            return Reply::error(422, "reference_reused");
        }
        if account.refuses_known_reference {
            return Reply::error(409, "reference_known");
        }
    }
    let charge = books.charge(decide(account, body));
    Reply::ok(show(&charge, 1))
}

/// The payment method decides what the payer's bank says.
fn decide(account: &Account, body: &ChargeBody) -> Charge {
    let method = body.payment_method.as_str();
    let (status, code, is_final) = if method.starts_with("pm_decline_final") {
        (Status::Declined, Some("account_blocked"), Some(true))
    } else if method.starts_with("pm_decline") {
        (Status::Declined, Some("insufficient_funds"), Some(false))
    } else if method.starts_with("pm_action") {
        (Status::Open, None, None)
    } else {
        (Status::Succeeded, None, None)
    };
    let url = format!("https://sandbox.example/pay/{}", body.reference);
    Charge {
        account: account.name.clone(),
        reference: body.reference.clone(),
        transaction: (status == Status::Succeeded).then(|| new_id("sbx_")),
        amount: body.amount,
        currency: body.currency.clone(),
        payment_method: body.payment_method.clone(),
        status,
        decline_code: code.map(str::to_owned),
        decline_final: is_final,
        action: (status == Status::Open).then(|| json!({ "kind": "redirect", "url": url })),
        created_at_ms: unix_ms(),
    }
}

fn execute_lookup(sandbox: &Sandbox, account: &Account, reference: &str) -> Reply {
    if !account.lookup {
        return Reply::error(405, "lookup_not_offered");
    }
    let books = sandbox.ledger.lock();
    let known = books.find(&account.name, reference);
    match known.first() {
        None => Reply::error(404, "not_found"),
        Some(charge) => Reply::ok(show(charge, known.len())),
    }
}

fn execute_close(sandbox: &Sandbox, account: &Account, reference: &str) -> Reply {
    let mut books = sandbox.ledger.lock();
    let known = books.find(&account.name, reference);
    if let Some(paid) = known.iter().find(|charge| charge.transaction.is_some()) {
        let charge = show(paid, known.len());
        let message = "the charge has succeeded";
        let body = json!({ "error": "already_succeeded", "message": message, "charge": charge });
        return Reply::Signed { status: 409, body, replayed: false };
    }
    if known.is_empty() {
        // A tombstone: a charge with this reference that comes later is not executed.
        books.charge(Charge {
            account: account.name.clone(),
            reference: reference.to_owned(),
            transaction: None,
            amount: 0,
            currency: String::new(),
            payment_method: String::new(),
            status: Status::Closed,
            decline_code: None,
            decline_final: None,
            action: None,
            created_at_ms: unix_ms(),
        });
    } else {
        books.close(&account.name, reference);
    }
    let closed = books.find(&account.name, reference).first().map(|charge| show(charge, 1));
    Reply::ok(closed.unwrap_or_default())
}

/// A charge as a caller sees it. `charges` above 1 means that a reference was charged again.
fn show(charge: &Charge, charges: usize) -> Value {
    json!({
        "reference": charge.reference,
        "transaction": charge.transaction,
        "status": charge.status,
        "amount": charge.amount,
        "currency": charge.currency,
        "decline_code": charge.decline_code,
        "decline_final": charge.decline_final,
        "action": charge.action,
        "created_at_ms": charge.created_at_ms,
        "charges": charges,
    })
}
