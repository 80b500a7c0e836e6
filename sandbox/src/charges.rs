//! The channel's own operations: charge, lookup, close.

use crate::Sandbox;
use crate::execute::perform;
use crate::faults::{Fault, Operation, Subject};
use crate::ledger::Request;
use crate::listener::Kill;
use crate::reply::Reply;
use crate::sign::{unix_ms, verify_request};
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, Method, Response, Uri};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

const REFERENCE_LEN: usize = 26;
const MAX_METHOD_LEN: usize = 64;
const MAX_DESCRIPTION_LEN: usize = 200;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChargeBody {
    pub reference: String,
    pub amount: u64,
    pub currency: String,
    pub payment_method: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    pay_before: Option<String>,
}

/// What is asked, once its sender is proved.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Charge(ChargeBody),
    Lookup(String),
    Close(String),
}

/// A request with all that its signature covers.
pub(crate) struct Incoming {
    sandbox: Arc<Sandbox>,
    kill: Kill,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

pub(crate) async fn charge(
    State(sandbox): State<Arc<Sandbox>>,
    ConnectInfo(kill): ConnectInfo<Kill>,
    uri: Uri,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let incoming = Incoming { sandbox, kill, method, path, headers, body };
    answer(incoming, |body| parse_charge(body).map(Asked::Charge)).await
}

pub(crate) async fn lookup(
    State(sandbox): State<Arc<Sandbox>>,
    ConnectInfo(kill): ConnectInfo<Kill>,
    uri: Uri,
    Path(reference): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response<Body> {
    let (path, body) = (uri.path().to_owned(), Bytes::new());
    let incoming = Incoming { sandbox, kill, method, path, headers, body };
    answer(incoming, |_| Ok(Asked::Lookup(reference))).await
}

pub(crate) async fn close(
    State(sandbox): State<Arc<Sandbox>>,
    ConnectInfo(kill): ConnectInfo<Kill>,
    uri: Uri,
    Path(reference): Path<String>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let incoming = Incoming { sandbox, kill, method, path, headers, body };
    answer(incoming, |_| Ok(Asked::Close(reference))).await
}

fn parse_charge(body: &[u8]) -> Result<ChargeBody, String> {
    let charge: ChargeBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let reference_fits = charge.reference.len() == REFERENCE_LEN
        && charge.reference.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let rules = [
        (reference_fits, "reference must be 26 lower-case letters and digits"),
        (charge.amount > 0, "amount must be positive"),
        (charge.currency.len() == 3, "currency must be an ISO 4217 code"),
        (
            (1..=MAX_METHOD_LEN).contains(&charge.payment_method.len()),
            "payment_method is not known",
        ),
        (charge.description.len() <= MAX_DESCRIPTION_LEN, "description is too long"),
        (charge.pay_before.as_ref().is_none_or(|at| at.ends_with('Z')), "pay_before must be UTC"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        None => Ok(charge),
        Some((_, rule)) => Err(rule.to_owned()),
    }
}

async fn answer(
    incoming: Incoming,
    parse: impl FnOnce(&[u8]) -> Result<Asked, String>,
) -> Response<Body> {
    let Incoming { sandbox, kill, method, path, headers, body } = incoming;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let name = header("X-Sandbox-Account").unwrap_or_default().to_owned();
    let Some(account) = sandbox.accounts.get(&name) else {
        let body = json!({ "error": "unknown_account", "message": "no such account" });
        return Reply::Unsigned { status: 401, body }.send(None, &kill).await;
    };
    let nonce = verify_request(account, &headers, method.as_str(), &path, &body);
    let Some(nonce) = nonce else {
        let reply = Reply::not_executed(401, "bad_signature", "the signature does not hold");
        let nonce = header("X-Sandbox-Nonce").unwrap_or_default();
        return reply.send(Some((account, nonce)), &kill).await;
    };
    let asked = match parse(&body) {
        Ok(asked) => asked,
        Err(why) => {
            let reply = Reply::not_executed(400, "invalid_request", &why);
            return reply.send(Some((account, &nonce)), &kill).await;
        }
    };
    let in_header = header("X-Sandbox-Fault").map(serde_json::from_str::<Fault>);
    let fault = match in_header {
        Some(Ok(fault)) if fault.is_valid() => Some(fault),
        Some(_) => {
            let reply = Reply::not_executed(400, "invalid_fault", "X-Sandbox-Fault is no fault");
            return reply.send(Some((account, &nonce)), &kill).await;
        }
        None => sandbox.faults.take(asked.operation(), &asked.subject(&sandbox, &name)),
    };
    let number = sandbox.ledger.received(Request {
        operation: asked.word(),
        account: Some(name.clone()),
        reference: Some(asked.reference().to_owned()),
        at_ms: unix_ms(),
        fault: fault.as_ref().map(Fault::name),
        outcome: None,
    });
    // In a task of its own: what has begun goes on when the caller leaves.
    let (worker, task_account) = (sandbox.clone(), name.clone());
    let work = tokio::spawn(async move {
        let Some(account) = worker.accounts.get(&task_account) else { return Reply::Hang };
        perform(&worker, account, &asked, fault).await
    });
    let reply = work.await.unwrap_or(Reply::Cut);
    sandbox.ledger.answered(number, reply.outcome());
    reply.send(Some((account, &nonce)), &kill).await
}

impl Asked {
    fn operation(&self) -> Operation {
        match self {
            Self::Charge(_) => Operation::Charge,
            Self::Lookup(_) => Operation::Lookup,
            Self::Close(_) => Operation::Close,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Charge(_) => "charge",
            Self::Lookup(_) => "lookup",
            Self::Close(_) => "close",
        }
    }

    fn reference(&self) -> &str {
        match self {
            Self::Charge(body) => &body.reference,
            Self::Lookup(reference) | Self::Close(reference) => reference,
        }
    }

    fn subject(&self, sandbox: &Sandbox, account: &str) -> Subject {
        let payment_method = match self {
            Self::Charge(body) => Some(body.payment_method.clone()),
            Self::Lookup(reference) | Self::Close(reference) => {
                let books = sandbox.ledger.lock();
                books.find(account, reference).first().map(|c| c.payment_method.clone())
            }
        };
        Subject {
            account: Some(account.to_owned()),
            reference: Some(self.reference().to_owned()),
            payment_method,
            order: None,
        }
    }
}
