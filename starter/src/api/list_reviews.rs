//! `GET /v1/reviews?state=&payment=&order=&limit=&cursor=`: the open reviews, oldest first, or
//! those asked for, in pages.

use super::limits::DEFAULT_PAGE;
use super::operation::{Caller, Operation, Param, Verb, gives};
use super::page::{self, Cursor};
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources;
use axum::extract::{Query, State};
use domain::{OrderId, PaymentId};
use serde_json::json;
use std::sync::Arc;
use store::reads::{ReviewAfter, ReviewFilter, ReviewState};

/// What the query asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    state: Option<ReviewState>,
    payment: Option<PaymentId>,
    order: Option<OrderId>,
    limit: Option<u32>,
    cursor: Option<Cursor>,
}

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/reviews",
    id: "list_reviews",
    summary: "List reviews",
    about: "The oldest first, in pages.",
    caller: Caller::Anyone,
    query: &[
        Param {
            name: "state",
            schema: "ReviewStateWanted",
            about: "where they stand; `open` if absent",
        },
        Param { name: "payment", schema: "PaymentId", about: "only those of this payment" },
        Param { name: "order", schema: "OrderId", about: "only those of this order" },
        Param { name: "limit", schema: "PageLimit", about: "how many at most" },
        Param { name: "cursor", schema: "Cursor", about: "`next_cursor` of the page before" },
    ],
    body: None,
    answers: &[gives(200, "ReviewList", "a page of reviews")],
    problems: &[Code::DatabaseUnavailable],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Answer, ApiError> {
    let wanted = read(&query)?;
    let limit = wanted.limit.unwrap_or(DEFAULT_PAGE);
    let filter = ReviewFilter {
        state: wanted.state.unwrap_or(ReviewState::Open),
        payment: wanted.payment.as_ref(),
        order: wanted.order.as_ref(),
    };
    let after = wanted.cursor.as_ref().map(|cursor| ReviewAfter { at: cursor.at, id: &cursor.id });
    // One more than is shown tells whether there are more.
    let mut reviews = app.store.list_reviews(&filter, after, limit + 1).await?;
    let more = reviews.len() > limit as usize;
    reviews.truncate(limit as usize);
    let last = reviews.last().filter(|_| more);
    let next = last.map(|last| Cursor { at: last.opened_at, id: last.id.clone() }.to_text());
    let shown: Vec<_> = reviews.iter().map(resources::review::render).collect();
    Ok(Answer::ok(json!({
        "object": "list", "data": shown, "has_more": more, "next_cursor": next,
    })))
}

fn read(query: &[(String, String)]) -> Result<Wanted, ApiError> {
    let mut wanted = Wanted::default();
    for (name, value) in query {
        let invalid = |rule: &str| ApiError::invalid(name.as_str(), format!("{name} {rule}"));
        let again = match name.as_str() {
            "state" => wanted
                .state
                .replace(state(value).ok_or_else(|| invalid("must be open, decided or overtaken"))?)
                .is_some(),
            "payment" => wanted
                .payment
                .replace(
                    PaymentId::parse(value.as_str()).map_err(|_| invalid("must be a pay_ id"))?,
                )
                .is_some(),
            "order" => wanted
                .order
                .replace(OrderId::parse(value.as_str()).map_err(|_| invalid("must be an ord_ id"))?)
                .is_some(),
            "limit" => {
                wanted.limit.replace(page::limit(value).map_err(|rule| invalid(&rule))?).is_some()
            }
            "cursor" => wanted
                .cursor
                .replace(Cursor::parse(value).ok_or_else(|| invalid("is no next_cursor of ours"))?)
                .is_some(),
            _ => {
                let detail = "asks for state, payment, order, limit and cursor only";
                return Err(ApiError::invalid("query", detail));
            }
        };
        if again {
            return Err(invalid("stands twice"));
        }
    }
    Ok(wanted)
}

fn state(text: &str) -> Option<ReviewState> {
    ReviewState::ALL.into_iter().find(|state| state.as_str().to_ascii_lowercase() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Result<Wanted, String> {
        let owned: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read(&owned).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn reviews_are_asked_for_by_state_payment_and_order() {
        assert_eq!(query(&[]).expect("valid"), Wanted::default());
        let order = format!("ord_{}", "a".repeat(26));
        let wanted = query(&[("state", "overtaken"), ("order", &order)]).expect("valid");
        assert_eq!(wanted.state, Some(ReviewState::Overtaken));
        assert_eq!(wanted.order.expect("asked for").as_str(), order);
    }

    #[test]
    fn every_parameter_of_the_document_is_read() {
        for param in OPERATION.query {
            let error = query(&[(param.name, "%")]).err().unwrap_or_default();
            assert!(error.contains(&format!("field: Some(\"{}\")", param.name)), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_by_name() {
        for (pairs, field) in [
            (&[("state", "Open")][..], "state"),
            (&[("state", "open"), ("state", "decided")], "state"),
            (&[("payment", "x")], "payment"),
            (&[("order", "pay_x")], "order"),
            (&[("operator", "alice")], "query"),
            (&[("limit", "0")], "limit"),
            (&[("limit", "101")], "limit"),
            (&[("cursor", "next")], "cursor"),
            (&[("cursor", "")], "cursor"),
        ] {
            let error = query(pairs).expect_err(field);
            assert!(error.contains(&format!("field: Some(\"{field}\")")), "{error}");
        }
    }
}
