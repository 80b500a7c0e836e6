//! A payment intent: what a caller asks for, once, under one key.

use crate::channel::ChannelKind;
use crate::ids::{
    ChannelAccount, ChannelReference, IdempotencyKey, MerchantId, OperatorName, OrderId, PaymentId,
    PaymentMethod, derive,
};
use crate::money::{Currency, MAX_MINOR_UNITS, Money};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One decision to collect a fixed amount for an order. It is valid by construction: it is made
/// only by [`PaymentIntent::from_json`] or from a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentIntent {
    pub merchant: MerchantId,
    pub key: IdempotencyKey,
    pub order: OrderId,
    pub money: Money,
    pub channel: ChannelKind,
    pub account: ChannelAccount,
    pub payment_method: PaymentMethod,
    /// The operator who started it, where one did: they may not decide about it. It is not part of
    /// what is asked for, so it is in no fingerprint and differs from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<OperatorName>,
}

/// A field of an intent, by the name that it has in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentField {
    Merchant,
    Key,
    Order,
    Amount,
    Currency,
    Channel,
    Account,
    PaymentMethod,
    StartedBy,
}

impl IntentField {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Key => "key",
            Self::Order => "order",
            Self::Amount => "amount",
            Self::Currency => "currency",
            Self::Channel => "channel",
            Self::Account => "account",
            Self::PaymentMethod => "payment_method",
            Self::StartedBy => "started_by",
        }
    }
}

/// The fields that make an intent what it is.
const FIELDS: [IntentField; 8] = [
    IntentField::Merchant,
    IntentField::Key,
    IntentField::Order,
    IntentField::Amount,
    IntentField::Currency,
    IntentField::Channel,
    IntentField::Account,
    IntentField::PaymentMethod,
];

/// Why JSON is not an intent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntentError {
    #[error("the input must be one JSON object")]
    NotAnObject,
    #[error("{} is missing", field.as_str())]
    Missing { field: IntentField },
    #[error("{} {rule}", field.as_str())]
    Invalid { field: IntentField, rule: String },
    #[error("{name:?} is not a field of a payment intent")]
    UnknownField { name: String },
}

impl IntentError {
    /// The field to name to the caller.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        match self {
            Self::NotAnObject => None,
            Self::Missing { field } | Self::Invalid { field, .. } => {
                Some(field.as_str().to_owned())
            }
            Self::UnknownField { name } => Some(name.clone()),
        }
    }
}

impl PaymentIntent {
    /// Reads the documented JSON form, the input of a payment workflow:
    /// `{"merchant","key","order","amount","currency","channel","account","payment_method"}`, with
    /// `amount` a positive integer of minor units; `started_by` may be there.
    ///
    /// # Errors
    /// [`IntentError`], naming the first field that is wrong.
    pub fn from_json(value: &Value) -> Result<Self, IntentError> {
        let object = value.as_object().ok_or(IntentError::NotAnObject)?;
        let started_by = IntentField::StartedBy;
        let known =
            |name: &str| FIELDS.iter().chain([&started_by]).any(|field| field.as_str() == name);
        if let Some(name) = object.keys().find(|name| !known(name)) {
            return Err(IntentError::UnknownField { name: name.chars().take(40).collect() });
        }
        let text = |field: IntentField| match object.get(field.as_str()) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(invalid(field, "must be a string")),
            None => Err(IntentError::Missing { field }),
        };
        let merchant =
            parsed(IntentField::Merchant, MerchantId::parse(text(IntentField::Merchant)?))?;
        let key = parsed(IntentField::Key, IdempotencyKey::parse(text(IntentField::Key)?))?;
        let order = parsed(IntentField::Order, OrderId::parse(text(IntentField::Order)?))?;
        let amount = match object.get("amount") {
            None => return Err(IntentError::Missing { field: IntentField::Amount }),
            Some(value) => value.as_u64().filter(|amount| *amount > 0).ok_or_else(|| {
                invalid(IntentField::Amount, "must be a positive integer of minor units")
            })?,
        };
        let currency = Currency::parse(&text(IntentField::Currency)?)
            .map_err(|_| invalid(IntentField::Currency, "must be an upper-case ISO 4217 code"))?;
        let money = Money::new(amount, currency).map_err(|_| {
            invalid(IntentField::Amount, &format!("must be at most {MAX_MINOR_UNITS}"))
        })?;
        let channel = ChannelKind::parse(&text(IntentField::Channel)?)
            .ok_or_else(|| invalid(IntentField::Channel, "must be one of: sandbox"))?;
        let account =
            parsed(IntentField::Account, ChannelAccount::parse(text(IntentField::Account)?))?;
        let payment_method = parsed(
            IntentField::PaymentMethod,
            PaymentMethod::parse(text(IntentField::PaymentMethod)?),
        )?;
        let started_by = match object.get(started_by.as_str()) {
            None => None,
            Some(_) => Some(parsed(started_by, OperatorName::parse(text(started_by)?))?),
        };
        Ok(Self { merchant, key, order, money, channel, account, payment_method, started_by })
    }

    /// The same form that [`Self::from_json`] reads.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::json!({
            "merchant": self.merchant,
            "key": self.key,
            "order": self.order,
            "amount": self.money.minor_units(),
            "currency": self.money.currency(),
            "channel": self.channel,
            "account": self.account,
            "payment_method": self.payment_method,
        });
        if let Some(name) = &self.started_by {
            json[IntentField::StartedBy.as_str()] = Value::from(name.as_str());
        }
        json
    }

    #[must_use]
    pub fn payment_id(&self) -> PaymentId {
        PaymentId::of(&self.merchant, &self.key)
    }

    #[must_use]
    pub fn reference(&self, attempt: u16) -> ChannelReference {
        ChannelReference::of(&self.merchant, &self.key, attempt)
    }

    /// The version of the canonical form and a digest of it. Equal for equal intents only.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let amount = self.money.minor_units().to_string();
        let parts = [
            self.merchant.as_str(),
            self.key.as_str(),
            self.order.as_str(),
            &amount,
            self.money.currency().code(),
            self.channel.as_str(),
            self.account.as_str(),
            self.payment_method.as_str(),
        ];
        format!("v1:{}", derive("intent", &parts))
    }

    /// The first field in which another intent under the same key differs.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<IntentField> {
        let (mine, theirs) = (self.to_json(), other.to_json());
        FIELDS.into_iter().find(|field| mine.get(field.as_str()) != theirs.get(field.as_str()))
    }
}

fn invalid(field: IntentField, rule: &str) -> IntentError {
    IntentError::Invalid { field, rule: rule.to_owned() }
}

fn parsed<T>(field: IntentField, result: Result<T, crate::ids::IdError>) -> Result<T, IntentError> {
    result.map_err(|error| invalid(field, &format!("must be {}", error.rule)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Value {
        json!({
            "merchant": "acme", "key": "k1", "order": format!("ord_{}", "a".repeat(26)),
            "amount": 1999, "currency": "CNY", "channel": "sandbox", "account": "main",
            "payment_method": "pm_ok",
        })
    }

    #[test]
    fn json_reads_back_as_written() {
        let intent = PaymentIntent::from_json(&sample()).expect("valid");
        assert_eq!(intent.to_json(), sample());
        assert_eq!(PaymentIntent::from_json(&intent.to_json()), Ok(intent));
    }

    #[test]
    fn who_started_it_is_kept_and_makes_no_other_intent() {
        let plain = PaymentIntent::from_json(&sample()).expect("valid");
        let mut input = sample();
        input["started_by"] = json!("alice");
        let intent = PaymentIntent::from_json(&input).expect("valid");
        assert_eq!(intent.to_json(), input);
        assert_eq!(intent.fingerprint(), plain.fingerprint());
        assert_eq!(intent.first_difference(&plain), None);
        for bad in [json!("Alice"), json!(null), json!(1)] {
            input["started_by"] = bad;
            let error = PaymentIntent::from_json(&input).expect_err("refused");
            assert_eq!(error.field().as_deref(), Some("started_by"));
        }
    }

    #[test]
    fn the_wrong_field_is_named() {
        let cases = [
            ("merchant", json!("A")),
            ("key", json!("")),
            ("order", json!("o-1")),
            ("amount", json!(0)),
            ("amount", json!(-1)),
            ("amount", json!(19.99)),
            ("amount", json!("1999")),
            ("amount", json!(9_007_199_254_740_992_u64)),
            ("currency", json!("cny")),
            ("channel", json!("cash")),
            ("account", json!("")),
            ("payment_method", json!("4111111111111111")),
            ("merchant", json!(null)),
        ];
        for (field, value) in cases {
            let mut input = sample();
            input[field] = value.clone();
            let error = PaymentIntent::from_json(&input).expect_err("refused");
            assert_eq!(error.field().as_deref(), Some(field), "{value}");
            input.as_object_mut().expect("object").remove(field);
            let error = PaymentIntent::from_json(&input).expect_err("refused");
            assert_eq!(error.field().as_deref(), Some(field));
        }
        let mut input = sample();
        input["amuont"] = json!(1);
        assert_eq!(
            PaymentIntent::from_json(&input).expect_err("refused").field().as_deref(),
            Some("amuont")
        );
        assert_eq!(PaymentIntent::from_json(&json!([1])), Err(IntentError::NotAnObject));
    }

    #[test]
    fn a_fingerprint_differs_with_every_field() {
        let intent = PaymentIntent::from_json(&sample()).expect("valid");
        let changes = [
            ("merchant", json!("acme2")),
            ("key", json!("k2")),
            ("amount", json!(2000)),
            ("order", json!(format!("ord_{}", "b".repeat(26)))),
            ("currency", json!("USD")),
            ("account", json!("other")),
            ("payment_method", json!("pm_other")),
        ];
        for (field, value) in changes {
            let mut input = sample();
            input[field] = value;
            let other = PaymentIntent::from_json(&input).expect("valid");
            assert_ne!(intent.fingerprint(), other.fingerprint(), "{field}");
            assert_eq!(intent.first_difference(&other).map(IntentField::as_str), Some(field));
        }
        assert_eq!(intent.first_difference(&intent.clone()), None);
    }
}
