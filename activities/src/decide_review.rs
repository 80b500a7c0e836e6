//! Let a person's decision take effect, after proof of who decides and a last word of the channel.

use crate::charge::{millis, wall_clock};
use crate::{PaymentActivities, failure, lookup};
use domain::audit::StampedDecision;
use domain::channel::{CloseAnswer, LookupAnswer};
use domain::{
    Actor, ChoiceKind, ConfirmedMoney, Exchange, Operation, PaymentEvent, PaymentIntent, Proof,
    WhyNot,
};
use std::time::Instant;
use store::decisions::{Decided, Decision, Reach};
use store::exchanges::NotFound;
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use workflows::payment::messages::{DecideInput, DecideOutput, DecideReview, code};

/// Decides a review, or proposes how it is decided.
///
/// Twice is safe: the decision's id is unique, and the second finds it done.
pub(crate) async fn decide_review(
    activities: &PaymentActivities,
    input: &DecideInput,
) -> Result<DecideOutput, ActivityError> {
    let told = &input.decision;
    let Some(proof) = proof(activities, told) else {
        return Ok(forbidden(WhyNot::Unauthenticated));
    };
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
        proof,
        four_eyes: &activities.settings.four_eyes,
    };
    // The channel is asked to close nothing for a decision that will not count.
    let closes = told.choice.kind() == ChoiceKind::ConfirmNotPaid;
    let reach = if closes { Reach::Propose } else { Reach::Decide };
    let mut decided = decide(activities, &decision, reach).await?;
    if matches!(decided, Decided::MayTakeEffect) {
        if let Some(refusal) = ask_first(activities, input).await? {
            return Ok(refusal);
        }
        decided = decide(activities, &decision, Reach::Decide).await?;
    }
    Ok(match decided {
        Decided::Done(view) => DecideOutput::Done { view },
        Decided::Proposed(view) => DecideOutput::Proposed { view, by: told.operator.clone() },
        Decided::Overtaken { view, review_state, review_version, changed } => {
            DecideOutput::Overtaken { view, review_state, review_version, changed }
        }
        Decided::Refused(why) => forbidden(why),
        Decided::NotTheOwner => {
            let why = "this run was started with another intent than the recorded one; \
                       wake the payment, and decide in its own run";
            refused(code::NOT_THE_OWNER, why)
        }
        Decided::IdTaken => {
            refused(code::IDEMPOTENCY_CONFLICT, "the key was used for another decision")
        }
        Decided::NoSuchReview => refused(code::REVIEW_NOT_FOUND, "there is no such review"),
        Decided::MayTakeEffect => {
            let message = "a decision that was let to take effect did not".to_owned();
            return Err(failure::again("decision_undecided", message));
        }
    })
}

async fn decide(
    activities: &PaymentActivities,
    decision: &Decision<'_>,
    reach: Reach,
) -> Result<Decided, ActivityError> {
    let decided = activities.store.decide(decision, reach).await;
    decided.map_err(|error| failure::store(decision.payment, &error))
}

/// Whether the operator's name was proved where the decision was stamped. A stamp that does not
/// hold is worse than none: `None`.
fn proof(activities: &PaymentActivities, told: &DecideReview) -> Option<Proof> {
    let Some(stamp) = &told.stamp else { return Some(Proof::Unproved) };
    let stamped = StampedDecision {
        decision: &told.decision,
        review: &told.review,
        review_version: told.review_version,
        operator: &told.operator,
        choice: &told.choice,
        reason: &told.reason,
    };
    stamped.verify(stamp, &activities.settings.decision_key).then_some(Proof::Proved)
}

/// A rule about people has its own code; any other says that this is no choice here.
fn forbidden(why: WhyNot) -> DecideOutput {
    let code = match why {
        WhyNot::OwnPayment => code::OWN_PAYMENT,
        WhyNot::Unauthenticated => code::UNAUTHENTICATED_DECISION,
        _ => code::NOT_A_CHOICE,
    };
    refused(code, &why.to_string())
}

/// Before a person may say "not paid", the channel makes it so: the reference is closed there, and
/// money that moved after all is taken as what it is. A channel that cannot close says what it
/// knows, if it can be asked.
async fn ask_first(
    activities: &PaymentActivities,
    input: &DecideInput,
) -> Result<Option<DecideOutput>, ActivityError> {
    // The recorded payment's: a run that anybody started may name another account.
    let id = input.intent.payment_id();
    let row = activities.store.read_payment(&id).await;
    let Some(row) = row.map_err(|error| failure::store(&id, &error))? else {
        return Ok(Some(refused(code::REVIEW_NOT_FOUND, "there is no such review")));
    };
    let intent = &row.intent;
    let Some(channel) = activities.channels.get(intent.channel, &intent.account) else {
        return Ok(Some(refused(code::UNKNOWN_ACCOUNT, "the payment's account is not set up")));
    };
    let (started_at, started) = (wall_clock(), Instant::now());
    let capabilities = channel.capabilities();
    let reference = intent.reference(1);
    let (operation, said) = if capabilities.close {
        (Operation::Close, closed(channel.close(&reference).await))
    } else if capabilities.lookup.is_some() {
        (Operation::Lookup, looked_up(channel.lookup(&reference).await))
    } else {
        return Ok(None);
    };
    let outcome = match &said {
        Said::Paid(_) => "succeeded",
        Said::Nothing(word) | Said::NoAnswer(word) => word,
    };
    let exchange = Exchange {
        operation,
        started_at,
        duration_ms: millis(started.elapsed()),
        outcome: outcome.to_owned(),
        transaction: None,
    };
    match said {
        Said::Paid(money) => {
            let event = PaymentEvent::MoneyConfirmed { money };
            settle(activities, intent, event, &exchange).await?;
            // The decision now meets a review that the truth has overtaken.
            Ok(None)
        }
        Said::Nothing(_) => {
            record(activities, intent, &exchange).await?;
            Ok(None)
        }
        Said::NoAnswer(_) => {
            record(activities, intent, &exchange).await?;
            let why = "the channel did not confirm that nobody paid; \
                       decide again later, under a new key";
            Ok(Some(refused(code::CHANNEL_UNAVAILABLE, why)))
        }
    }
}

/// What the channel said before a person says "not paid", with its word for the record.
enum Said {
    Paid(ConfirmedMoney),
    /// Nothing that stands against the decision.
    Nothing(&'static str),
    NoAnswer(&'static str),
}

fn closed(answer: CloseAnswer) -> Said {
    match answer {
        CloseAnswer::Succeeded { transaction, amount } => {
            Said::Paid(ConfirmedMoney { transaction, amount })
        }
        CloseAnswer::Closed => Said::Nothing("closed"),
        CloseAnswer::Unknown { why } => Said::NoAnswer(lookup::unknown_word(why)),
    }
}

/// Also "open": where nobody can close, it is for the person to say that nobody will pay.
fn looked_up(answer: LookupAnswer) -> Said {
    match answer {
        LookupAnswer::Succeeded { transaction, amount } => {
            Said::Paid(ConfirmedMoney { transaction, amount })
        }
        LookupAnswer::Failed { .. } => Said::Nothing("declined"),
        LookupAnswer::Closed => Said::Nothing("closed"),
        LookupAnswer::Open { .. } => Said::Nothing("open"),
        LookupAnswer::NotFound => Said::Nothing("not_found"),
        LookupAnswer::Unknown { why } => Said::NoAnswer(lookup::unknown_word(why)),
    }
}

async fn settle(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    event: PaymentEvent,
    exchange: &Exchange,
) -> Result<(), ActivityError> {
    let confirmation = Confirmation {
        intent,
        start_before: wall_clock(),
        event,
        actor: if exchange.operation == Operation::Close { &Actor::Close } else { &Actor::Lookup },
        token: None,
        exchanges: std::slice::from_ref(exchange),
    };
    let settled = activities.store.settle(&confirmation).await;
    settled.map_err(|error| failure::store(&intent.payment_id(), &error))?;
    Ok(())
}

async fn record(
    activities: &PaymentActivities,
    intent: &PaymentIntent,
    exchange: &Exchange,
) -> Result<(), ActivityError> {
    let recorded = activities.store.record_exchange(intent, None, exchange, NotFound::No).await;
    recorded.map_err(|error| failure::store(&intent.payment_id(), &error))?;
    Ok(())
}

fn refused(code: &str, why: &str) -> DecideOutput {
    DecideOutput::Refused { code: code.to_owned(), why: why.to_owned() }
}
