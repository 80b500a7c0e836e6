//! Money in another amount is a fact. The channel's later words "closed" and "not found" do not
//! make the payment one that took nothing, and do not free its order.

use crate::support::{intent, order, pay, payment_in, world};
use domain::{
    Actor, ConfirmedMoney, Currency, Money, NotExecutedProof, PaymentEvent, PaymentId,
    PaymentIntent, UnixMillis,
};
use serde_json::json;
use store::settle_payment::Confirmation;
use tests::World;

/// In review for a lost answer: then money comes that does not fit, then the weaker word.
async fn denied_by(world: &World, transaction: &str, amount: u64, event: PaymentEvent) {
    let order = order(world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let mut body = intent(world, &order, "blind", "pm_lost");
    let answer = pay(world, "k1", &body).await;
    payment_in(world, answer.text("id"), &["ManualReview"]).await;
    body["key"] = json!("k1");
    let intent = PaymentIntent::from_json(&body).expect("valid");
    let id = PaymentId::parse(answer.text("id")).expect("valid");
    let record = world.store.read_payment(&id).await.expect("reads").expect("a row");
    let money = ConfirmedMoney {
        transaction: transaction.to_owned().try_into().expect("valid"),
        amount: Money::new(amount, Currency::parse("CNY").expect("known")).expect("small"),
    };
    for event in [PaymentEvent::MoneyConfirmed { money }, event] {
        let news = Confirmation {
            intent: &intent,
            start_before: UnixMillis(0),
            event,
            actor: &Actor::Lookup,
            token: record.claim_token.as_ref(),
            exchanges: &[],
        };
        world.store.settle(&news).await.expect("settles");
    }
    let payment = world.api.get(&format!("/v1/payment_intents/{id}")).await;
    assert_eq!(payment.text("state"), "ManualReview", "{}", payment.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_does_not_deny_money() {
    denied_by(&world().await, "sbx_less", 1_998, PaymentEvent::ClosedAtChannel).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_found_does_not_deny_money() {
    let event = PaymentEvent::NotExecuted { proof: NotExecutedProof::LookupAfterGrace };
    denied_by(&world().await, "sbx_less", 1_998, event).await;
}

/// The channel names the transaction of another payment: something moved, and nobody knows what.
#[tokio::test(flavor = "multi_thread")]
async fn closed_does_not_deny_money_under_a_number_of_another_payment() {
    let world = world().await;
    let first = order(&world, "o0").await;
    let paid = pay(&world, "k0", &intent(&world, &first, "blind", "pm_ok")).await;
    let transaction = paid.text("transaction").to_owned();
    denied_by(&world, &transaction, 1_999, PaymentEvent::ClosedAtChannel).await;
}
