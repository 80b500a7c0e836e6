//! Let a person's decision take effect, after proof of who decides and a last word of the channel.

use crate::charge::{millis, wall_clock};
use crate::{PaymentActivities, failure, lookup};
use domain::audit::StampedDecision;
use domain::channel::CloseAnswer;
use domain::{Actor, Choice, ConfirmedMoney, Exchange, Operation, PaymentEvent};
use std::time::Instant;
use store::decisions::{Decided, Decision};
use store::exchanges::NotFound;
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{DecideInput, DecideOutput, code};

/// Decides a review.
///
/// Twice is safe: the decision's id is unique, and the second finds it done.
pub(crate) async fn decide_review(
    activities: &PaymentActivities,
    input: &DecideInput,
) -> Result<DecideOutput, ActivityError> {
    let told = &input.decision;
    let stamped = StampedDecision {
        decision: &told.decision,
        review: &told.review,
        review_version: told.review_version,
        operator: &told.operator,
        choice: &told.choice,
        reason: &told.reason,
    };
    if !stamped.verify(&told.stamp, &activities.settings.decision_key) {
        let why = "who decides is not proved; decide through the API or the command line";
        return Ok(refused("unauthenticated_decision", why));
    }
    if matches!(told.choice, Choice::ConfirmNotPaid { .. })
        && is_open_as_seen(activities, input).await?
        && let Some(refusal) = close_first(activities, input).await?
    {
        return Ok(refusal);
    }
    let payment = input.intent.payment_id();
    let decision = Decision {
        id: &told.decision,
        payment: &payment,
        intent: &input.intent,
        review: &told.review,
        review_version: told.review_version,
        choice: &told.choice,
        reason: &told.reason,
        operator: &told.operator,
    };
    let decided = activities.store.decide(&decision).await;
    Ok(match decided.map_err(|error| failure::store(&payment, &error))? {
        Decided::Done(view) => DecideOutput::Done { view },
        Decided::Overtaken { view, review_state, review_version } => {
            DecideOutput::Overtaken { view, review_state, review_version }
        }
        Decided::NotAChoice { why, .. } => refused("not_a_choice", why),
        Decided::IdTaken => {
            refused(code::IDEMPOTENCY_CONFLICT, "the key was used for another review's decision")
        }
        Decided::NoSuchReview => refused("review_not_found", "there is no such review"),
    })
}

/// Whether the review is still the one that the person saw. One that moved on is not acted upon:
/// the channel is not asked to close anything for a decision that will not count.
async fn is_open_as_seen(
    activities: &PaymentActivities,
    input: &DecideInput,
) -> Result<bool, ActivityError> {
    let payment = input.intent.payment_id();
    let reviews = activities.store.read_reviews(Some(&input.decision.review)).await;
    let reviews = reviews.map_err(|error| failure::store(&payment, &error))?;
    Ok(reviews.iter().any(|review| {
        review.payment == payment.as_str()
            && review.state == "Open"
            && review.version == input.decision.review_version
    }))
}

/// Before a person may say "not paid", the channel makes it so: the reference is closed there, and
/// money that moved after all is taken as what it is.
async fn close_first(
    activities: &PaymentActivities,
    input: &DecideInput,
) -> Result<Option<DecideOutput>, ActivityError> {
    let intent = &input.intent;
    let Some(channel) = activities.channels.get(intent.channel, &intent.account) else {
        return Ok(Some(refused("unknown_account", "the payment's account is not set up")));
    };
    if !channel.capabilities().close {
        return Ok(None);
    }
    let (started_at, started) = (wall_clock(), Instant::now());
    let answer = channel.close(&intent.reference(1)).await;
    let mut exchange = Exchange {
        operation: Operation::Close,
        started_at,
        duration_ms: millis(started.elapsed()),
        outcome: "closed".to_owned(),
        transaction: None,
    };
    match answer {
        CloseAnswer::Succeeded { transaction, amount } => {
            "succeeded".clone_into(&mut exchange.outcome);
            let event =
                PaymentEvent::MoneyConfirmed { money: ConfirmedMoney { transaction, amount } };
            settle(activities, input, event, &exchange).await?;
            // The decision now meets a review that the truth has overtaken.
            Ok(None)
        }
        CloseAnswer::Closed => {
            record(activities, input, &exchange).await?;
            Ok(None)
        }
        CloseAnswer::Unknown { why } => {
            lookup::unknown_word(why).clone_into(&mut exchange.outcome);
            record(activities, input, &exchange).await?;
            let why = "the channel did not confirm that the reference is closed; \
                       decide again later, under a new key";
            Ok(Some(refused("channel_unavailable", why)))
        }
    }
}

async fn settle(
    activities: &PaymentActivities,
    input: &DecideInput,
    event: PaymentEvent,
    exchange: &Exchange,
) -> Result<(), ActivityError> {
    let confirmation = Confirmation {
        intent: &input.intent,
        start_before: wall_clock(),
        event,
        actor: &Actor::Close,
        token: None,
        exchange: Some(exchange),
    };
    let settled = activities.store.settle(&confirmation).await;
    settled.map_err(|error| failure::store(&input.intent.payment_id(), &error))?;
    Ok(())
}

async fn record(
    activities: &PaymentActivities,
    input: &DecideInput,
    exchange: &Exchange,
) -> Result<(), ActivityError> {
    let recorded =
        activities.store.record_exchange(&input.intent, None, exchange, NotFound::No).await;
    recorded.map_err(|error| failure::store(&input.intent.payment_id(), &error))?;
    Ok(())
}

fn refused(code: &str, why: &str) -> DecideOutput {
    DecideOutput::Refused { code: code.to_owned(), why: why.to_owned() }
}
