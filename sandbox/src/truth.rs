//! What really happened, for whoever judges: never what was answered, always what was done.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use chrono::Utc;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::books::Fulfilment;
use crate::charge::Charge;

/// Which part of the truth is asked for; fulfilments have no account and are always shown.
#[derive(Deserialize)]
pub struct Filter {
    account: Option<String>,
    reference: Option<String>,
}

pub async fn show(State(app): State<Arc<App>>, Query(filter): Query<Filter>) -> Json<Value> {
    let books = app.books();
    let known = || {
        let agrees =
            |charge: &&Charge| filter.agrees(Some(&charge.account), Some(&charge.reference));
        books.charges().iter().filter(agrees)
    };
    let charges: Vec<Value> = known().filter_map(money).collect();
    let objects: Vec<Value> = known().map(object).collect();
    let requests: Vec<_> = books
        .requests
        .iter()
        .filter(|request| filter.agrees(request.account.as_deref(), request.reference.as_deref()))
        .collect();
    let fulfilments: Vec<Value> = books.fulfilments().iter().map(fulfilment).collect();
    Json(json!({
        "charges": charges,
        "objects": objects,
        "requests": requests,
        "fulfilments": fulfilments,
    }))
}

impl Filter {
    fn agrees(&self, account: Option<&str>, reference: Option<&str>) -> bool {
        let agrees =
            |wanted: &Option<String>, known| wanted.is_none() || wanted.as_deref() == known;
        agrees(&self.account, account) && agrees(&self.reference, reference)
    }
}

/// A charge for which money moved.
fn money(charge: &Charge) -> Option<Value> {
    let (content, executed_at) = (charge.content.as_ref()?, charge.executed_at?);
    Some(json!({
        "account": charge.account,
        "reference": charge.reference,
        "transaction": charge.transaction,
        "amount": content.amount,
        "currency": content.currency,
        "payment_method": content.payment_method,
        "executed_at": executed_at,
    }))
}

fn object(charge: &Charge) -> Value {
    let mut object = json!(charge.object(1, Utc::now()));
    object["account"] = json!(charge.account);
    object["payment_method"] = json!(charge.content.as_ref().map(|c| &c.payment_method));
    object
}

fn fulfilment(fulfilment: &Fulfilment) -> Value {
    let goods = &fulfilment.goods;
    json!({
        "fulfilment": fulfilment.id,
        "key": fulfilment.key,
        "merchant": goods.merchant,
        "order": goods.order,
        "payment": goods.payment,
        "amount": goods.amount,
        "currency": goods.currency,
        "times_received": fulfilment.times_received,
        "first_at": fulfilment.first_at,
    })
}
