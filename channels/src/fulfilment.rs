//! The call to a merchant's fulfilment address. It may be repeated: the payment's id is its
//! idempotency key, and the merchant answers a repeat like the first: 2xx with
//! `{"fulfilment": "its own number"}`.

use crate::error::SettingsError;
use crate::http::{self, NoAnswer};
use domain::PaymentIntent;
use reqwest::{Client, Url};
use serde_json::{Value, json};
use std::time::Instant;

/// The merchant's own address for fulfilment.
#[derive(Clone, Debug)]
pub struct Fulfilment {
    client: Client,
    url: Url,
}

/// Why the goods are not known to be handed over. All but a refusal are asked again later, with the
/// same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFulfilled {
    #[error("the merchant did not answer")]
    NoAnswer,
    #[error("the merchant answered with status {0}")]
    Status(u16),
    /// A definite no: these goods are not handed over under this key, now or later. The code is one
    /// of [`REFUSALS`], never another text of the merchant's.
    #[error("the merchant refuses: {code}")]
    Refused { code: &'static str },
}

/// The only answers that are a definite no. Any other one may be a proxy's, and is asked again.
const REFUSALS: [(u16, &str); 2] = [(409, "cannot_fulfil"), (422, "key_reused")];

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
            Ok(answer) if answer.status.is_success() && is_done(&answer.body) => Ok(()),
            Ok(answer) => Err(not_fulfilled(answer.status.as_u16(), &answer.body)),
            Err(NoAnswer::NotSent(_) | NoAnswer::Unknown(_)) => Err(NotFulfilled::NoAnswer),
        }
    }
}

/// Only the merchant's own number for the handing over is a yes: a page that comes with 200 may be
/// a proxy's, and the goods would be taken for gone.
fn is_done(body: &[u8]) -> bool {
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    said["fulfilment"].as_str().is_some_and(|number| !number.is_empty())
}

fn not_fulfilled(status: u16, body: &[u8]) -> NotFulfilled {
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    match REFUSALS.into_iter().find(|(of, code)| *of == status && said["error"] == *code) {
        Some((_, code)) => NotFulfilled::Refused { code },
        None => NotFulfilled::Status(status),
    }
}

pub(crate) fn parse_url(what: &'static str, url: &str) -> Result<Url, SettingsError> {
    let parsed = Url::parse(url).map_err(|_| SettingsError::Address { what })?;
    let http = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
    if http { Ok(parsed) } else { Err(SettingsError::Address { what }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_merchants_own_number_is_a_yes() {
        assert!(is_done(br#"{"fulfilment":"ful_1","replayed":true}"#));
        for body in ["", "<html>ok</html>", "{}", "[]", r#"{"fulfilment":""}"#, r#"{"error":"x"}"#]
        {
            assert!(!is_done(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn only_the_merchants_documented_no_is_a_refusal() {
        let said = |status: u16, body: &str| not_fulfilled(status, body.as_bytes());
        let no = r#"{"error":"cannot_fulfil","message":"sold out"}"#;
        assert_eq!(said(409, no), NotFulfilled::Refused { code: "cannot_fulfil" });
        let reused = r#"{"error":"key_reused"}"#;
        assert_eq!(said(422, reused), NotFulfilled::Refused { code: "key_reused" });
        for (status, body) in [
            (409, ""),
            (409, "<html>conflict</html>"),
            (409, r#"{"error":"key_reused"}"#),
            (409, r#"{"error":"cannot_fulfil "}"#),
            (409, r#"{"error":7}"#),
            (409, r#"["cannot_fulfil"]"#),
            (422, no),
            (400, no),
            (503, no),
            (302, no),
        ] {
            assert_eq!(said(status, body), NotFulfilled::Status(status), "{status} {body}");
        }
    }
}
