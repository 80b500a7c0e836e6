//! Prints the state table for `docs/payment-states.md` from the code that decides.

use crate::channel::{NotExecutedProof, UnknownReason};
use crate::ids::{ChannelTransactionId, ClaimToken};
use crate::money::{Currency, Money};
use crate::payment::{
    ConfirmedMoney, DeclineClass, Effect, FailureClass, PayerAction, PaymentEvent, PaymentState,
    ReviewReason, Step, Verdict,
};
use crate::permit::{PermitFacts, RetryPermit};
use crate::time::UnixMillis;
use std::fmt::Write;
use std::time::Duration;

/// One named example of every state, with the variants that behave differently apart.
#[must_use]
pub fn states() -> Vec<(&'static str, PaymentState)> {
    use PaymentState as S;
    let review = |reason| S::ManualReview { reason };
    vec![
        ("Created", S::Created),
        ("Processing", S::Processing { token: token("run#1") }),
        ("AwaitingPayer", S::AwaitingPayer { action: action(), pay_before: UnixMillis(1) }),
        ("Unknown", S::Unknown),
        ("Succeeded", S::Succeeded { money: money("t1") }),
        ("Persisted", S::Persisted { money: money("t1"), effect: Effect::Applied }),
        ("Failed", S::Failed { class: FailureClass::Declined }),
        ("Closed", S::Closed),
        ("ManualReview (answer lost)", review(ReviewReason::OutcomeUnknown)),
        ("ManualReview (other reason)", review(ReviewReason::AmountMismatch)),
    ]
}

/// One named example of every event, with the variants that behave differently apart.
#[must_use]
pub fn events() -> Vec<(&'static str, PaymentEvent)> {
    use PaymentEvent as E;
    vec![
        ("Claimed, first", E::Claimed { token: token("run#1"), permit: None }),
        ("Claimed, permit", E::Claimed { token: token("run#2"), permit: permit(false) }),
        ("Claimed, risk", E::Claimed { token: token("run#2"), permit: permit(true) }),
        ("MoneyConfirmed", E::MoneyConfirmed { money: money("t1") }),
        ("MoneyConfirmed, other number", E::MoneyConfirmed { money: money("t2") }),
        ("MoneyMismatch", E::MoneyMismatch { money: money("t3") }),
        ("Declined", E::Declined { class: DeclineClass::MayPayAgain, code: "no_funds".to_owned() }),
        ("PayerAction", E::PayerAction { action: action(), pay_before: UnixMillis(1) }),
        ("AnswerLost", E::AnswerLost { why: UnknownReason::TimedOut }),
        ("NotExecuted", E::NotExecuted { proof: NotExecutedProof::NothingSent }),
        ("ClosedAtChannel", E::ClosedAtChannel),
        ("StartExpired", E::StartExpired),
        ("LadderEnded", E::LadderEnded),
        ("Decided, paid", E::Decided { verdict: Verdict::Paid { money: money("t1") } }),
        ("Decided, not paid", E::Decided { verdict: Verdict::NotPaid }),
        ("Decided, resubmit", E::Decided { verdict: Verdict::Resubmit }),
    ]
}

/// The cell of the table: the new state, `·` absorbed, `· +r` absorbed with a review, `✗` a bug.
#[must_use]
pub fn cell(state: &PaymentState, event: &PaymentEvent) -> String {
    match state.clone().on(event.clone()) {
        Ok(Step::Moved(to)) => to.name().to_owned(),
        Ok(Step::Absorbed { review: None, .. }) => "·".to_owned(),
        Ok(Step::Absorbed { review: Some(_), .. }) => "· +r".to_owned(),
        Err(_) => "✗".to_owned(),
    }
}

/// The whole page.
#[must_use]
pub fn render() -> String {
    let mut page = String::from(
        "# Payment states\n\n\
         Printed from `PaymentState::on` in `domain/src/payment.rs`; a test fails when this page\n\
         is stale (`UPDATE_GENERATED=1 cargo test -p tests --test layout` writes it anew).\n\n\
         A cell is the state after the event. `·` absorbed: true, but old or weaker news.\n\
         `+r` opens a review. `✗` cannot happen: a bug in the caller, refused with both sides\n\
         named. `Succeeded` becomes `Persisted` in the transaction that writes the money down.\n\n\
         | from \\ event |",
    );
    let events = events();
    for (name, _) in &events {
        let _ = write!(page, " {name} |");
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(events.len()));
    for (name, state) in states() {
        let _ = write!(page, "\n| **{name}** |");
        for (_, event) in &events {
            let _ = write!(page, " {} |", cell(&state, event));
        }
    }
    page.push('\n');
    page
}

fn token(text: &str) -> ClaimToken {
    // Cannot fail: the texts above are short printable ASCII.
    ClaimToken::parse(text).unwrap_or_else(|_| ClaimToken::of("run", 0))
}

fn action() -> PayerAction {
    PayerAction::Redirect { url: "https://pay.example/x".to_owned() }
}

fn money(transaction: &str) -> ConfirmedMoney {
    ConfirmedMoney {
        // Cannot fail: the texts above are short printable ASCII, and CNY is a currency.
        transaction: ChannelTransactionId::parse(transaction).expect("a valid example"),
        amount: Money::zero(Currency::parse("CNY").expect("a known currency")),
    }
}

fn permit(risk_accepted: bool) -> Option<RetryPermit> {
    let now = UnixMillis(1);
    let capabilities = crate::channel::Capabilities {
        idempotent_for: Some(Duration::from_secs(60)),
        lookup: None,
        refuses_known_reference: false,
        close: false,
        grace: Duration::ZERO,
        call_limit: Duration::from_secs(1),
    };
    RetryPermit::grant(&PermitFacts {
        capabilities,
        permits_used: 0,
        first_sent_at: Some(now),
        send_before: Some(now),
        not_found_at: None,
        risk_accepted,
        now,
    })
    .ok()
}
