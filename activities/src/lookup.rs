//! Ask the channel what happened, by our reference; or close the reference, which is asking too.

use crate::charge::millis;
use crate::{PaymentActivities, failure};
use channels::Channel;
use domain::channel::{CloseAnswer, LookupAnswer, LookupKind};
use domain::{
    Actor, ChannelTransactionId, ClaimToken, ConfirmedMoney, Exchange, NotExecutedProof, Operation,
    PayerAction, PaymentEvent, PaymentIntent, PaymentState, PaymentView, Proven, UnixMillis,
    UnknownReason,
};
use std::time::Instant;
use store::exchanges::NotFound;
use store::reads::PaymentRecord;
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::LookupOutput;

/// What the channel is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// What became of a payment whose outcome is not known.
    Lookup,
    /// To make the reference unpayable, unless it is paid.
    Close,
    /// Whether money came after all, for a payment that ended without it.
    AfterItsEnd,
}

/// Asks the channel about a payment and settles what it says.
///
/// Twice is safe: a lookup changes nothing at the channel, what is closed stays closed, and the
/// same news is one event.
pub(crate) async fn ask(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    start_before: UnixMillis,
    ask: Ask,
) -> Result<LookupOutput, ActivityError> {
    let record = read_or_rebuild(activities, intent, start_before).await?;
    let Some(channel) = activities.channels.get(intent.channel, &intent.account) else {
        let message = format!("account {} is not set up", intent.account);
        return Err(failure::again("account_missing", message));
    };
    let capabilities = channel.capabilities();
    let can = match ask {
        Ask::Lookup | Ask::AfterItsEnd => capabilities.lookup.is_some(),
        Ask::Close => capabilities.close,
    };
    let state = &record.view.state;
    let worth_it = match ask {
        Ask::Lookup | Ask::Close => !state.is_final(),
        Ask::AfterItsEnd => state.is_final() && state.money().is_none(),
    };
    if !can || !worth_it || record.claim_token.is_none() {
        return Ok(LookupOutput { view: record.view, proven: None, open: false });
    }
    let asked = Asked { activities, intent, start_before, channel, record };
    match ask {
        Ask::Lookup | Ask::AfterItsEnd => asked.look_up().await,
        Ask::Close => asked.close().await,
    }
}

/// A row that a loss took is made again: a lookup is asked for only about a payment that was
/// recorded.
async fn read_or_rebuild(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    start_before: UnixMillis,
) -> Result<PaymentRecord, ActivityError> {
    let (id, store) = (intent.payment_id(), &activities.store);
    let record = store.read_payment(&id).await.map_err(|error| failure::store(&id, &error))?;
    if let Some(record) = record {
        return Ok(record);
    }
    let wait = std::time::Duration::from_secs(30);
    let rebuilt = store.rebuild(intent, start_before).await;
    if rebuilt.map_err(|error| failure::kept(&id, &error, wait))?.is_some() {
        let message = format!("payment {id} is not one of its order");
        return Err(failure::again("row_refused", message));
    }
    let record = store.read_payment(&id).await.map_err(|error| failure::store(&id, &error))?;
    record.ok_or_else(|| failure::again("row_missing", format!("payment {id} has no row")))
}

/// The row of a payment that was recorded, made again if it is gone.
pub(crate) async fn remade(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    start_before: UnixMillis,
) -> Result<PaymentView, ActivityError> {
    Ok(read_or_rebuild(activities, intent, start_before).await?.view)
}

/// One lookup under way. `record` was read before the channel is asked, so that whatever it proves
/// is proved about this claim, at the earliest at this time of PostgreSQL's clock.
struct Asked<'a> {
    activities: &'a PaymentActivities,
    intent: &'a PaymentIntent,
    start_before: UnixMillis,
    channel: &'a Channel,
    record: PaymentRecord,
}

impl Asked<'_> {
    async fn look_up(&self) -> Result<LookupOutput, ActivityError> {
        let started = Instant::now();
        let answer = self.channel.lookup(&self.intent.reference(1)).await;
        let exchange = |outcome: &str| self.exchange(Operation::Lookup, started, outcome);
        let (event, outcome) = match answer {
            LookupAnswer::Succeeded { transaction, amount } => {
                let money = ConfirmedMoney { transaction, amount };
                (PaymentEvent::MoneyConfirmed { money }, "succeeded")
            }
            LookupAnswer::Failed { class, code } => {
                (PaymentEvent::Declined { class, code }, "declined")
            }
            LookupAnswer::Closed => (PaymentEvent::ClosedAtChannel, "closed"),
            LookupAnswer::Open { action, .. } => {
                return self.open(action, &exchange("open")).await;
            }
            LookupAnswer::NotFound => return self.not_found(&exchange("not_found")).await,
            LookupAnswer::Unknown { why } => {
                return self.nothing_new(&exchange(unknown_word(why)), NotFound::No).await;
            }
        };
        let view = self.settle(event, Actor::Lookup, &exchange(outcome)).await?;
        Ok(LookupOutput { view, proven: None, open: false })
    }

    /// The payer may still pay. Whoever may no more, by our own word, is stopped at the channel.
    async fn open(
        &self,
        action: Option<PayerAction>,
        exchange: &Exchange,
    ) -> Result<LookupOutput, ActivityError> {
        let ended = self.record.view.state.is_final();
        if (ended || self.payer_is_late()) && self.channel.capabilities().close {
            return self.close().await;
        }
        let view = match action {
            // A question for a person: nobody may pay for a payment that has ended.
            Some(action) if ended => {
                let pay_before = UnixMillis(self.record.now_ms);
                let event = PaymentEvent::PayerAction { action, pay_before };
                self.settle(event, Actor::Lookup, exchange).await?
            }
            _ => self.nothing_new(exchange, NotFound::No).await?.view,
        };
        Ok(LookupOutput { view, proven: None, open: true })
    }

    /// "Not found" proves something only where lookups are complete, and after the last request
    /// that may have been sent has had the channel's grace to arrive.
    async fn not_found(&self, exchange: &Exchange) -> Result<LookupOutput, ActivityError> {
        let capabilities = self.channel.capabilities();
        let complete = capabilities.lookup == Some(LookupKind::Complete);
        let settled_down = self
            .record
            .send_before_ms
            .is_some_and(|end| self.record.now_ms >= end + millis(capabilities.grace));
        if !complete || !settled_down {
            return self.nothing_new(exchange, NotFound::No).await;
        }
        if self.payer_is_late() {
            let event = PaymentEvent::ClosedAtChannel;
            let view = self.settle(event, Actor::Lookup, exchange).await?;
            return Ok(LookupOutput { view, proven: None, open: false });
        }
        let asked = self.nothing_new(exchange, NotFound::Complete).await?;
        let open = matches!(
            asked.view.state,
            PaymentState::Processing { .. }
                | PaymentState::Unknown
                | PaymentState::ManualReview { .. }
        );
        let proven = self
            .record
            .claim_token
            .clone()
            .filter(|_| open)
            .map(|token| Proven { proof: NotExecutedProof::LookupAfterGrace, token });
        Ok(LookupOutput { proven, ..asked })
    }

    /// Whether the payer was shown how to pay, and may no more.
    fn payer_is_late(&self) -> bool {
        match &self.record.view.state {
            PaymentState::AwaitingPayer { pay_before, .. } => {
                self.record.now_ms >= pay_before.0 + millis(self.channel.capabilities().grace)
            }
            _ => false,
        }
    }

    async fn close(&self) -> Result<LookupOutput, ActivityError> {
        let started = Instant::now();
        let (event, outcome) = match self.channel.close(&self.intent.reference(1)).await {
            CloseAnswer::Closed => (self.when_closed(), "closed"),
            CloseAnswer::Succeeded { transaction, amount } => {
                let money = ConfirmedMoney { transaction, amount };
                (PaymentEvent::MoneyConfirmed { money }, "succeeded")
            }
            CloseAnswer::Unknown { why } => {
                let exchange = self.exchange(Operation::Close, started, unknown_word(why));
                return self.nothing_new(&exchange, NotFound::No).await;
            }
        };
        let exchange = self.exchange(Operation::Close, started, outcome);
        let view = self.settle(event, Actor::Close, &exchange).await?;
        Ok(LookupOutput { view, proven: None, open: false })
    }

    /// A reference that is closed unpaid takes no money. After a lost answer that proves that the
    /// charge was not executed; a payer who was shown how to pay did not.
    fn when_closed(&self) -> PaymentEvent {
        match &self.record.view.state {
            PaymentState::Processing { .. }
            | PaymentState::Unknown
            | PaymentState::ManualReview { .. } => {
                PaymentEvent::NotExecuted { proof: NotExecutedProof::ClosedAtChannel }
            }
            PaymentState::Created
            | PaymentState::AwaitingPayer { .. }
            | PaymentState::Succeeded { .. }
            | PaymentState::Persisted { .. }
            | PaymentState::Failed { .. }
            | PaymentState::Closed => PaymentEvent::ClosedAtChannel,
        }
    }

    fn exchange(&self, operation: Operation, started: Instant, outcome: &str) -> Exchange {
        Exchange {
            operation,
            started_at: UnixMillis(self.record.now_ms),
            duration_ms: millis(started.elapsed()),
            outcome: outcome.to_owned(),
            transaction: None,
        }
    }

    async fn settle(
        &self,
        event: PaymentEvent,
        actor: Actor,
        exchange: &Exchange,
    ) -> Result<PaymentView, ActivityError> {
        let confirmation = Confirmation {
            intent: self.intent,
            start_before: self.start_before,
            event,
            actor: &actor,
            token: self.token(),
            exchanges: std::slice::from_ref(exchange),
        };
        let settled = self.activities.store.settle(&confirmation).await;
        Ok(settled.map_err(|error| failure::store(&self.intent.payment_id(), &error))?.view)
    }

    async fn nothing_new(
        &self,
        exchange: &Exchange,
        not_found: NotFound,
    ) -> Result<LookupOutput, ActivityError> {
        let recorded = self
            .activities
            .store
            .record_exchange(self.intent, self.token(), exchange, not_found)
            .await;
        let view = recorded.map_err(|error| failure::store(&self.intent.payment_id(), &error))?;
        Ok(LookupOutput { view, proven: None, open: false })
    }

    fn token(&self) -> Option<&ClaimToken> {
        self.record.claim_token.as_ref()
    }
}

/// The word for what a request to close came to, and the transaction that it told of.
pub(crate) fn closed(answer: &CloseAnswer) -> (&'static str, Option<ChannelTransactionId>) {
    match answer {
        CloseAnswer::Closed => ("closed", None),
        CloseAnswer::Succeeded { transaction, .. } => ("succeeded", Some(transaction.clone())),
        CloseAnswer::Unknown { why } => (unknown_word(*why), None),
    }
}

/// The word for an outcome that is not known, on the record of the exchange.
pub(crate) fn unknown_word(why: UnknownReason) -> &'static str {
    match why {
        UnknownReason::TimedOut => "timed_out",
        UnknownReason::ConnectionLost => "connection_lost",
        UnknownReason::ChannelError => "channel_error",
        UnknownReason::Unreadable => "unreadable",
        UnknownReason::BadSignature => "bad_signature",
        UnknownReason::ReferenceKnown => "reference_known",
        UnknownReason::SenderLost => "sender_lost",
        UnknownReason::StillPayable => "still_payable",
        UnknownReason::NotObservable => "not_observable",
    }
}
