//! What a workflow and a caller are told about a payment's row.

use crate::ids::{ClaimToken, PaymentId, ReviewId};
use crate::order::OrderState;
use crate::payment::PaymentState;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// A payment's row as it was after the last transaction that touched it. Where this and a
/// workflow's memory differ, this is right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentView {
    pub payment: PaymentId,
    pub state: PaymentState,
    /// Grows by one with every change.
    pub version: i64,
    /// How often the charge was sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub permits_used: u8,
    /// No charge is sent from this instant on.
    pub start_before: UnixMillis,
    pub order_state: OrderState,
    /// The open review, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewId>,
    /// The claim under which the charge was last sent, while its outcome is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimToken>,
    /// When the row was made again after a loss. Its version began anew then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt_at: Option<UnixMillis>,
    /// An open review holds the goods back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goods_held: bool,
    /// A person accepted the risk of sending the request once more, and nobody has yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub risk_accepted: bool,
}

impl PaymentView {
    /// Whether this is the row as it was before `other`: an answer that was on its way while a
    /// newer one came. A row that was made again is newer than all that the lost one said.
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        (self.rebuilt_at, self.version) < (other.rebuilt_at, other.version)
    }
}

/// What is usual is not repeated in every history.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u8) -> bool {
    *count == 0
}
