//! Where an order stands.

use crate::money::{Money, MoneyError};
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

/// Most lines that one order may have.
pub const MAX_ORDER_LINES: usize = 100;
/// Most pieces of one product in one order.
pub const MAX_QUANTITY: u32 = 9_999;

/// One line of an order at today's price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PricedLine {
    pub unit_price: Money,
    pub quantity: u32,
}

/// What a coupon takes off, and from which goods total on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discount {
    pub amount_off: Money,
    pub minimum: Money,
}

/// What a merchant adds for freight, and from which goods total on it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freight {
    pub amount: Money,
    pub free_from: Option<Money>,
}

/// What an order costs. `payable = goods_total − discount + freight`, all exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    pub goods_total: Money,
    pub discount: Money,
    pub freight: Money,
    pub payable: Money,
}

/// Why an order cannot be priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuoteError {
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the goods total is below the coupon's minimum")]
    BelowMinimum,
    #[error("nothing is left to pay")]
    NothingToPay,
}

impl Quote {
    /// Prices an order from the merchant's own data; the client's total is never an input.
    ///
    /// # Errors
    /// [`QuoteError`].
    pub fn of(
        lines: &[PricedLine],
        discount: Option<Discount>,
        freight: Freight,
    ) -> Result<Self, QuoteError> {
        let currency = freight.amount.currency();
        let mut goods_total = Money::zero(currency);
        for line in lines {
            goods_total = goods_total.checked_add(line.unit_price.checked_mul(line.quantity)?)?;
        }
        let off = match discount {
            None => Money::zero(currency),
            Some(coupon) if goods_total.checked_sub(coupon.minimum).is_err() => {
                return Err(QuoteError::BelowMinimum);
            }
            // A coupon never takes off more than the goods cost.
            Some(coupon) => match goods_total.checked_sub(coupon.amount_off) {
                Ok(_) => coupon.amount_off,
                Err(MoneyError::Insufficient { .. }) => goods_total,
                Err(error) => return Err(error.into()),
            },
        };
        let free = match freight.free_from {
            None => false,
            Some(from) => goods_total.checked_sub(from).is_ok(),
        };
        let freight = if free { Money::zero(currency) } else { freight.amount };
        let payable = goods_total.checked_sub(off)?.checked_add(freight)?;
        if payable.is_zero() {
            return Err(QuoteError::NothingToPay);
        }
        Ok(Self { goods_total, discount: off, freight, payable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Currency;

    fn cny(units: u64) -> Money {
        Money::new(units, Currency::parse("CNY").expect("known")).expect("small")
    }

    fn line(price: u64, quantity: u32) -> PricedLine {
        PricedLine { unit_price: cny(price), quantity }
    }

    #[test]
    fn the_parts_add_up_to_what_is_paid() {
        let freight = Freight { amount: cny(800), free_from: Some(cny(10_000)) };
        let coupon = Discount { amount_off: cny(500), minimum: cny(1_000) };
        let quote =
            Quote::of(&[line(1_999, 2), line(1, 3)], Some(coupon), freight).expect("priced");
        assert_eq!(quote.goods_total, cny(4_001));
        assert_eq!(quote.payable, cny(4_001 - 500 + 800));
        let free = Quote::of(&[line(10_000, 1)], None, freight).expect("priced");
        assert_eq!((free.freight, free.payable), (cny(0), cny(10_000)));
    }

    #[test]
    fn a_coupon_never_pays_the_customer() {
        let freight = Freight { amount: cny(0), free_from: None };
        let coupon = Discount { amount_off: cny(5_000), minimum: cny(0) };
        let quote = Quote::of(&[line(1_000, 1)], Some(coupon), freight);
        assert_eq!(quote, Err(QuoteError::NothingToPay));
        let high = Discount { amount_off: cny(1), minimum: cny(1_001) };
        assert_eq!(
            Quote::of(&[line(1_000, 1)], Some(high), freight),
            Err(QuoteError::BelowMinimum)
        );
    }

    #[test]
    fn a_total_that_is_too_large_is_refused() {
        let freight = Freight { amount: cny(0), free_from: None };
        let huge = line(crate::money::MAX_MINOR_UNITS, 2);
        assert_eq!(Quote::of(&[huge], None, freight), Err(QuoteError::Money(MoneyError::TooLarge)));
    }
}
