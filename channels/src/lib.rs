//! The channels: the only place where their words become ours. An adapter never retries, never
//! follows a redirect, and answers `Unknown` for whatever it cannot prove.
//!
//! Every channel has the same files: `mod` (its calls), `sign` (its signatures), `wire` (its field
//! names), `map` (its statuses and errors, made ours).

pub mod error;
pub mod fulfilment;
pub mod http;
mod metrics;
pub mod sandbox;

pub use error::SettingsError;

use domain::channel::{ChargeAnswer, CloseAnswer, LookupAnswer};
use domain::{
    Capabilities, ChannelAccount, ChannelKind, ChannelReference, OrderId, PaymentIntent, UnixMillis,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One charge to send.
#[derive(Clone, Copy, Debug)]
pub struct ChargeRequest<'a> {
    pub intent: &'a PaymentIntent,
    pub reference: &'a ChannelReference,
    /// The payer may pay until this instant; it is sent to the channel.
    pub pay_before: UnixMillis,
    /// Nothing is sent after this instant of the monotonic clock, and the call ends at it.
    pub deadline: Instant,
}

/// What a charge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    pub answer: ChargeAnswer,
    /// Set where the channel refused and the charge stayed payable: then a second request closed
    /// it, and `answer` is what both said.
    pub closing: Option<Closing>,
}

/// The request to close that followed a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// From the charge's beginning to the refusal, which is when the close began.
    pub after: Duration,
    pub answer: CloseAnswer,
}

impl From<ChargeAnswer> for Charged {
    fn from(answer: ChargeAnswer) -> Self {
        Self { answer, closing: None }
    }
}

/// One of our accounts at a channel, with everything that is needed to speak to it.
#[derive(Clone, Debug)]
pub enum Channel {
    Sandbox(sandbox::SandboxAccount),
}

impl Channel {
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::Sandbox(account) => account.capabilities(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Sandbox(_) => ChannelKind::Sandbox.as_str(),
        }
    }

    /// Sends one charge, once.
    pub async fn charge(&self, request: &ChargeRequest<'_>) -> Charged {
        let started = Instant::now();
        let charged = match self {
            Self::Sandbox(account) => account.charge(request).await,
        };
        let took = started.elapsed();
        let after = charged.closing.as_ref().map_or(took, |closing| closing.after);
        metrics::called(self.kind(), "charge", metrics::of_charge(&charged.answer), after);
        if let Some(closing) = &charged.closing {
            let took = took.saturating_sub(after);
            metrics::called(self.kind(), "close", metrics::of_close(&closing.answer), took);
        }
        charged
    }

    /// Asks what became of a reference.
    pub async fn lookup(&self, reference: &ChannelReference) -> LookupAnswer {
        let started = Instant::now();
        let answer = match self {
            Self::Sandbox(account) => account.lookup(reference).await,
        };
        metrics::called(self.kind(), "lookup", metrics::of_lookup(&answer), started.elapsed());
        answer
    }

    /// Makes a reference unpayable, unless it is paid.
    pub async fn close(&self, reference: &ChannelReference) -> CloseAnswer {
        let started = Instant::now();
        let answer = match self {
            Self::Sandbox(account) => account.close(reference).await,
        };
        metrics::called(self.kind(), "close", metrics::of_close(&answer), started.elapsed());
        answer
    }
}

/// The accounts that this process may use.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    accounts: BTreeMap<(&'static str, ChannelAccount), Channel>,
}

impl Channels {
    /// Adds an account; a second one of the same name is refused.
    ///
    /// # Errors
    /// [`SettingsError::Repeated`].
    pub fn add(
        &mut self,
        kind: ChannelKind,
        account: ChannelAccount,
        channel: Channel,
    ) -> Result<(), SettingsError> {
        let repeated = SettingsError::Repeated { account: account.to_string() };
        match self.accounts.insert((kind.as_str(), account), channel) {
            None => Ok(()),
            Some(_) => Err(repeated),
        }
    }

    #[must_use]
    pub fn get(&self, kind: ChannelKind, account: &ChannelAccount) -> Option<&Channel> {
        self.accounts.get(&(kind.as_str(), account.clone()))
    }
}

/// What a channel shows its own people about a payment.
pub(crate) fn description(order: &OrderId) -> String {
    format!("Order {order}")
}
