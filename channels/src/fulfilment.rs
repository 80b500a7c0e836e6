//! The call to a merchant's fulfilment address. It may be repeated: the payment's id is its
//! idempotency key, and the merchant answers a repeat like the first.

use crate::error::SettingsError;
use crate::http::{self, NoAnswer};
use domain::PaymentIntent;
use reqwest::{Client, Url};
use serde_json::json;
use std::time::Instant;

/// The merchant's own address for fulfilment.
#[derive(Clone, Debug)]
pub struct Fulfilment {
    client: Client,
    url: Url,
}

/// Why the goods are not known to be handed over. Asked again later, with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFulfilled {
    #[error("the merchant did not answer")]
    NoAnswer,
    #[error("the merchant answered with status {0}")]
    Status(u16),
}

impl Fulfilment {
    /// # Errors
    /// [`SettingsError`] for an address that is no HTTP address.
    pub fn new(url: &str) -> Result<Self, SettingsError> {
        let url = parse_url("the fulfilment address", url)?;
        Ok(Self { client: http::client()?, url })
    }

    /// Asks the merchant to hand the goods over.
    ///
    /// Twice is safe: the key is the payment's id.
    ///
    /// # Errors
    /// [`NotFulfilled`].
    pub async fn fulfil(
        &self,
        intent: &PaymentIntent,
        deadline: Instant,
    ) -> Result<(), NotFulfilled> {
        let payment = intent.payment_id();
        let body = json!({
            "merchant": intent.merchant,
            "order": intent.order,
            "payment": payment,
            "amount": intent.money.minor_units(),
            "currency": intent.money.currency(),
        });
        let request = self
            .client
            .post(self.url.clone())
            .header("Idempotency-Key", payment.as_str())
            .json(&body);
        match http::send(request, deadline).await {
            Ok(answer) if answer.status.is_success() => Ok(()),
            Ok(answer) => Err(NotFulfilled::Status(answer.status.as_u16())),
            Err(NoAnswer::NotSent(_) | NoAnswer::Unknown(_)) => Err(NotFulfilled::NoAnswer),
        }
    }
}

pub(crate) fn parse_url(what: &'static str, url: &str) -> Result<Url, SettingsError> {
    let parsed = Url::parse(url).map_err(|_| SettingsError::Address { what })?;
    let http = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
    if http { Ok(parsed) } else { Err(SettingsError::Address { what }) }
}
