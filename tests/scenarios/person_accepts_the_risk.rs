//! A person has the request sent once more, although the one before may have been executed: it was
//! lost before the charge, or after it; it is lost again; the worker dies; the order moves on.

use crate::people::{choose, confirm_paid, decide_as, in_review, recorded};
use crate::support::{SETTLED, order, order_in, payment_in, world};
use domain::{
    Actor, Capabilities, ClaimToken, DeclineClass, PaymentEvent, PaymentId, PaymentState,
};
use serde_json::{Value, json};
use std::time::Duration;
use store::payments::{Claim, ClaimRequest};
use store::reads::PaymentRecord;
use store::settle_payment::Confirmation;
use tests::World;
use tests::api::Answer;
use tests::settings::{ALICE, BOB};
use tests::wait::until;

fn resubmit() -> Value {
    json!({ "kind": "resubmit_same_key", "risk": "the payer waits at the counter" })
}

fn lost_before() -> Value {
    json!({ "kind": "timeout_before_commit" })
}

/// The same payment under another open review than this one.
async fn next_review(world: &World, id: &str, before: &str) -> String {
    let path = format!("/v1/payment_intents/{id}");
    until("another review is open", SETTLED, || async {
        let payment = world.api.get(&path).await;
        let review = payment.text("review").to_owned();
        (!review.is_empty() && review != before).then_some(review)
    })
    .await
}

async fn resubmitted_and_paid(fault: Value) -> (World, String, Answer) {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 1, fault).await;
    let decided = decide_as(ALICE, &world, payment.text("review"), "d1", resubmit()).await;
    assert_eq!((decided.status, decided.text("outcome")), (200, "decided"), "{}", decided.body);
    let paid = payment_in(&world, payment.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 2);
    assert_eq!(paid.body["permits_used"], 1);
    world.check().await;
    (world, order, paid)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_lost_before_the_charge_is_charged_once() {
    let (world, _, paid) = resubmitted_and_paid(lost_before()).await;
    assert_eq!(world.sandbox.truth().await.charges().len(), 1);
    // Nobody knows yet that the first request took nothing. A person says so.
    let review = world.api.get(&format!("/v1/reviews/{}", paid.text("review"))).await;
    assert_eq!(review.text("reason"), "earlier_request_unknown", "{}", review.body);
    let none = json!({ "kind": "confirm_not_paid", "evidence": "one line on the statement" });
    let decided = decide_as(BOB, &world, review.text("id"), "d2", none).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    assert_eq!(decided.body["payment"]["state"], "Persisted");
    assert_eq!(decided.body["payment"]["review"], Value::Null);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_lost_after_the_charge_is_charged_twice_and_that_is_asked_about() {
    let lost = json!({ "kind": "timeout_after_commit" });
    let (world, _, paid) = resubmitted_and_paid(lost).await;
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.charges().len(), truth.fulfilments().len()), (2, 1));
    // The second charge was answered; the first one is found on the statement.
    let first =
        truth.charges().iter().find(|charge| charge["transaction"] != paid.body["transaction"]);
    let found = confirm_paid(&first.expect("another charge")["transaction"]);
    let review = paid.text("review").to_owned();
    let decided = decide_as(BOB, &world, &review, "d2", found).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    // It is money that must be given back: no choice decides that away.
    let review = next_review(&world, paid.text("id"), &review).await;
    let review = world.api.get(&format!("/v1/reviews/{review}")).await;
    assert_eq!(review.text("reason"), "second_transaction", "{}", review.body);
    for choice in review.body["choices"].as_array().expect("choices") {
        assert_eq!(choice["rule"], "needs_refund", "{}", review.body);
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_again_is_asked_about_again_and_not_for_ever() {
    let world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 4, lost_before()).await;
    let mut review = payment.text("review").to_owned();
    for key in ["d1", "d2", "d3"] {
        let decided = decide_as(ALICE, &world, &review, key, resubmit()).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        review = next_review(&world, payment.text("id"), &review).await;
    }
    let refused = decide_as(ALICE, &world, &review, "d4", resubmit()).await;
    assert_eq!((refused.status, refused.text("code")), (422, "not_a_choice"), "{}", refused.body);
    let truth = world.sandbox.truth().await;
    assert_eq!((truth.count("charge"), truth.charges().len()), (4, 0));
    assert_eq!(recorded(&world, "Decided").await, 3);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_between_the_decision_and_the_claim_leaves_it_to_the_next() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 1, lost_before()).await;
    world.kill_workers();
    choose(&world, &payment, "d1", resubmit()).await;
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    payment_in(&world, payment.text("id"), &["Persisted"]).await;
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 2);
    world.check().await;
}

/// A decision that is durable, with no worker to claim.
async fn accepted_and_not_claimed() -> (World, PaymentRecord) {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 1, lost_before()).await;
    world.kill_workers();
    choose(&world, &payment, "d1", resubmit()).await;
    let id = PaymentId::parse(payment.text("id")).expect("valid");
    let record = world.store.read_payment(&id).await.expect("reads").expect("a row");
    (world, record)
}

/// A claim as a worker's, from a run of this name.
fn claim(
    world: &World,
    record: &PaymentRecord,
    run: &'static str,
) -> impl Future<Output = Claim> + use<> {
    let (store, intent) = (world.store.clone(), record.intent.clone());
    let start_before = record.view.start_before;
    let capabilities = Capabilities {
        idempotent_for: None,
        lookup: None,
        refuses_known_reference: false,
        close: true,
        grace: Duration::from_millis(700),
        call_limit: Duration::from_millis(1_500),
    };
    async move {
        let token = ClaimToken::of(run, 1);
        let (intent, token, capabilities) = (&intent, &token, &capabilities);
        let request = ClaimRequest { intent, token, capabilities, start_before };
        store.record_and_claim(&request).await.expect("answers")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_senders_do_not_use_one_decision_twice() {
    let (world, record) = accepted_and_not_claimed().await;
    assert!(record.view.risk_accepted);
    let claims = tokio::join!(
        tokio::spawn(claim(&world, &record, "one")),
        tokio::spawn(claim(&world, &record, "two")),
    );
    let claims = [claims.0.expect("ends"), claims.1.expect("ends")];
    let granted = claims.iter().filter(|claim| matches!(claim, Claim::Granted { .. })).count();
    assert_eq!(granted, 1);
    let record = world.store.read_payment(&record.view.payment).await.expect("reads");
    let view = record.expect("a row").view;
    assert_eq!((view.permits_used, view.risk_accepted), (1, false));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_that_is_declined_says_nothing_of_the_request_before() {
    let (world, record) = accepted_and_not_claimed().await;
    let granted = claim(&world, &record, "one").await;
    assert!(matches!(granted, Claim::Granted { .. }), "{granted:?}");
    let declined = Confirmation {
        intent: &record.intent,
        start_before: record.view.start_before,
        event: PaymentEvent::Declined {
            class: DeclineClass::MayPayAgain,
            code: "insufficient_funds".to_owned(),
        },
        actor: &Actor::ChargeAnswer,
        token: Some(&ClaimToken::of("one", 1)),
        exchanges: &[],
    };
    let settled = world.store.settle(&declined).await.expect("settles");
    assert_eq!(settled.view.state, PaymentState::Unknown);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_has_moved_on_is_not_charged_and_the_question_is_open_again() {
    let mut world = world().await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 1, lost_before()).await;
    world.kill_workers();
    choose(&world, &payment, "d1", resubmit()).await;
    crate::support::orders_move_to(&world, "Closing").await;
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    let review = next_review(&world, payment.text("id"), payment.text("review")).await;
    let review = world.api.get(&format!("/v1/reviews/{review}")).await;
    assert_eq!(review.text("reason"), "outcome_unknown", "{}", review.body);
    assert_eq!(review.body["choices"][2]["rule"], "order_not_awaiting_payment");
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}
