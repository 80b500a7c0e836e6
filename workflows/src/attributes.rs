//! Search attributes of payment workflows, by which operators find them. They must be registered in
//! the namespace; none holds payer data.

use domain::{PaymentIntent, PaymentView};
use temporalio_common::search_attributes::{SearchAttributeKey, SearchAttributeUpdate};
use temporalio_protos::temporal::api::enums::v1::IndexedValueType;

const PAYMENT_ID: SearchAttributeKey<String> = SearchAttributeKey::keyword("PaymentId");
const PAYMENT_STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword("PaymentStatus");
const MERCHANT_ID: SearchAttributeKey<String> = SearchAttributeKey::keyword("MerchantId");
const ORDER_ID: SearchAttributeKey<String> = SearchAttributeKey::keyword("OrderId");
const CHANNEL: SearchAttributeKey<String> = SearchAttributeKey::keyword("Channel");
const CHANNEL_TRANSACTION: SearchAttributeKey<String> =
    SearchAttributeKey::keyword("ChannelTransaction");
const AMOUNT_MINOR: SearchAttributeKey<i64> = SearchAttributeKey::int("AmountMinor");
const NEEDS_REVIEW: SearchAttributeKey<bool> = SearchAttributeKey::bool("NeedsReview");

/// Every attribute by its name, with its type.
pub const ALL: [(&str, IndexedValueType); 8] = [
    ("PaymentId", IndexedValueType::Keyword),
    ("PaymentStatus", IndexedValueType::Keyword),
    ("MerchantId", IndexedValueType::Keyword),
    ("OrderId", IndexedValueType::Keyword),
    ("Channel", IndexedValueType::Keyword),
    ("ChannelTransaction", IndexedValueType::Keyword),
    ("AmountMinor", IndexedValueType::Int),
    ("NeedsReview", IndexedValueType::Bool),
];

/// What is known when a payment's workflow is started.
#[must_use]
pub fn at_start(intent: &PaymentIntent) -> Vec<SearchAttributeUpdate> {
    // Cannot fail: MAX_MINOR_UNITS is below 2^53.
    let amount = i64::try_from(intent.money.minor_units()).unwrap_or(i64::MAX);
    vec![
        PAYMENT_ID.value_set(intent.payment_id().to_string()),
        MERCHANT_ID.value_set(intent.merchant.to_string()),
        ORDER_ID.value_set(intent.order.to_string()),
        CHANNEL.value_set(intent.channel.as_str().to_owned()),
        AMOUNT_MINOR.value_set(amount),
    ]
}

/// What the row says, once a payment has left the happy path.
#[must_use]
pub fn of_row(view: &PaymentView) -> Vec<SearchAttributeUpdate> {
    let mut updates = vec![
        PAYMENT_STATUS.value_set(view.state.name().to_owned()),
        NEEDS_REVIEW.value_set(view.review.is_some()),
    ];
    if let Some(money) = view.state.money() {
        updates.push(CHANNEL_TRANSACTION.value_set(money.transaction.as_str().to_owned()));
    }
    updates
}
