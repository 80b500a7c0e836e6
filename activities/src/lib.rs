//! The side effects that workflows declare in `workflows::contract`, each in the file of its name.
//!
//! Every activity may run twice, and says in its own words why twice is safe. None decides what
//! happens next, and none holds a transaction across a network call.

mod charge;
mod decide_review;
mod failure;
mod fulfil;
mod lookup;
mod persist;
mod sender;
pub mod trace;

use channels::Channels;
use channels::fulfilment::Fulfilment;
use lookup::Ask;
use std::sync::Arc;
use store::Store;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use workflows::contract::definitions as contract;
use workflows::payment::messages::{
    ChargeInput, ChargeOutput, DecideInput, DecideOutput, FulfilInput, FulfilOutput, LookupInput,
    LookupOutput, PersistInput, RowOutput,
};

/// Limits that a deployment's settings are checked against.
pub mod limits {
    pub use domain::audit::MIN_DECISION_KEY_LEN;
    pub use domain::recovery::MAX_RUNGS;
    pub use domain::review::FourEyes;
}

/// What a payment's activities work with.
pub struct PaymentActivities {
    pub store: Store,
    pub channels: Channels,
    pub fulfilment: Fulfilment,
    pub settings: Settings,
}

/// What a deployment may set.
pub struct Settings {
    /// Waits before each lookup of an unknown outcome; given to a run once.
    pub ladder_ms: Vec<u64>,
    pub awaiting_payer_ms: Vec<u64>,
    /// Shared with the API: proves who decided.
    pub decision_key: Vec<u8>,
    /// Above which amounts two people must decide the same.
    pub four_eyes: limits::FourEyes,
}

#[activities]
#[expect(clippy::missing_errors_doc, reason = "each says in its own file what fails and why")]
impl PaymentActivities {
    #[activity(definition = contract::Charge)]
    pub async fn charge(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: ChargeInput,
    ) -> Result<ChargeOutput, ActivityError> {
        let token = sender::token(&ctx)?;
        sender::heartbeating(&ctx, charge::charge(&self, &token, &input)).await
    }

    #[activity(definition = contract::Lookup)]
    pub async fn lookup(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: LookupInput,
    ) -> Result<LookupOutput, ActivityError> {
        let ask = if input.close { Ask::Close } else { Ask::Lookup };
        let work = lookup::ask(&self, &input.intent, input.start_before, ask);
        sender::heartbeating(&ctx, work).await
    }

    #[activity(definition = contract::Persist)]
    pub async fn persist(
        self: Arc<Self>,
        _ctx: ActivityContext,
        input: PersistInput,
    ) -> Result<RowOutput, ActivityError> {
        persist::persist(&self, &input).await
    }

    #[activity(definition = contract::Fulfil)]
    pub async fn fulfil(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: FulfilInput,
    ) -> Result<FulfilOutput, ActivityError> {
        fulfil::fulfil(&self, &ctx, &input).await
    }

    #[activity(definition = contract::DecideReview)]
    pub async fn decide_review(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: DecideInput,
    ) -> Result<DecideOutput, ActivityError> {
        sender::heartbeating(&ctx, decide_review::decide_review(&self, &input)).await
    }
}
