//! Where an order stands.

use serde::{Deserialize, Serialize};

/// The states of an order. Payment, refund and fulfilment never share one success field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OrderState {
    AwaitingPayment,
    Closing,
    Closed,
    Paid,
    Fulfilling,
    Fulfilled,
    Cancelled,
    Refunded,
}

impl OrderState {
    pub const ALL: [Self; 8] = [
        Self::AwaitingPayment,
        Self::Closing,
        Self::Closed,
        Self::Paid,
        Self::Fulfilling,
        Self::Fulfilled,
        Self::Cancelled,
        Self::Refunded,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingPayment => "AwaitingPayment",
            Self::Closing => "Closing",
            Self::Closed => "Closed",
            Self::Paid => "Paid",
            Self::Fulfilling => "Fulfilling",
            Self::Fulfilled => "Fulfilled",
            Self::Cancelled => "Cancelled",
            Self::Refunded => "Refunded",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether money that is confirmed now can still pay this order.
    #[must_use]
    pub fn can_be_paid(self) -> bool {
        matches!(self, Self::AwaitingPayment | Self::Closing)
    }
}
