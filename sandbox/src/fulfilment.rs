//! The fulfilment receiver: plays the address where a merchant is asked to hand goods over.
//!
//! It keeps to its own port and asks for no signature. One key stands for one handing over.

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use chrono::Utc;
use serde_json::json;

use crate::answer::Answer;
use crate::app::App;
use crate::books::{Event, Fulfilment, Goods};
use crate::channel::MAX_BODY_BYTES;
use crate::fault::{Operation, Subject};
use crate::perform::Call;
use crate::requests::Entry;
use crate::serve::HangUp;
use crate::sign::{fresh_id, header};
use crate::trace;

const KEY: &str = "idempotency-key";
const MAX_KEY_LEN: usize = 255;
/// About 400 bytes each: 400 MB.
const MAX_FULFILMENTS: usize = 1_000_000;

pub fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/fulfilments", post(receive))
        .layer(axum::middleware::from_fn(trace::log))
        .with_state(app)
}

async fn receive(
    State(app): State<Arc<App>>,
    Extension(hang_up): Extension<HangUp>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return Answer::error(413, "too_large", "a body has at most 65536 bytes").send(None, "");
    };
    let entry = Entry::open(&app, Operation::Fulfil, None, header(&head.headers, KEY));
    let answer = match parse(&head.headers, &body) {
        Err(refusal) => {
            entry.outcome(&refusal.outcome);
            refusal
        }
        Ok((key, goods)) => {
            let subject = Subject { order: Some(&goods.order), ..Subject::default() };
            let fault = app.faults().take(Operation::Fulfil, &subject);
            let call = Call { operation: Operation::Fulfil, entry: entry.clone(), hang_up };
            call.perform(fault, async move { fulfil(&app, key, goods).await }).await
        }
    };
    entry.status(answer.status);
    answer.send(None, "")
}

fn parse(headers: &HeaderMap, body: &Bytes) -> Result<(String, Goods), Answer> {
    let invalid = |rule: &str| Answer::error(400, "invalid_request", rule);
    let key = header(headers, KEY).unwrap_or_default();
    if !(1..=MAX_KEY_LEN).contains(&key.len()) {
        return Err(invalid("Idempotency-Key must have 1 to 255 characters"));
    }
    let goods = serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))?;
    Ok((key.to_owned(), goods))
}

/// The lock's first part is the name of no account: it holds a space.
async fn fulfil(app: &App, key: String, goods: Goods) -> Answer {
    let _held = app.lock("fulfil ", &key).await;
    let first = app.books().fulfilment(&key).cloned();
    if let Some(first) = first {
        if first.goods != goods {
            return Answer::error(422, "key_reused", "this key stands for other goods");
        }
        app.commit(Event::FulfilledAgain { key }).await;
        return done(&first.id, true);
    }
    if app.books().fulfilments().len() >= MAX_FULFILMENTS {
        return Answer::error(503, "full", "the sandbox holds 1000000 fulfilments");
    }
    let Ok(id) = fresh_id("ful_") else {
        return Answer::error(503, "no_entropy", "no number could be drawn");
    };
    let answer = done(&id, false);
    let fulfilment = Fulfilment { id, key, goods, times_received: 1, first_at: Utc::now() };
    app.commit(Event::Fulfilled { fulfilment }).await;
    answer
}

fn done(id: &str, replayed: bool) -> Answer {
    let outcome = if replayed { "replayed" } else { "fulfilled" };
    Answer::ok(outcome, json!({ "fulfilment": id, "replayed": replayed }))
}
