//! The channel's protocol: charge, lookup and close, for one account under one reference.
//!
//! Money moves here and at `payer::pay`, and nowhere else. Nothing is executed for a request that
//! is not signed by its account.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use chrono::Utc;
use serde_json::{Value, json};

use crate::account::Account;
use crate::answer::Answer;
use crate::app::App;
use crate::books::{Event, MAX_CHARGES};
use crate::charge::{Charge, Content, Refusal, Status, is_reference};
use crate::fault::{Fault, Operation, Subject};
use crate::maintenance;
use crate::perform::{Call, not_found};
use crate::requests::Entry;
use crate::serve::HangUp;
use crate::sign::{self, Signed, fresh_id, header};

pub const MAX_BODY_BYTES: usize = 64 * 1024;
/// One request's own fault, as JSON.
pub const FAULT: &str = "x-sandbox-fault";

type Shared = State<Arc<App>>;

/// A request that may be executed.
enum Job {
    Charge(Content),
    Lookup(String),
    Close(String),
}

pub async fn charge(
    app: Shared,
    Extension(hang_up): Extension<HangUp>,
    request: Request,
) -> Response {
    serve(app.0, hang_up, Operation::Charge, None, request).await
}

pub async fn lookup(
    app: Shared,
    Extension(hang_up): Extension<HangUp>,
    Path(reference): Path<String>,
    request: Request,
) -> Response {
    serve(app.0, hang_up, Operation::Lookup, Some(reference), request).await
}

pub async fn close(
    app: Shared,
    Extension(hang_up): Extension<HangUp>,
    Path(reference): Path<String>,
    request: Request,
) -> Response {
    serve(app.0, hang_up, Operation::Close, Some(reference), request).await
}

/// Lists the request, verifies it, finds its fault, has it done, and seals the answer.
async fn serve(
    app: Arc<App>,
    hang_up: HangUp,
    operation: Operation,
    in_path: Option<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let answer = Answer::error(413, "too_large", "a body has at most 65536 bytes");
        return answer.send(None, "");
    };
    let reference = in_path.or_else(|| reference_in(&body));
    let claimed = header(&head.headers, sign::ACCOUNT);
    let entry = Entry::open(&app, operation, claimed, reference.as_deref());
    let account = claimed.and_then(|name| app.accounts.get(name));
    let nonce = header(&head.headers, sign::NONCE).unwrap_or_default();
    let answer = match accept(&app, account.as_ref(), operation, reference, &head, &body) {
        Err(refusal) => {
            entry.outcome(&refusal.outcome);
            refusal
        }
        Ok((account, job, fault)) => {
            let call = Call { operation, entry: entry.clone(), hang_up };
            let refusal = match fault {
                Some(Fault::StaysPayable {}) => Refusal::StaysPayable,
                _ => Refusal::AsPlanned,
            };
            call.perform(fault, execute(app, account, job, refusal)).await
        }
    };
    entry.status(answer.status);
    answer.send(account.as_deref(), nonce)
}

/// Everything that is decided before a fault may strike. A refusal uses no fault up.
fn accept(
    app: &App,
    account: Option<&Arc<Account>>,
    operation: Operation,
    reference: Option<String>,
    head: &Parts,
    body: &Bytes,
) -> Result<(Arc<Account>, Job, Option<Fault>), Answer> {
    let Some(account) = account else {
        return Err(Answer::error(401, "unknown_account", "no such account"));
    };
    let signed = Signed { method: head.method.as_str(), path: head.uri.path(), body };
    let now_seconds = u64::try_from(Utc::now().timestamp()).unwrap_or_default();
    if let Some(rule) = account.key.refuse(&head.headers, &signed, now_seconds) {
        return Err(Answer::not_executed(401, "bad_signature", rule));
    }
    if let Some(until) = app.maintenance().until(&account.name, Utc::now()) {
        return Err(maintenance::answer(until));
    }
    let job = job(operation, reference, body)?;
    if operation == Operation::Lookup && !account.lookup {
        let message = "this account cannot look a charge up";
        return Err(Answer::error(405, "lookup_not_offered", message));
    }
    if operation == Operation::Close && !account.close {
        let message = "this account cannot close a charge";
        return Err(Answer::error(405, "close_not_offered", message));
    }
    let fault = match head.headers.get(FAULT) {
        Some(text) => Some(own_fault(text.as_bytes(), operation)?),
        None => waiting_fault(app, account, operation, &job),
    };
    Ok((account.clone(), job, fault))
}

fn job(operation: Operation, reference: Option<String>, body: &[u8]) -> Result<Job, Answer> {
    let invalid = |rule: &str| Answer::not_executed(400, "invalid_request", rule);
    if operation == Operation::Charge {
        let content: Content =
            serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))?;
        return content.refuse().map_or(Ok(Job::Charge(content)), |rule| Err(invalid(rule)));
    }
    let reference = reference.filter(|reference| is_reference(reference));
    let reference =
        reference.ok_or_else(|| invalid("reference must be 26 characters of a-z and 0-9"))?;
    let close = operation == Operation::Close;
    Ok(if close { Job::Close(reference) } else { Job::Lookup(reference) })
}

fn own_fault(text: &[u8], operation: Operation) -> Result<Fault, Answer> {
    let invalid = |rule: &str| Answer::not_executed(400, "invalid_fault", rule);
    let fault: Fault = serde_json::from_slice(text).map_err(|error| invalid(&error.to_string()))?;
    fault.refuse(operation).map_or(Ok(fault), |rule| Err(invalid(rule)))
}

fn waiting_fault(app: &App, account: &Account, operation: Operation, job: &Job) -> Option<Fault> {
    let (reference, payment_method) = match job {
        Job::Charge(content) => (&content.reference, Some(content.payment_method.clone())),
        Job::Lookup(reference) | Job::Close(reference) => {
            let books = app.books();
            let known = books.under(&account.name, reference);
            let content = known.into_iter().find_map(|charge| charge.content.as_ref());
            (reference, content.map(|content| content.payment_method.clone()))
        }
    };
    let subject = Subject {
        account: Some(&account.name),
        reference: Some(reference),
        payment_method: payment_method.as_deref(),
        order: None,
    };
    app.faults().take(operation, &subject)
}

async fn execute(app: Arc<App>, account: Arc<Account>, job: Job, refusal: Refusal) -> Answer {
    match job {
        Job::Charge(content) => execute_charge(&app, &account, content, refusal).await,
        Job::Lookup(reference) => {
            let _held = app.lock(&account.name, &reference).await;
            show(&app, &account.name, &reference).unwrap_or_else(not_found)
        }
        Job::Close(reference) => execute_close(&app, &account.name, &reference).await,
    }
}

async fn execute_charge(
    app: &App,
    account: &Account,
    content: Content,
    refusal: Refusal,
) -> Answer {
    let reference = content.reference.clone();
    let _held = app.lock(&account.name, &reference).await;
    if let Some(answer) = known(app, account, &content) {
        return answer;
    }
    if app.books().charges().len() >= MAX_CHARGES {
        return Answer::not_executed(503, "full", "the sandbox holds 1000000 charges");
    }
    let Ok(transaction) = fresh_id("sbx_") else {
        return Answer::not_executed(503, "no_entropy", "no transaction number could be drawn");
    };
    let charge = Charge::execute(&account.name, content, refusal, transaction, Utc::now());
    let count = app.books().under(&account.name, &reference).len() + 1;
    let answer = object(&charge, count);
    app.commit(Event::Charged { charge: Box::new(charge) }).await;
    answer
}

/// The answer to a charge whose reference is known already, unless it is charged again.
fn known(app: &App, account: &Account, content: &Content) -> Option<Answer> {
    let books = app.books();
    let known = books.under(&account.name, &content.reference);
    let first = known.first()?;
    let now = Utc::now();
    if let Some(again) = known.iter().find(|charge| account.gives_again(charge.created_at, now)) {
        let other = again.content.as_ref().is_some_and(|again| again != content);
        return Some(if other {
            Answer::error(422, "reference_reused", "this reference stands for another charge")
        } else {
            object(again, known.len()).replayed()
        });
    }
    // "Closed" means that no money can move: one expired charge beside others does not close them.
    if known.iter().all(|charge| charge.status_at(now) == Status::Closed) {
        return Some(object(first, known.len()));
    }
    account.refuses_known_reference.then(|| {
        Answer::error(409, "reference_known", "there is a charge under this reference already")
    })
}

async fn execute_close(app: &App, account: &str, reference: &str) -> Answer {
    let _held = app.lock(account, reference).await;
    let statuses: Vec<Status> = {
        let books = app.books();
        books.under(account, reference).iter().map(|charge| charge.status).collect()
    };
    let closed = || (account.to_owned(), reference.to_owned());
    if statuses.is_empty() {
        let charge = Charge::tombstone(account, reference, Utc::now());
        app.commit(Event::Charged { charge: Box::new(charge) }).await;
    } else if !statuses.contains(&Status::Succeeded)
        && statuses.iter().any(|status| *status != Status::Closed)
    {
        let (account, reference) = closed();
        app.commit(Event::Closed { account, reference }).await;
    }
    let answer = show(app, account, reference).unwrap_or_else(not_found);
    if statuses.contains(&Status::Succeeded) {
        let refusal = Answer::error(409, "already_succeeded", "money has moved");
        return refusal.with("charge", answer.into_value());
    }
    answer
}

fn show(app: &App, account: &str, reference: &str) -> Option<Answer> {
    let books = app.books();
    shown(&books.under(account, reference))
}

/// What is shown of the charges under a reference: the first that moved money, else the first that
/// still may, else the first.
pub fn shown(known: &[&Charge]) -> Option<Answer> {
    let now = Utc::now();
    let first = |status| known.iter().find(|charge| charge.status_at(now) == status);
    let charge = first(Status::Succeeded).or_else(|| first(Status::Open)).or(known.first())?;
    Some(object(charge, known.len()))
}

pub fn object(charge: &Charge, count: usize) -> Answer {
    let object = charge.object(count, Utc::now());
    Answer::ok(object.status.word(), json!(object))
}

fn reference_in(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body["reference"].as_str().map(str::to_owned)
}
