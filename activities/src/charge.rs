//! Record and claim, call, settle: two short transactions around one request.

use crate::lookup::{self, Ask};
use crate::{PaymentActivities, failure};
use channels::{Channel, ChargeRequest, Charged, Closing};
use domain::channel::ChargeAnswer;
use domain::{
    Actor, ClaimToken, ConfirmedMoney, Exchange, Operation, PaymentEvent, PaymentIntent,
    PaymentState, PaymentView, Policy, UnixMillis, UnknownReason,
};
use std::time::{Duration, Instant, SystemTime};
use store::StoreError;
use store::payments::{Claim, ClaimRequest, RecordRefusal};
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{ChargeInput, ChargeOutput, ChargedRow, News, Refusal, code};

/// How often a transaction is run again within one attempt, when its answer was lost.
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Sends the charge of an intent, if its row lets us.
///
/// Twice is safe: nothing is sent but under a claim, which one attempt holds; an attempt that
/// finds another's claim asks the channel instead of charging.
pub(crate) async fn charge(
    activities: &PaymentActivities,
    token: &ClaimToken,
    input: &ChargeInput,
) -> Result<ChargeOutput, ActivityError> {
    let intent = &input.intent;
    let Some(channel) = activities.channels.get(intent.channel, &intent.account) else {
        return Err(no_account(activities, intent).await);
    };
    if input.recorded_before || input.cancelled {
        begin_with_the_row(activities, input).await?;
    }
    let capabilities = channel.capabilities();
    // Before the claim is written: our share of the time ends no later than the claim does.
    let deadline = Instant::now() + capabilities.call_limit;
    let request = ClaimRequest {
        intent,
        token,
        capabilities: &capabilities,
        start_before: input.start_before,
    };
    let done = match claim(activities, &request).await? {
        Claim::Refused(refusal) => return Err(failure::refused(explain(intent, refusal))),
        Claim::Granted { view, pay_before } => {
            send(activities, channel, token, input, Send { view, pay_before, deadline }).await?
        }
        Claim::Found { view, payment } => {
            let view = match payment.state {
                PaymentState::Processing { .. } => ask(activities, channel, input).await?,
                // Somebody woke the owner of an ended payment: money may have come since.
                PaymentState::Failed { .. } | PaymentState::Closed => {
                    let (start, ask) = (input.start_before, Ask::AfterItsEnd);
                    lookup::ask(activities, intent, start, ask).await?.view
                }
                PaymentState::Created
                | PaymentState::AwaitingPayer { .. }
                | PaymentState::Unknown
                | PaymentState::Succeeded { .. }
                | PaymentState::Persisted { .. }
                | PaymentState::ManualReview { .. } => view,
            };
            Done { view, unsettled: None }
        }
    };
    let ended = done.view.state.is_final() && done.unsettled.is_none();
    let policy = (!ended).then(|| Policy {
        capabilities,
        ladder_ms: activities.settings.ladder_ms.clone(),
        awaiting_payer_ms: activities.settings.awaiting_payer_ms.clone(),
    });
    let row = ChargedRow::of(done.view, intent, input.start_before);
    Ok(ChargeOutput { row, unsettled: done.unsettled, policy })
}

/// The row after the charge, and the answer that is not in it.
struct Done {
    view: PaymentView,
    unsettled: Option<News>,
}

/// A commit whose answer was lost is found out by asking again with the same token.
async fn claim(
    activities: &PaymentActivities,
    request: &ClaimRequest<'_>,
) -> Result<Claim, ActivityError> {
    let mut tries = 1;
    loop {
        match activities.store.record_and_claim(request).await {
            Err(error) if error.is_transient() && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            result => {
                return result.map_err(|e| failure::store(&request.intent.payment_id(), &e));
            }
        }
    }
}

struct Send {
    view: PaymentView,
    pay_before: UnixMillis,
    deadline: Instant,
}

async fn send(
    activities: &PaymentActivities,
    channel: &Channel,
    token: &ClaimToken,
    input: &ChargeInput,
    granted: Send,
) -> Result<Done, ActivityError> {
    let intent = &input.intent;
    let reference = intent.reference(1);
    let (started_at, started) = (wall_clock(), Instant::now());
    let request = ChargeRequest {
        intent,
        reference: &reference,
        pay_before: granted.pay_before,
        deadline: granted.deadline,
    };
    let Charged { answer, closing } = channel.charge(&request).await;
    let took = started.elapsed();
    let event = event(answer);
    let exchanges = match &closing {
        None => vec![Exchange {
            operation: Operation::Charge,
            started_at,
            duration_ms: millis(took),
            outcome: outcome(&event).to_owned(),
            transaction: transaction(&event),
        }],
        Some(closing) => refused_then_closed(started_at, took, closing).into(),
    };
    let news = News { event, actor: Actor::ChargeAnswer, token: Some(token.clone()), exchanges };
    match settle(activities, intent, input.start_before, &news).await {
        Ok(view) => Ok(Done { view, unsettled: None }),
        // Whatever the reason, the channel's answer is not lost with this attempt: it goes into
        // history, and is written down from there.
        Err(error) => {
            let id = intent.payment_id();
            tracing::error!(payment.id = %id, error = ?error, "answer kept in history");
            Ok(Done { view: granted.view, unsettled: Some(news) })
        }
    }
}

/// Both requests of a charge that was refused and stayed payable.
fn refused_then_closed(started_at: UnixMillis, took: Duration, closing: &Closing) -> [Exchange; 2] {
    let (outcome, transaction) = lookup::closed(&closing.answer);
    [
        Exchange {
            operation: Operation::Charge,
            started_at,
            duration_ms: millis(closing.after),
            outcome: lookup::unknown_word(UnknownReason::StillPayable).to_owned(),
            transaction: None,
        },
        Exchange {
            operation: Operation::Close,
            started_at: started_at.after(closing.after),
            duration_ms: millis(took.saturating_sub(closing.after)),
            outcome: outcome.to_owned(),
            transaction,
        },
    ]
}

async fn settle(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    start_before: UnixMillis,
    news: &News,
) -> Result<PaymentView, StoreError> {
    let confirmation = Confirmation {
        intent,
        start_before,
        event: news.event.clone(),
        actor: &news.actor,
        token: news.token.as_ref(),
        exchanges: &news.exchanges,
    };
    let mut tries = 1;
    loop {
        match activities.store.settle(&confirmation).await {
            Err(error) if error.is_transient() && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            result => return Ok(result?.view),
        }
    }
}

/// Another attempt holds the claim, and may have sent. Only the channel knows; where it cannot be
/// asked, or does not know yet, the outcome is unknown.
async fn ask(
    activities: &PaymentActivities,
    channel: &Channel,
    input: &ChargeInput,
) -> Result<PaymentView, ActivityError> {
    let intent = &input.intent;
    if channel.capabilities().lookup.is_some() {
        let found = lookup::ask(activities, intent, input.start_before, Ask::Lookup).await?;
        if !matches!(found.view.state, PaymentState::Processing { .. }) {
            return Ok(found.view);
        }
    }
    let event = PaymentEvent::AnswerLost { why: UnknownReason::SenderLost };
    let news = News { event, actor: Actor::Workflow, token: None, exchanges: Vec::new() };
    let settled = settle(activities, intent, input.start_before, &news).await;
    settled.map_err(|error| failure::store(&intent.payment_id(), &error))
}

fn event(answer: ChargeAnswer) -> PaymentEvent {
    match answer {
        ChargeAnswer::Succeeded { transaction, amount } => {
            PaymentEvent::MoneyConfirmed { money: ConfirmedMoney { transaction, amount } }
        }
        ChargeAnswer::Declined { class, code } => PaymentEvent::Declined { class, code },
        ChargeAnswer::AwaitingPayer { action, pay_before } => {
            PaymentEvent::PayerAction { action, pay_before }
        }
        ChargeAnswer::NotExecuted { proof } => PaymentEvent::NotExecuted { proof },
        ChargeAnswer::Unknown { why } => PaymentEvent::AnswerLost { why },
    }
}

/// The word for the record of the exchange.
fn outcome(event: &PaymentEvent) -> &'static str {
    match event {
        PaymentEvent::MoneyConfirmed { .. } | PaymentEvent::MoneyMismatch { .. } => "succeeded",
        PaymentEvent::Declined { .. } => "declined",
        PaymentEvent::PayerAction { .. } => "awaiting_payer",
        PaymentEvent::NotExecuted { .. } => "not_executed",
        PaymentEvent::AnswerLost { why } => lookup::unknown_word(*why),
        PaymentEvent::ClosedAtChannel => "closed",
        PaymentEvent::Claimed { .. }
        | PaymentEvent::StartExpired
        | PaymentEvent::LadderEnded
        | PaymentEvent::Decided { .. } => "none",
    }
}

fn transaction(event: &PaymentEvent) -> Option<domain::ChannelTransactionId> {
    match event {
        PaymentEvent::MoneyConfirmed { money } => Some(money.transaction.clone()),
        _ => None,
    }
}

/// A run that somebody woke does not begin a payment: a row that is gone is made again, and looked
/// up. One that was cancelled before it did anything records nothing.
async fn begin_with_the_row(
    activities: &PaymentActivities,
    input: &ChargeInput,
) -> Result<(), ActivityError> {
    let (id, store) = (input.intent.payment_id(), &activities.store);
    let found = store.read_payment(&id).await.map_err(|error| failure::store(&id, &error))?;
    if found.is_some() {
        return Ok(());
    }
    if input.recorded_before {
        let rebuilt = store.rebuild(&input.intent, input.start_before).await;
        let refusal = rebuilt.map_err(|error| failure::store(&id, &error))?;
        return refusal.map_or(Ok(()), |no| Err(failure::refused(explain(&input.intent, no))));
    }
    Err(failure::refused(Refusal {
        code: code::CANCELLED.to_owned(),
        message: "cancelled before anything was recorded; nothing was charged".to_owned(),
        field: None,
        payment: None,
    }))
}

/// An account that this worker does not know refuses a new intent. A payment that is recorded goes
/// on at a worker that knows it.
async fn no_account(activities: &PaymentActivities, intent: &PaymentIntent) -> ActivityError {
    let id = intent.payment_id();
    let message = format!("account {} is not set up at this channel", intent.account);
    match activities.store.read_payment(&id).await {
        Err(error) => failure::store(&id, &error),
        Ok(Some(_)) => failure::again("account_missing", message),
        Ok(None) => failure::refused(Refusal {
            code: code::UNKNOWN_ACCOUNT.to_owned(),
            message,
            field: Some("account".to_owned()),
            payment: None,
        }),
    }
}

fn explain(intent: &PaymentIntent, refusal: RecordRefusal) -> Refusal {
    let of = |code: &str, message: String| Refusal {
        code: code.to_owned(),
        message,
        field: None,
        payment: None,
    };
    match refusal {
        RecordRefusal::IdempotencyConflict { field } => Refusal {
            field: Some(field.as_str().to_owned()),
            ..of(code::IDEMPOTENCY_CONFLICT, "the key names another intent".to_owned())
        },
        RecordRefusal::OrderNotFound => Refusal {
            field: Some("order".to_owned()),
            ..of(code::ORDER_NOT_FOUND, format!("order {} is not there", intent.order))
        },
        RecordRefusal::OrderBusy { payment } => Refusal {
            payment: Some(payment.to_string()),
            ..of(code::ORDER_BUSY, format!("payment {payment} of the order is not finished"))
        },
        RecordRefusal::OrderNotPayable { state } => {
            let message = if state == domain::OrderState::AwaitingPayment {
                "an earlier payment of the order was declined for good; do not try again".to_owned()
            } else {
                format!("the order cannot be paid: it is {}", state.as_str())
            };
            of(code::ORDER_NOT_PAYABLE, message)
        }
        RecordRefusal::OrderTimeOver => {
            let message = "the order's time to pay is over; make a new order";
            of(code::ORDER_NOT_PAYABLE, message.to_owned())
        }
        RecordRefusal::AmountDiffers { field } => Refusal {
            field: Some(field.as_str().to_owned()),
            ..of(code::AMOUNT_DIFFERS, "this is not what the order costs".to_owned())
        },
    }
}

/// For the record only; no decision is taken from it.
pub(crate) fn wall_clock() -> UnixMillis {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(millis(elapsed))
}

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
