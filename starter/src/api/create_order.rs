//! `POST /v1/orders`: prices an order from the merchant's own data and reserves its stock. A total
//! from the client is no field of it.

use super::body::{Fields, JsonObject, must_be};
use super::headers::{self, IDEMPOTENCY_KEY};
use super::limits::MAX_COUPON_LEN;
use super::operation::{Body, Caller, Operation, Verb, gives};
use super::problem::{ApiError, Code};
use super::{Answer, App};
use crate::resources;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::order::{MAX_ORDER_LINES, MAX_QUANTITY};
use domain::{IdempotencyKey, MerchantId, OrderId, Sku};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::orders::{NewOrder, OrderRefusal, Placed};

/// What the body may have.
pub(super) const FIELDS: &[&str] = &["merchant", "items", "coupon"];
pub(super) const LINE_FIELDS: &[&str] = &["sku", "quantity"];

pub(super) const OPERATION: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/orders",
    id: "create_order",
    summary: "Price an order and reserve its stock",
    about: "Prices, coupon and freight are the merchant's own data; a total from the client is \
            no field of it.",
    caller: Caller::Anyone,
    query: &[],
    body: Some(Body { schema: "NewOrder", key: "IdempotencyKey" }),
    answers: &[
        gives(201, "Order", "the order was made; `Location` is its path"),
        gives(
            200,
            "Order",
            "the key had made it: the order as it is now, with `Idempotent-Replayed`",
        ),
    ],
    problems: &[
        Code::OutOfStock,
        Code::IdempotencyConflict,
        Code::UnknownMerchant,
        Code::UnknownProduct,
        Code::CouponNotUsable,
        Code::TotalNotPayable,
        Code::DatabaseUnavailable,
    ],
};

pub(super) async fn handle(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    JsonObject(body): JsonObject,
) -> Result<Answer, ApiError> {
    let order = read(&headers, &body)?;
    match app.store.place_order(&order).await? {
        Placed::Created(id) => {
            let location = format!("/v1/orders/{id}");
            Ok(show(&app, &id).await?.status(StatusCode::CREATED).at(location))
        }
        Placed::Existing(id) => Ok(show(&app, &id).await?.replayed()),
        Placed::Refused(refusal) => Err(refuse(refusal)),
    }
}

/// The order as it is now: a repeat tells today's truth.
async fn show(app: &App, id: &OrderId) -> Result<Answer, ApiError> {
    let order = app.store.read_order(id).await?;
    let missing = || ApiError::internal(anyhow::anyhow!("order {id} was placed and is not there"));
    Ok(Answer::ok(resources::order::render(&order.ok_or_else(missing)?)))
}

fn read(headers: &HeaderMap, body: &Map<String, Value>) -> Result<NewOrder, ApiError> {
    let key = IdempotencyKey::parse(headers::idempotency_key(headers)?).map_err(|error| {
        ApiError::invalid(IDEMPOTENCY_KEY, format!("{IDEMPOTENCY_KEY} {}", must_be(&error)))
    })?;
    let fields = Fields::of(body, "", FIELDS)?;
    let merchant =
        fields.parsed("merchant", |text| MerchantId::parse(text).map_err(|e| must_be(&e)))?;
    let lines = fields.list("items")?;
    if !(1..=MAX_ORDER_LINES).contains(&lines.len()) {
        let rule = format!("must have 1 to {MAX_ORDER_LINES} lines");
        return Err(fields.invalid("items", rule));
    }
    let mut items = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let path = format!("items[{index}]");
        let Some(line) = line.as_object() else {
            return Err(ApiError::invalid(&path, format!("{path} must be an object")));
        };
        let line = Fields::of(line, &path, LINE_FIELDS)?;
        let sku = line.parsed("sku", |text| Sku::parse(text).map_err(|e| must_be(&e)))?;
        let quantity = u32::try_from(line.unsigned("quantity")?).ok();
        let quantity = quantity.filter(|quantity| (1..=MAX_QUANTITY).contains(quantity));
        let quantity = quantity
            .ok_or_else(|| line.invalid("quantity", format!("must be 1 to {MAX_QUANTITY}")))?;
        if items.insert(sku, quantity).is_some() {
            return Err(line.invalid("sku", "stands in an earlier line already"));
        }
    }
    let coupon = fields.optional_text("coupon")?;
    if coupon.is_some_and(|code| !is_coupon(code)) {
        let rule = format!("must be 1 to {MAX_COUPON_LEN} printable ASCII characters");
        return Err(fields.invalid("coupon", rule));
    }
    Ok(NewOrder { merchant, key, items, coupon: coupon.map(str::to_owned) })
}

fn is_coupon(code: &str) -> bool {
    (1..=MAX_COUPON_LEN).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_graphic())
}

fn refuse(refusal: OrderRefusal) -> ApiError {
    match refusal {
        OrderRefusal::IdempotencyConflict { field } => {
            let detail = format!("the key made an order with other {field}");
            ApiError::new(Code::IdempotencyConflict, detail).field(field)
        }
        OrderRefusal::UnknownMerchant => {
            ApiError::new(Code::UnknownMerchant, "the merchant is not known").field("merchant")
        }
        OrderRefusal::UnknownProduct { sku } => {
            let detail = format!("the merchant has no product {sku}");
            ApiError::new(Code::UnknownProduct, detail).field("items").with("sku", sku.as_str())
        }
        OrderRefusal::OutOfStock { sku } => {
            let detail = format!("there is not enough of {sku}");
            ApiError::new(Code::OutOfStock, detail).field("items").with("sku", sku.as_str())
        }
        OrderRefusal::CouponNotUsable { why } => {
            ApiError::new(Code::CouponNotUsable, why).field("coupon")
        }
        OrderRefusal::TotalNotPayable { why } => ApiError::new(Code::TotalNotPayable, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde_json::json;

    fn read_json(body: &Value) -> Result<NewOrder, String> {
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static("k1"));
        let body = body.as_object().expect("object");
        read(&headers, body).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn an_order_is_read_sorted_by_product() {
        let order = read_json(&json!({
            "merchant": "acme", "coupon": null,
            "items": [{ "sku": "tea", "quantity": 2 }, { "sku": "cup", "quantity": 9_999 }],
        }))
        .expect("valid");
        let items: Vec<_> = order.items.iter().map(|(sku, n)| (sku.as_str(), *n)).collect();
        assert_eq!(items, [("cup", 9_999), ("tea", 2)]);
        assert_eq!(order.coupon, None);
    }

    #[test]
    fn the_wrong_field_is_named() {
        let good = || json!({ "merchant": "acme", "items": [{ "sku": "tea", "quantity": 1 }] });
        let line = |line: Value| {
            let mut body = good();
            body["items"] = json!([line]);
            body
        };
        let set = |name: &str, value: Value| {
            let mut body = good();
            body[name] = value;
            body
        };
        let many: Vec<_> = (0..=MAX_ORDER_LINES).map(|n| json!({"sku": n.to_string()})).collect();
        let twice = json!([{ "sku": "tea", "quantity": 1 }, { "sku": "tea", "quantity": 1 }]);
        for (body, field) in [
            (set("total", json!(1)), "total"),
            (set("merchant", json!("ACME")), "merchant"),
            (set("merchant", json!(1)), "merchant"),
            (set("items", json!([])), "items"),
            (set("items", json!(many)), "items"),
            (set("items", json!({})), "items"),
            (set("items", json!(["tea"])), "items[0]"),
            (set("items", twice), "items[1].sku"),
            (set("coupon", json!("")), "coupon"),
            (set("coupon", json!(5)), "coupon"),
            (line(json!({ "sku": "tea", "quantity": 0 })), "items[0].quantity"),
            (line(json!({ "sku": "tea", "quantity": 10_000 })), "items[0].quantity"),
            (line(json!({ "sku": "tea", "quantity": 1.5 })), "items[0].quantity"),
            (line(json!({ "sku": "tea", "quantity": "1" })), "items[0].quantity"),
            (line(json!({ "sku": "tea" })), "items[0].quantity"),
            (line(json!({ "sku": "a b", "quantity": 1 })), "items[0].sku"),
            (line(json!({ "sku": "tea", "quantity": 1, "price": 1 })), "items[0].price"),
        ] {
            let error = read_json(&body).expect_err(field);
            assert!(error.contains(&format!("field: Some(\"{field}\")")), "{error}");
        }
    }

    #[test]
    fn a_refusal_names_its_field_and_has_its_status() {
        let sku = || Sku::parse("tea").expect("valid");
        for (refusal, status) in [
            (OrderRefusal::IdempotencyConflict { field: "items" }, 422),
            (OrderRefusal::UnknownMerchant, 422),
            (OrderRefusal::UnknownProduct { sku: sku() }, 422),
            (OrderRefusal::OutOfStock { sku: sku() }, 409),
            (OrderRefusal::CouponNotUsable { why: "no" }, 422),
            (OrderRefusal::TotalNotPayable { why: "no".to_owned() }, 422),
        ] {
            let printed = format!("{refusal:?}");
            assert_eq!(refuse(refusal).code().status().as_u16(), status, "{printed}");
        }
    }
}
