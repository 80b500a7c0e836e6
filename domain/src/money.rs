//! Money is a count of minor units in one currency. There is no way to add fen to cents, and no
//! float ever touches it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest amount this system takes: 2^53 − 1 minor units, the largest integer that every JSON
/// reader keeps exact. It fits a PostgreSQL `bigint` with room to spare.
pub const MAX_MINOR_UNITS: u64 = (1 << 53) - 1;

/// An ISO 4217 currency that has minor units (codes such as XXX or XAU have none and are refused).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// Reads an upper-case three-letter code; `cny` is refused, because a signature or a
    /// fingerprint over it would differ from one over `CNY`.
    ///
    /// # Errors
    /// [`MoneyError::UnknownCurrency`] for anything else.
    pub fn parse(code: &str) -> Result<Self, MoneyError> {
        let unknown = || MoneyError::UnknownCurrency { code: code.chars().take(8).collect() };
        let currency = iso_currency::Currency::from_code(code).ok_or_else(unknown)?;
        let same_case = currency.code() == code;
        if same_case && currency.exponent().is_some() { Ok(Self(currency)) } else { Err(unknown()) }
    }

    /// The three-letter ISO 4217 code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Decimal digits between the major and the minor unit: 0 for JPY, 2 for CNY, 3 for KWD.
    #[must_use]
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl TryFrom<String> for Currency {
    type Error = MoneyError;

    fn try_from(code: String) -> Result<Self, MoneyError> {
        Self::parse(&code)
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.code().to_owned()
    }
}

/// A non-negative amount. A direction (debit, credit, refund) is a type elsewhere, never a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "MoneyWire", into = "MoneyWire")]
pub struct Money {
    minor_units: u64,
    currency: Currency,
}

/// How money is written in JSON: integer minor units and the code.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoneyWire {
    amount: u64,
    currency: Currency,
}

impl TryFrom<MoneyWire> for Money {
    type Error = MoneyError;

    fn try_from(wire: MoneyWire) -> Result<Self, MoneyError> {
        Self::new(wire.amount, wire.currency)
    }
}

impl From<Money> for MoneyWire {
    fn from(money: Money) -> Self {
        Self { amount: money.minor_units, currency: money.currency }
    }
}

/// Why an amount is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error("{code:?} is not an upper-case ISO 4217 currency code with minor units")]
    UnknownCurrency { code: String },
    #[error("cannot mix {left} with {right}")]
    CurrencyMismatch { left: Currency, right: Currency },
    #[error("an amount is at most {MAX_MINOR_UNITS} minor units")]
    TooLarge,
    #[error("cannot take {taken} from {available} minor units")]
    Insufficient { available: u64, taken: u64 },
    #[error("{text:?} is not a decimal amount of {currency}")]
    NotADecimal { text: String, currency: Currency },
}

impl Money {
    /// An amount in minor units: 1999 CNY is 19.99 yuan, 1999 JPY is 1999 yen.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] above [`MAX_MINOR_UNITS`].
    pub fn new(minor_units: u64, currency: Currency) -> Result<Self, MoneyError> {
        if minor_units > MAX_MINOR_UNITS {
            return Err(MoneyError::TooLarge);
        }
        Ok(Self { minor_units, currency })
    }

    #[must_use]
    pub fn zero(currency: Currency) -> Self {
        Self { minor_units: 0, currency }
    }

    #[must_use]
    pub fn minor_units(self) -> u64 {
        self.minor_units
    }

    #[must_use]
    pub fn currency(self) -> Currency {
        self.currency
    }

    #[must_use]
    pub fn is_zero(self) -> bool {
        self.minor_units == 0
    }

    /// # Errors
    /// [`MoneyError::CurrencyMismatch`], or [`MoneyError::TooLarge`] when the sum is.
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let sum = self.minor_units.checked_add(other.minor_units).ok_or(MoneyError::TooLarge)?;
        Self::new(sum, self.currency)
    }

    /// # Errors
    /// [`MoneyError::CurrencyMismatch`], or [`MoneyError::Insufficient`] when less than nothing
    /// would remain.
    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let minor_units =
            self.minor_units.checked_sub(other.minor_units).ok_or(MoneyError::Insufficient {
                available: self.minor_units,
                taken: other.minor_units,
            })?;
        Ok(Self { minor_units, ..self })
    }

    /// # Errors
    /// [`MoneyError::TooLarge`] when the product is.
    pub fn checked_mul(self, count: u32) -> Result<Self, MoneyError> {
        let product = self.minor_units.checked_mul(u64::from(count)).ok_or(MoneyError::TooLarge)?;
        Self::new(product, self.currency)
    }

    /// The exact decimal in major units: `19.99`, `1999`, `1.999`.
    #[must_use]
    pub fn to_decimal(self) -> String {
        let digits = self.currency.exponent() as usize;
        if digits == 0 {
            return self.minor_units.to_string();
        }
        let padded = format!("{:0>width$}", self.minor_units, width = digits + 1);
        let (major, minor) = padded.split_at(padded.len() - digits);
        format!("{major}.{minor}")
    }

    /// Reads an exact decimal in major units: plain digits, and at most as many decimals as the
    /// currency has. No sign, no exponent, no separators: whatever is odd is refused, not guessed.
    ///
    /// # Errors
    /// [`MoneyError::NotADecimal`] or [`MoneyError::TooLarge`].
    pub fn parse_decimal(text: &str, currency: Currency) -> Result<Self, MoneyError> {
        let refuse = || MoneyError::NotADecimal { text: text.chars().take(32).collect(), currency };
        let exponent = currency.exponent() as usize;
        let (major, minor) = match text.split_once('.') {
            Some((major, minor)) if !minor.is_empty() => (major, minor),
            Some(_) => return Err(refuse()),
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if major.is_empty() || minor.len() > exponent || !digits(major) || !digits(minor) {
            return Err(refuse());
        }
        let units = format!("{major}{minor:0<exponent$}");
        let minor_units = units.parse().map_err(|_| MoneyError::TooLarge)?;
        Self::new(minor_units, currency)
    }

    fn same_currency(self, other: Self) -> Result<(), MoneyError> {
        if self.currency == other.currency {
            Ok(())
        } else {
            Err(MoneyError::CurrencyMismatch { left: self.currency, right: other.currency })
        }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.currency, self.to_decimal())
    }
}

#[cfg(test)]
mod tests;
