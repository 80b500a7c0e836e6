//! The payer: pays a charge that is open, or lets money come late, against the channel's own word.
//!
//! Nothing is paid that was never asked for.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use chrono::Utc;
use serde::Deserialize;

use crate::answer::Answer;
use crate::app::App;
use crate::books::{Event, MAX_CHARGES};
use crate::channel::{object, shown};
use crate::charge::{Charge, Status};
use crate::perform::not_found;
use crate::sign::fresh_id;

#[derive(Deserialize)]
pub struct How {
    #[serde(default)]
    force: bool,
}

/// As a task: a client that leaves does not stop it.
pub async fn pay(
    State(app): State<Arc<App>>,
    Path((account, reference)): Path<(String, String)>,
    Query(how): Query<How>,
) -> Response {
    let task = tokio::spawn(async move { paid(&app, account, reference, &how).await });
    let answer = task.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a payment ended in a panic");
        Answer::error(500, "internal_error", "the sandbox has a mistake")
    });
    answer.send(None, "")
}

/// The oldest charge that is open takes the money, as [`Event::Paid`] has it. By force, else a
/// second charge is made where money moved already, or the oldest that was refused or closed takes
/// it.
async fn paid(app: &App, account: String, reference: String, how: &How) -> Answer {
    let _held = app.lock(&account, &reference).await;
    let Ok(transaction) = fresh_id("sbx_") else {
        return Answer::error(503, "no_entropy", "no transaction number could be drawn");
    };
    let at = Utc::now();
    let (event, paid, count) = {
        let books = app.books();
        let known = books.under(&account, &reference);
        let count = known.len();
        let open = known.iter().find(|charge| charge.status_at(at) == Status::Open);
        let moved = known.iter().find(|charge| charge.status == Status::Succeeded && how.force);
        let late = known.iter().find(|charge| charge.can_be_paid_late() && how.force);
        let after = |charge: &&Charge| {
            let mut paid = (*charge).clone();
            paid.pay(transaction.clone(), at);
            paid
        };
        if let Some(open) = open {
            let paid = after(open);
            (Event::Paid { account, reference, transaction, at }, paid, count)
        } else if let Some(moved) = moved {
            if books.charges().len() >= MAX_CHARGES {
                return Answer::error(503, "full", "the sandbox holds 1000000 charges");
            }
            let second = moved.second(transaction, at);
            (Event::Charged { charge: Box::new(second.clone()) }, second, count + 1)
        } else if let Some(late) = late {
            let paid = after(late);
            (Event::PaidLate { account, reference, transaction, at }, paid, count)
        } else {
            let Some(shown) = shown(&known) else { return not_found() };
            let refusal = Answer::error(409, "not_open", "the payer cannot pay this charge");
            return refusal.with("charge", shown.into_value());
        }
    };
    app.commit(event).await;
    object(&paid, count)
}
