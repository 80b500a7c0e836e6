//! The merchant's own fulfilment address: hands over once per key, whatever is repeated.

use crate::Sandbox;
use crate::faults::{Fault, Operation, Subject};
use crate::ledger::{Fulfilment, Request, new_id};
use crate::listener::Kill;
use crate::reply::Reply;
use crate::sign::unix_ms;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Response};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const MAX_KEY_LEN: usize = 255;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FulfilBody {
    merchant: String,
    order: String,
    payment: String,
    amount: u64,
    currency: String,
}

pub(crate) async fn fulfil(
    State(sandbox): State<Arc<Sandbox>>,
    ConnectInfo(kill): ConnectInfo<Kill>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let key = headers.get("Idempotency-Key").and_then(|value| value.to_str().ok());
    let key = key.filter(|key| (1..=MAX_KEY_LEN).contains(&key.len())).map(str::to_owned);
    let parsed = serde_json::from_slice::<FulfilBody>(&body);
    let (Some(key), Ok(body)) = (key, parsed) else {
        let reply = Reply::error(400, "invalid_request");
        return reply.send(None, &kill).await;
    };
    let subject = Subject { order: Some(body.order.clone()), ..Subject::default() };
    let fault = sandbox.faults.take(Operation::Fulfil, &subject);
    let number = sandbox.ledger.received(Request {
        operation: "fulfil",
        account: None,
        reference: Some(key.clone()),
        at_ms: unix_ms(),
        fault: fault.as_ref().map(Fault::name),
        outcome: None,
    });
    let worker = sandbox.clone();
    let work = tokio::spawn(async move { perform(&worker, &key, &body, fault).await });
    let reply = work.await.unwrap_or(Reply::Cut);
    sandbox.ledger.answered(number, reply.outcome());
    reply.send(None, &kill).await
}

async fn perform(sandbox: &Sandbox, key: &str, body: &FulfilBody, fault: Option<Fault>) -> Reply {
    let execute = || execute(sandbox, key, body);
    match fault {
        Some(Fault::Delay { ms } | Fault::PauseBeforeCommit { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            execute()
        }
        Some(Fault::TimeoutBeforeCommit) => Reply::Hang,
        Some(Fault::TimeoutAfterCommit) => {
            execute();
            Reply::Hang
        }
        Some(Fault::ErrorBeforeCommit { status }) => Reply::Page { status },
        Some(Fault::ErrorAfterCommit { status }) => {
            execute();
            Reply::Page { status }
        }
        Some(Fault::DropConnection { after_commit }) => {
            if after_commit {
                execute();
            }
            Reply::Cut
        }
        Some(Fault::Refused) => Reply::error(409, "cannot_fulfil"),
        Some(_) | None => execute(),
    }
}

fn execute(sandbox: &Sandbox, key: &str, body: &FulfilBody) -> Reply {
    let mut books = sandbox.ledger.lock();
    if let Some(known) = books.fulfilment(key).cloned() {
        let same = (&known.merchant, &known.order, &known.payment, known.amount, &known.currency)
            == (&body.merchant, &body.order, &body.payment, body.amount, &body.currency);
        if !same {
            return Reply::error(422, "key_reused");
        }
        books.fulfil_again(key);
        return Reply::ok(json!({ "fulfilment": known.id, "replayed": true }));
    }
    let fulfilment = new_id("ful_");
    books.fulfil(Fulfilment {
        key: key.to_owned(),
        merchant: body.merchant.clone(),
        order: body.order.clone(),
        payment: body.payment.clone(),
        amount: body.amount,
        currency: body.currency.clone(),
        id: fulfilment.clone(),
        times_received: 1,
        first_at_ms: unix_ms(),
    });
    Reply::ok(json!({ "fulfilment": fulfilment, "replayed": false }))
}
