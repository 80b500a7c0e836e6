//! Rows and what they mean. A combination of columns that is no state of ours is reported with its
//! table, column and row, never guessed at.

use crate::error::StoreError;
use chrono::{DateTime, Utc};
use domain::{
    ChannelAccount, ChannelKind, ClaimToken, ConfirmedMoney, Currency, DecisionId, Effect,
    FailureClass, IdempotencyKey, MerchantId, Money, OperatorName, OrderId, OrderState, PaymentId,
    PaymentIntent, PaymentMethod, PaymentState, PaymentView, ReviewId, ReviewReason, UnixMillis,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A row of `payment`, as selected by every query that reads one.
#[derive(Debug)]
pub(crate) struct PaymentRow {
    pub id: String,
    pub merchant_id: String,
    pub idempotency_key: String,
    pub order_id: String,
    pub amount: i64,
    pub currency: String,
    pub channel: String,
    pub account: String,
    pub payment_method: String,
    pub state: String,
    pub live: bool,
    pub version: i64,
    pub start_before: DateTime<Utc>,
    pub claim_token: Option<String>,
    pub first_sent_at: Option<DateTime<Utc>>,
    pub send_before: Option<DateTime<Utc>>,
    pub permits_used: i16,
    pub not_found_at: Option<DateTime<Utc>>,
    pub action: Option<Value>,
    pub pay_before: Option<DateTime<Utc>>,
    pub transaction_id: Option<String>,
    pub transaction_amount: Option<i64>,
    pub transaction_currency: Option<String>,
    pub effect: Option<String>,
    pub failure_class: Option<String>,
    pub review_reason: Option<String>,
    pub rebuilt_at: Option<DateTime<Utc>>,
    pub started_by: Option<String>,
    pub risk_accepted_by: Option<String>,
    pub risk_taken: bool,
    pub now: DateTime<Utc>,
}

/// A payment as its row tells it.
#[derive(Clone, Debug)]
pub struct Payment {
    pub id: PaymentId,
    pub intent: PaymentIntent,
    pub state: PaymentState,
    pub live: bool,
    pub version: i64,
    pub start_before: UnixMillis,
    pub claim_token: Option<ClaimToken>,
    pub first_sent_at: Option<UnixMillis>,
    pub send_before: Option<UnixMillis>,
    pub permits_used: u8,
    pub not_found_at: Option<UnixMillis>,
    /// The row was made again after a loss: what was sent before is not known.
    pub rebuilt_at: Option<UnixMillis>,
    /// The decision that lets the request be sent once more, until a claim has done so.
    pub risk_accepted_by: Option<DecisionId>,
    /// The channel may have executed more than one request: the answer to one does not speak of
    /// the others.
    pub risk_taken: bool,
    /// PostgreSQL's clock when the row was read.
    pub now: UnixMillis,
}

impl Payment {
    pub(crate) fn view(
        &self,
        order_state: OrderState,
        review: Option<ReviewId>,
        goods_held: bool,
    ) -> PaymentView {
        let waits =
            matches!(self.state, PaymentState::Unknown | PaymentState::AwaitingPayer { .. });
        PaymentView {
            payment: self.id.clone(),
            state: self.state.clone(),
            version: self.version,
            permits_used: self.permits_used,
            start_before: self.start_before,
            order_state,
            review,
            claim: self.claim_token.clone().filter(|_| waits),
            goods_held,
            rebuilt_at: self.rebuilt_at,
            risk_accepted: self.risk_accepted_by.is_some(),
        }
    }

    /// Whether the last claim may still send.
    pub(crate) fn claim_is_running(&self) -> bool {
        self.send_before.is_some_and(|end| self.now < end)
    }
}

pub(crate) fn millis(at: DateTime<Utc>) -> UnixMillis {
    UnixMillis(at.timestamp_millis())
}

pub(crate) fn timestamp(at: UnixMillis) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at.0).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Minor units as a `bigint`.
pub(crate) fn units(money: Money) -> i64 {
    // Cannot fail: MAX_MINOR_UNITS is below 2^53.
    i64::try_from(money.minor_units()).unwrap_or(i64::MAX)
}

/// The word that an enum has in its column: that of its JSON form.
pub(crate) fn word<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        other => unreachable!("only enums of plain words are stored: {other:?}"),
    }
}

/// Reads the columns of one row of `payment`.
struct Reader<'a> {
    row: &'a PaymentRow,
}

impl Reader<'_> {
    fn wrong(&self, column: &'static str) -> StoreError {
        StoreError::Inconsistent { table: "payment", column, row: self.row.id.clone() }
    }

    fn money(
        &self,
        column: &'static str,
        amount: i64,
        currency: &str,
    ) -> Result<Money, StoreError> {
        let amount = u64::try_from(amount).map_err(|_| self.wrong(column))?;
        let currency = Currency::parse(currency).map_err(|_| self.wrong(column))?;
        Money::new(amount, currency).map_err(|_| self.wrong(column))
    }

    fn enumeration<T: DeserializeOwned>(
        &self,
        column: &'static str,
        word: Option<&String>,
    ) -> Result<T, StoreError> {
        let word = word.ok_or_else(|| self.wrong(column))?;
        serde_json::from_value(Value::String(word.clone())).map_err(|_| self.wrong(column))
    }

    fn intent(&self) -> Result<PaymentIntent, StoreError> {
        let row = self.row;
        Ok(PaymentIntent {
            merchant: MerchantId::parse(row.merchant_id.clone())
                .map_err(|_| self.wrong("merchant_id"))?,
            key: IdempotencyKey::parse(row.idempotency_key.clone())
                .map_err(|_| self.wrong("idempotency_key"))?,
            order: OrderId::parse(row.order_id.clone()).map_err(|_| self.wrong("order_id"))?,
            money: self.money("amount", row.amount, &row.currency)?,
            channel: ChannelKind::parse(&row.channel).ok_or_else(|| self.wrong("channel"))?,
            account: ChannelAccount::parse(row.account.clone())
                .map_err(|_| self.wrong("account"))?,
            payment_method: PaymentMethod::parse(row.payment_method.clone())
                .map_err(|_| self.wrong("payment_method"))?,
            started_by: row
                .started_by
                .clone()
                .map(OperatorName::parse)
                .transpose()
                .map_err(|_| self.wrong("started_by"))?,
        })
    }

    fn confirmed_money(&self) -> Result<ConfirmedMoney, StoreError> {
        let row = self.row;
        let wrong = || self.wrong("transaction_id");
        let transaction = row.transaction_id.clone().ok_or_else(wrong)?;
        let amount = row.transaction_amount.ok_or_else(wrong)?;
        let currency = row.transaction_currency.as_deref().ok_or_else(wrong)?;
        Ok(ConfirmedMoney {
            transaction: transaction.try_into().map_err(|_| wrong())?,
            amount: self.money("transaction_amount", amount, currency)?,
        })
    }

    fn token(&self) -> Result<Option<ClaimToken>, StoreError> {
        let token = self.row.claim_token.clone();
        token.map(ClaimToken::parse).transpose().map_err(|_| self.wrong("claim_token"))
    }

    fn state(&self) -> Result<PaymentState, StoreError> {
        let row = self.row;
        Ok(match row.state.as_str() {
            "Created" => PaymentState::Created,
            "Processing" => PaymentState::Processing {
                token: self.token()?.ok_or_else(|| self.wrong("claim_token"))?,
            },
            "AwaitingPayer" => {
                let action = row.action.clone().ok_or_else(|| self.wrong("action"))?;
                PaymentState::AwaitingPayer {
                    action: serde_json::from_value(action).map_err(|_| self.wrong("action"))?,
                    pay_before: millis(row.pay_before.ok_or_else(|| self.wrong("pay_before"))?),
                }
            }
            "Unknown" => PaymentState::Unknown,
            "Succeeded" => PaymentState::Succeeded { money: self.confirmed_money()? },
            "Persisted" => PaymentState::Persisted {
                money: self.confirmed_money()?,
                effect: self.enumeration::<Effect>("effect", row.effect.as_ref())?,
            },
            "Failed" => PaymentState::Failed {
                class: self
                    .enumeration::<FailureClass>("failure_class", row.failure_class.as_ref())?,
            },
            "Closed" => PaymentState::Closed,
            "ManualReview" => PaymentState::ManualReview {
                reason: self
                    .enumeration::<ReviewReason>("review_reason", row.review_reason.as_ref())?,
            },
            _ => return Err(self.wrong("state")),
        })
    }
}

impl TryFrom<PaymentRow> for Payment {
    type Error = StoreError;

    fn try_from(row: PaymentRow) -> Result<Self, StoreError> {
        let reader = Reader { row: &row };
        let intent = reader.intent()?;
        Ok(Self {
            id: intent.payment_id(),
            intent,
            state: reader.state()?,
            live: row.live,
            version: row.version,
            start_before: millis(row.start_before),
            claim_token: reader.token()?,
            first_sent_at: row.first_sent_at.map(millis),
            send_before: row.send_before.map(millis),
            permits_used: u8::try_from(row.permits_used)
                .map_err(|_| reader.wrong("permits_used"))?,
            not_found_at: row.not_found_at.map(millis),
            rebuilt_at: row.rebuilt_at.map(millis),
            risk_accepted_by: row
                .risk_accepted_by
                .clone()
                .map(DecisionId::parse)
                .transpose()
                .map_err(|_| reader.wrong("risk_accepted_by"))?,
            risk_taken: row.risk_taken,
            now: millis(row.now),
        })
    }
}

/// The columns of `payment` that a state decides.
#[derive(Debug, Default)]
pub(crate) struct StateColumns {
    pub state: &'static str,
    pub stays_live: bool,
    pub action: Option<Value>,
    pub pay_before: Option<DateTime<Utc>>,
    pub transaction_id: Option<String>,
    pub transaction_amount: Option<i64>,
    pub transaction_currency: Option<&'static str>,
    pub effect: Option<String>,
    pub failure_class: Option<String>,
    pub review_reason: Option<String>,
    /// Seconds until somebody must look; absent once nothing is left to do.
    pub attend_after: Option<f64>,
}

/// A minute: enough for a claim to end and its grace to pass.
const ATTEND_PROCESSING_S: f64 = 60.0;
/// The default ladder takes 35 minutes; a quarter of an hour more is late.
const ATTEND_UNKNOWN_S: f64 = 3_000.0;
const ATTEND_AWAITING_PAYER_S: f64 = 1_800.0;
const ATTEND_MONEY_S: f64 = 300.0;
/// A person is reminded after four hours.
pub(crate) const ATTEND_REVIEW_S: f64 = 14_400.0;

impl StateColumns {
    pub(crate) fn of(state: &PaymentState) -> Self {
        let money = state.money();
        let mut columns = Self {
            state: state.name(),
            stays_live: true,
            transaction_id: money.map(|money| money.transaction.as_str().to_owned()),
            transaction_amount: money.map(|money| units(money.amount)),
            transaction_currency: money.map(|money| money.amount.currency().code()),
            ..Self::default()
        };
        match state {
            PaymentState::Created | PaymentState::Processing { .. } => {
                columns.attend_after = Some(ATTEND_PROCESSING_S);
            }
            PaymentState::AwaitingPayer { action, pay_before } => {
                columns.action = serde_json::to_value(action).ok();
                columns.pay_before = Some(timestamp(*pay_before));
                columns.attend_after = Some(ATTEND_AWAITING_PAYER_S);
            }
            PaymentState::Unknown => columns.attend_after = Some(ATTEND_UNKNOWN_S),
            PaymentState::Succeeded { .. } => columns.attend_after = Some(ATTEND_MONEY_S),
            PaymentState::Persisted { effect, .. } => {
                columns.stays_live = *effect == Effect::Applied;
                columns.effect = Some(word(effect));
                columns.attend_after = Some(ATTEND_MONEY_S);
            }
            PaymentState::Failed { class } => {
                columns.stays_live = false;
                columns.failure_class = Some(word(class));
            }
            PaymentState::Closed => columns.stays_live = false,
            PaymentState::ManualReview { reason } => {
                columns.review_reason = Some(word(reason));
                columns.attend_after = Some(ATTEND_REVIEW_S);
            }
        }
        columns
    }
}
