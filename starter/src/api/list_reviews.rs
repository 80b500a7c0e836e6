//! `GET /v1/reviews?state=&payment=&order=`: the open reviews, oldest first, or those asked for.

use super::problem::ApiError;
use super::{Answer, App};
use crate::resources;
use axum::extract::{Query, State};
use domain::{OrderId, PaymentId};
use serde_json::json;
use std::sync::Arc;
use store::reads::{MAX_REVIEWS, ReviewFilter, ReviewState};

/// What the query asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    state: Option<ReviewState>,
    payment: Option<PaymentId>,
    order: Option<OrderId>,
}

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Answer, ApiError> {
    let wanted = read(&query)?;
    let filter = ReviewFilter {
        id: None,
        state: Some(wanted.state.unwrap_or(ReviewState::Open)),
        payment: wanted.payment.as_ref(),
        order: wanted.order.as_ref(),
    };
    let reviews = app.store.list_reviews(&filter).await?;
    // A full page may leave something out; the caller is told, and decides the oldest first.
    let full = i64::try_from(reviews.len()).is_ok_and(|count| count >= MAX_REVIEWS);
    let shown: Vec<_> = reviews.iter().map(resources::review::render).collect();
    Ok(Answer::ok(json!({ "object": "list", "data": shown, "has_more": full })))
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
            _ => return Err(ApiError::invalid("query", "asks for state, payment or order only")),
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
    fn what_cannot_be_asked_for_is_refused_by_name() {
        for (pairs, field) in [
            (&[("state", "Open")][..], "state"),
            (&[("state", "open"), ("state", "decided")], "state"),
            (&[("payment", "x")], "payment"),
            (&[("order", "pay_x")], "order"),
            (&[("operator", "alice")], "query"),
        ] {
            let error = query(pairs).expect_err(field);
            assert!(error.contains(&format!("field: Some(\"{field}\")")), "{error}");
        }
    }
}
