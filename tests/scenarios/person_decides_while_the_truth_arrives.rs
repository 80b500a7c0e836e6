//! A person's decision and the channel's own news about the same money arrive at the same moment.

use crate::owner::wake_if_open;
use crate::people::{decide_at_the_store, in_review};
use crate::support::{order, order_in, world};
use domain::{Actor, Choice, ConfirmedMoney, PaymentEvent, PaymentId, UnixMillis};
use serde_json::json;
use sqlx::Row;
use store::decisions::Decided;
use store::settle_payment::{Answer, Confirmation};
use tests::{World, api};

/// How often the two meet.
const MEETINGS: usize = 12;

/// Lets both loose at once, and says whether the person was first.
async fn meet(world: &World, payment: &api::Answer, number: usize, first: bool) -> bool {
    let truth = world.sandbox.truth().await;
    let method = &payment.body["payment_method"];
    let charge = truth.charges().iter().find(|charge| charge["payment_method"] == *method);
    let transaction = &charge.expect("a charge")["transaction"];
    let choice: Choice = serde_json::from_value(json!({
        "kind": "confirm_paid", "transaction": transaction, "evidence": "line 7",
        "money": { "amount": 1999, "currency": "CNY" },
    }))
    .expect("a choice");
    let id = PaymentId::parse(payment.text("id")).expect("valid");
    let record = world.store.read_payment(&id).await.expect("reads").expect("a row");
    let money = ConfirmedMoney {
        transaction: transaction.as_str().expect("text").to_owned().try_into().expect("valid"),
        amount: record.intent.money,
    };
    let news = Confirmation {
        intent: &record.intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::MoneyConfirmed { money },
        actor: &Actor::Channel,
        token: None,
        exchanges: &[],
    };
    let key = format!("d{number}");
    let decision = decide_at_the_store(world, payment, &key, &choice);
    let (decided, settled) = if first {
        tokio::join!(decision, world.store.settle(&news))
    } else {
        let (settled, decided) = tokio::join!(world.store.settle(&news), decision);
        (decided, settled)
    };
    let settled = settled.expect("settles");
    match (&decided, settled.answer) {
        (Decided::Done(_), Answer::AlreadyApplied) => true,
        (Decided::Overtaken { changed, .. }, Answer::Applied) => {
            assert_eq!(changed, "channel brought the news money_confirmed");
            false
        }
        other => panic!("both or neither counted: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_wins_and_the_money_is_counted_once() {
    let world = world().await;
    let mut waiting = Vec::new();
    for number in 0..MEETINGS {
        let order = order(&world, &format!("o{number}")).await;
        let lost = json!({ "kind": "timeout_after_commit" });
        let payment = in_review(&world, &format!("k{number}"), &order, 1, lost).await;
        waiting.push((order, payment));
    }
    let mut persons = 0;
    for (number, (_, payment)) in waiting.iter().enumerate() {
        persons += i64::from(meet(&world, payment, number, number % 2 == 0).await);
    }
    for (order, payment) in &waiting {
        wake_if_open(&world, payment.text("workflow_id")).await;
        order_in(&world, order, "Fulfilled").await;
    }
    let counts = sqlx::query(
        "SELECT (SELECT count(*) FROM money_fact) AS facts,
                (SELECT count(*) FROM decision) AS decisions,
                (SELECT count(*) FROM review WHERE state = 'Overtaken') AS overtaken",
    );
    let counts = counts.fetch_one(&world.rows).await.expect("counts");
    let meetings = i64::try_from(MEETINGS).expect("small");
    assert_eq!(counts.get::<i64, _>("facts"), meetings);
    assert_eq!(counts.get::<i64, _>("decisions"), persons);
    assert_eq!(counts.get::<i64, _>("overtaken"), meetings - persons);
    world.check().await;
}
