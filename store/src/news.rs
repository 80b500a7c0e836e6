//! The identity and the words of news: what makes two reports the same event, and what of them is
//! kept on the record.

use crate::payments::local_event;
use crate::rows::Payment;
use domain::payment::Verdict;
use domain::{ClaimToken, EventId, PaymentEvent};
use serde_json::{Value, json};

/// News about money is named by the money; weaker news by the claim it is about, so that the same
/// answer of the same request is one event.
pub(crate) fn event_id(payment: &Payment, event: &PaymentEvent) -> EventId {
    let intent = &payment.intent;
    match event {
        PaymentEvent::MoneyConfirmed { money } | PaymentEvent::MoneyMismatch { money } => {
            EventId::of(&[
                intent.channel.as_str(),
                intent.account.as_str(),
                money.transaction.as_str(),
                "charge",
                "succeeded",
                &money.amount.minor_units().to_string(),
                money.amount.currency().code(),
            ])
        }
        PaymentEvent::LadderEnded | PaymentEvent::Decided { .. } => {
            local_event(payment, describe(event).0)
        }
        // Of a payment that was shown before it ended, this is other news.
        PaymentEvent::PayerAction { .. } if payment.state.is_final() => {
            let token = payment.claim_token.as_ref().map_or("", ClaimToken::as_str);
            EventId::of(&[payment.id.as_str(), "payer_action_after_end", token])
        }
        event => {
            let token = payment.claim_token.as_ref().map_or("", ClaimToken::as_str);
            EventId::of(&[payment.id.as_str(), describe(event).0, token])
        }
    }
}

/// The event's word and its cause, without any payer data.
pub(crate) fn describe(event: &PaymentEvent) -> (&'static str, Value) {
    match event {
        PaymentEvent::Claimed { token, .. } => ("claimed", json!({ "token": token })),
        PaymentEvent::MoneyConfirmed { money } | PaymentEvent::MoneyMismatch { money } => {
            ("money_confirmed", json!({ "transaction": money.transaction, "money": money.amount }))
        }
        PaymentEvent::Declined { class, code } => {
            ("declined", json!({ "class": class, "code": code }))
        }
        PaymentEvent::PayerAction { pay_before, .. } => {
            ("payer_action", json!({ "pay_before": pay_before }))
        }
        PaymentEvent::AnswerLost { why } => ("answer_lost", json!({ "why": why })),
        PaymentEvent::NotExecuted { proof } => ("not_executed", json!({ "proof": proof })),
        PaymentEvent::ClosedAtChannel => ("closed_at_channel", json!({})),
        PaymentEvent::StartExpired => ("start_expired", json!({})),
        PaymentEvent::LadderEnded => ("ladder_ended", json!({})),
        PaymentEvent::Decided { verdict } => {
            let paid = matches!(verdict, Verdict::Paid { .. });
            ("decided", json!({ "paid": paid }))
        }
    }
}
