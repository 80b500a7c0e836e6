//! An order as its customer may see it.

use super::rfc3339;
use serde_json::{Value, json};
use store::reads::{OrderItem, OrderPayment, OrderRecord};

/// The JSON of an order.
#[must_use]
pub(crate) fn render(order: &OrderRecord) -> Value {
    json!({
        "object": "order",
        "id": order.id,
        "merchant": order.merchant,
        "state": order.state,
        "currency": order.currency,
        "goods_total": order.goods_total,
        "discount": order.discount,
        "freight": order.freight,
        "payable": { "amount": order.payable, "currency": order.currency },
        "coupon": order.coupon,
        "items": order.items.iter().map(item).collect::<Vec<_>>(),
        "paid_by": order.paid_by,
        "payments": order.payments.iter().map(payment).collect::<Vec<_>>(),
        "close_at": rfc3339(order.close_at),
        "created_at": rfc3339(order.created_at),
    })
}

fn item(item: &OrderItem) -> Value {
    json!({
        "sku": item.sku,
        "name": item.name,
        "quantity": item.quantity,
        "unit_price": item.unit_price,
        "line_total": item.line_total,
    })
}

fn payment(payment: &OrderPayment) -> Value {
    json!({ "id": payment.id, "state": payment.state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn an_order_shows_whole_minor_units_and_utc() {
        let at = DateTime::from_timestamp_millis(1_700_000_000_123).expect("valid");
        let order = OrderRecord {
            id: "ord_x".to_owned(),
            merchant: "acme".to_owned(),
            state: "AwaitingPayment".to_owned(),
            currency: "CNY".to_owned(),
            goods_total: 3_998,
            discount: 0,
            freight: 800,
            payable: 4_798,
            coupon: None,
            paid_by: None,
            close_at: at,
            created_at: at,
            items: vec![OrderItem {
                sku: "tea".to_owned(),
                name: "Tea".to_owned(),
                quantity: 2,
                unit_price: 1_999,
                line_total: 3_998,
            }],
            payments: vec![OrderPayment {
                id: "pay_x".to_owned(),
                state: "Unknown".to_owned(),
                created_at: at,
            }],
        };
        let shown = render(&order);
        assert_eq!(shown["payable"], json!({ "amount": 4_798, "currency": "CNY" }));
        assert_eq!(shown["items"][0]["line_total"], 3_998);
        assert_eq!(shown["payments"], json!([{ "id": "pay_x", "state": "Unknown" }]));
        assert_eq!(shown["created_at"], "2023-11-14T22:13:20.123Z");
        assert!(shown["paid_by"].is_null() && shown["coupon"].is_null());
    }
}
