//! The sandbox channel: a process of our own that speaks its own protocol over HTTP, reached like
//! any other channel. The transaction's identity is its field `transaction`.

mod map;
mod sign;
mod wire;

use crate::error::SettingsError;
use crate::fulfilment::parse_url;
use crate::http::{self, Answer, NoAnswer};
use crate::{Channel, Channels, ChargeRequest, Closing, description};
use domain::channel::{ChargeAnswer, CloseAnswer, LookupAnswer, LookupKind};
use domain::{Capabilities, ChannelAccount, ChannelKind, ChannelReference, UnknownReason};
use map::Charged;
use reqwest::{Client, Method, Url};
use sign::Signer;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest call limit that may be set: `charge` runs at most a minute.
const MAX_CALL_LIMIT: Duration = Duration::from_secs(30);
const MAX_GRACE: Duration = Duration::from_secs(3_600);
/// As long as the sandbox takes: a leap year.
const MAX_IDEMPOTENCY_WINDOW_S: u64 = 366 * 86_400;

/// One account at the sandbox.
#[derive(Clone, Debug)]
pub struct SandboxAccount {
    client: Client,
    base: Url,
    signer: Arc<Signer>,
    reference_of: ChannelAccount,
    capabilities: Capabilities,
}

/// Reads a list of accounts, as `docs/` and the sandbox's own page describe it.
///
/// # Errors
/// [`SettingsError`] naming the account and the field.
pub fn accounts(base: &str, json: &str) -> Result<Channels, SettingsError> {
    let base = parse_url("the sandbox's address", base)?;
    let settings: Vec<wire::AccountSettings> = serde_json::from_str(json)
        .map_err(|source| SettingsError::NotAList { what: "the sandbox accounts", source })?;
    let client = http::client()?;
    let mut channels = Channels::default();
    for settings in settings {
        let account = SandboxAccount::new(client.clone(), base.clone(), &settings)?;
        let name = account.reference_of.clone();
        channels.add(ChannelKind::Sandbox, name, Channel::Sandbox(account))?;
    }
    Ok(channels)
}

impl SandboxAccount {
    fn new(
        client: Client,
        base: Url,
        settings: &wire::AccountSettings,
    ) -> Result<Self, SettingsError> {
        let invalid = |field, rule: &str| SettingsError::Invalid {
            account: settings.account.clone(),
            field,
            rule: rule.to_owned(),
        };
        let name = ChannelAccount::parse(settings.account.clone())
            .map_err(|error| invalid("account", &format!("must be {}", error.rule)))?;
        let signer = Signer::new(&name, &settings.secret)
            .ok_or_else(|| invalid("secret", "must be at least 16 bytes in hex"))?;
        let call_limit = Duration::from_millis(settings.call_limit_ms);
        if call_limit.is_zero() || call_limit > MAX_CALL_LIMIT {
            return Err(invalid("call_limit_ms", "must be 1 to 30000"));
        }
        let grace = Duration::from_millis(settings.grace_ms);
        if grace > MAX_GRACE {
            return Err(invalid("grace_ms", "must be at most 3600000"));
        }
        if !(1..=MAX_IDEMPOTENCY_WINDOW_S).contains(&settings.idempotency_window_s) {
            return Err(invalid("idempotency_window_s", "must be 1 to 31622400"));
        }
        let window = Duration::from_secs(settings.idempotency_window_s);
        let complete =
            if settings.lookup_complete { LookupKind::Complete } else { LookupKind::Partial };
        let capabilities = Capabilities {
            idempotent_for: settings.idempotent.then_some(window),
            lookup: settings.lookup.then_some(complete),
            refuses_known_reference: settings.refuses_known_reference,
            close: settings.close,
            grace,
            call_limit,
        };
        Ok(Self { client, base, signer: Arc::new(signer), reference_of: name, capabilities })
    }

    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Sends one charge, once, until the deadline. A refusal that leaves the charge payable is a
    /// decline only once the charge is closed, within the same deadline.
    pub async fn charge(&self, request: &ChargeRequest<'_>) -> crate::Charged {
        let started = Instant::now();
        let body = wire::ChargeBody {
            reference: request.reference.as_str(),
            amount: request.intent.money.minor_units(),
            currency: request.intent.money.currency().code(),
            payment_method: request.intent.payment_method.as_str(),
            description: description(&request.intent.order),
            pay_before: wire::rfc3339(request.pay_before),
        };
        let Ok(body) = serde_json::to_vec(&body) else {
            let proof = domain::NotExecutedProof::NothingSent;
            return ChargeAnswer::NotExecuted { proof }.into();
        };
        let answer = self.call(Method::POST, "/v1/charges", body, request.deadline).await;
        let charged = match answer {
            Ok((answer, nonce)) => {
                map::charge(&self.signer, &answer, &nonce, request.reference, request.pay_before)
            }
            Err(NoAnswer::NotSent(proof)) => return ChargeAnswer::NotExecuted { proof }.into(),
            Err(NoAnswer::Unknown(why)) => return ChargeAnswer::Unknown { why }.into(),
        };
        match charged {
            Charged::Answer(answer) => map::observable(answer, &self.capabilities).into(),
            Charged::RefusedAndPayable { class, code } => {
                let after = started.elapsed();
                let closed = if self.capabilities.close {
                    Some(self.close_until(request.reference, request.deadline).await)
                } else {
                    None
                };
                let answer = map::refused_and_payable(class, code, closed.clone());
                let closing = closed.map(|answer| Closing { after, answer });
                crate::Charged { answer, closing }
            }
        }
    }

    /// Asks what became of a reference.
    pub async fn lookup(&self, reference: &ChannelReference) -> LookupAnswer {
        let path = format!("/v1/charges/{reference}");
        let deadline = Instant::now() + self.capabilities.call_limit;
        match self.call(Method::GET, &path, Vec::new(), deadline).await {
            Ok((answer, nonce)) => map::lookup(&self.signer, &answer, &nonce, reference),
            Err(no_answer) => LookupAnswer::Unknown { why: why(no_answer) },
        }
    }

    /// Makes a reference unpayable, unless it is paid.
    pub async fn close(&self, reference: &ChannelReference) -> CloseAnswer {
        self.close_until(reference, Instant::now() + self.capabilities.call_limit).await
    }

    async fn close_until(&self, reference: &ChannelReference, deadline: Instant) -> CloseAnswer {
        let path = format!("/v1/charges/{reference}/close");
        match self.call(Method::POST, &path, Vec::new(), deadline).await {
            Ok((answer, nonce)) => map::close(&self.signer, &answer, &nonce, reference),
            Err(no_answer) => CloseAnswer::Unknown { why: why(no_answer) },
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        deadline: Instant,
    ) -> Result<(Answer, String), NoAnswer> {
        let mut url = self.base.clone();
        url.set_path(path);
        let signed = self.signer.request(method.as_str(), path, &body);
        let mut request = self.client.request(method, url).body(body);
        for (name, value) in signed.headers {
            request = request.header(name, value);
        }
        let request = request.header("Content-Type", "application/json");
        Ok((http::send(request, deadline).await?, signed.nonce))
    }
}

fn why(no_answer: NoAnswer) -> UnknownReason {
    match no_answer {
        NoAnswer::NotSent(_) => UnknownReason::ConnectionLost,
        NoAnswer::Unknown(why) => why,
    }
}

#[cfg(test)]
mod tests;
