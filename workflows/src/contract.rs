//! The side effects that workflows need. Each is implemented under the same name in `activities`.

#![expect(
    clippy::missing_errors_doc,
    clippy::needless_pass_by_value,
    reason = "declarations: the bodies are elsewhere, and the macro takes inputs by value"
)]

use crate::payment::messages::{
    ChargeInput, ChargeOutput, DecideInput, DecideOutput, FulfilInput, FulfilOutput, LookupInput,
    LookupOutput, PersistInput, RowOutput,
};
use temporalio_common::ActivityError;
use temporalio_macros::activity_definitions;

/// What a payment needs done.
pub struct PaymentActivities;

#[activity_definitions]
impl PaymentActivities {
    /// Record the intent, claim, send the charge, settle its answer.
    #[activity(name = "charge")]
    pub fn charge(input: ChargeInput) -> Result<ChargeOutput, ActivityError> {
        unimplemented!()
    }

    /// Ask the channel what happened and settle what it says.
    #[activity(name = "lookup")]
    pub fn lookup(input: LookupInput) -> Result<LookupOutput, ActivityError> {
        unimplemented!()
    }

    /// Write down news that is durable in history already, until it works.
    #[activity(name = "persist")]
    pub fn persist(input: PersistInput) -> Result<RowOutput, ActivityError> {
        unimplemented!()
    }

    /// Hand the goods over.
    #[activity(name = "fulfil")]
    pub fn fulfil(input: FulfilInput) -> Result<FulfilOutput, ActivityError> {
        unimplemented!()
    }

    /// Let a person's decision take effect.
    #[activity(name = "decide_review")]
    pub fn decide_review(input: DecideInput) -> Result<DecideOutput, ActivityError> {
        unimplemented!()
    }
}

/// The macro's module is private; the implementing side names each definition through here.
pub mod definitions {
    pub use super::payment_activities::{Charge, DecideReview, Fulfil, Lookup, Persist};
}
