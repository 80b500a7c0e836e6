//! The words and rules of payments: money, ids, the payment state machine and what follows from it.
//!
//! Everything here is pure. No clock, no randomness, no I/O and no async ever enters this crate: a
//! caller passes the time in, so that a replayed workflow and a test see the same world.
//!
//! | word | meaning |
//! |---|---|
//! | payment intent | one decision to collect a fixed amount for an order, under one key |
//! | attempt | one try to satisfy the intent at one channel, with its own channel reference |
//! | charge | authorize and capture in one call |
//! | lookup | ask the channel what happened, by our reference |
//! | claim | the right to send one request, written in the payment's row before it is sent |
//! | permit | the right to send a request again; granted only inside the next claim |
//! | money fact | one channel transaction that really moved money, or a person's recorded proof |
//! | review | an open question that a person must answer; its own row |

pub mod audit;
pub mod channel;
pub mod explain;
pub mod ids;
pub mod intent;
pub mod money;
pub mod operator;
pub mod order;
pub mod payment;
pub mod permit;
pub mod recovery;
pub mod review;
pub mod state_page;
pub mod time;
pub mod trace;
pub mod view;

pub use audit::{Actor, Choice, DecisionStamp, Evidence};
pub use channel::{
    Capabilities, ChannelKind, Exchange, NotExecutedProof, Operation, UnknownReason,
};
pub use ids::{
    ChannelAccount, ChannelReference, ChannelTransactionId, ClaimToken, DecisionId, EventId,
    IdempotencyKey, MerchantId, OperatorName, OrderId, PaymentId, PaymentMethod, ReviewId, Sku,
};
pub use intent::{IntentError, IntentField, PaymentIntent};
pub use money::{Currency, Money, MoneyError};
pub use order::OrderState;
pub use payment::{
    ConfirmedMoney, DeclineClass, Effect, FailureClass, IllegalTransition, PayerAction,
    PaymentEvent, PaymentState, ReviewReason, Step,
};
pub use permit::{PermitFacts, PermitGround, PermitRefused, RetryPermit};
pub use recovery::{Action, Facts, Policy, Proven};
pub use review::{ChoiceKind, FourEyes, Proof, ReviewFacts, WhyNot};
pub use time::UnixMillis;
pub use trace::{TRACEPARENT, TraceParent};
pub use view::PaymentView;
