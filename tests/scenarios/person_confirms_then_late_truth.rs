//! A person confirms a payment by its transaction number, and then the channel's own news about
//! the same movement arrives.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use domain::{Actor, ConfirmedMoney, PaymentEvent, PaymentIntent, UnixMillis};
use serde_json::json;
use store::settle_payment::{Answer, Confirmation};
use tests::settings::ALICE;

#[tokio::test(flavor = "multi_thread")]
async fn the_late_truth_is_recognised_and_changes_nothing() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let mut body = intent(&world, &order, "blind", "pm_lost");
    let answer = pay(&world, "k1", &body).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    let truth = world.sandbox.truth().await;
    let transaction = truth.charges()[0]["transaction"].as_str().expect("a transaction").to_owned();
    let decision = json!({
        "version": 1, "reason": "seen on the statement",
        "choice": { "kind": "confirm_paid", "transaction": transaction, "amount": 1999,
                    "currency": "CNY", "evidence": "line 7" },
    });
    let path = format!("/v1/reviews/{}/decisions", payment.text("review"));
    let decided = world.api.post_as(&path, "d1", &decision, Some(ALICE)).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    order_in(&world, &order, "Fulfilled").await;
    // The same news, as any later source brings it: through the one door.
    body["key"] = json!("k1");
    let intent = PaymentIntent::from_json(&body).expect("valid");
    let money = ConfirmedMoney {
        transaction: transaction.clone().try_into().expect("valid"),
        amount: intent.money,
    };
    let news = Confirmation {
        intent: &intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money: money.clone() },
        actor: &Actor::Channel,
        token: None,
        exchanges: &[],
    };
    let settled = world.store.settle(&news).await.expect("settles");
    assert_eq!(settled.answer, Answer::AlreadyApplied);
    world.check().await;
    // Another number is another movement: kept, and asked about.
    let other =
        ConfirmedMoney { transaction: "sbx_other".to_owned().try_into().expect("valid"), ..money };
    let news = Confirmation { event: PaymentEvent::MoneyConfirmed { money: other }, ..news };
    let settled = world.store.settle(&news).await.expect("settles");
    assert_eq!(settled.answer, Answer::Surplus);
    assert!(settled.view.review.is_some());
}
