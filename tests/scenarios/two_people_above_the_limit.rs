//! A payment whose amount is above the limit: one person is not enough, whatever they do.

use crate::people::{confirm_paid, decide_as, in_review, recorded};
use crate::support::{order, order_in, payment_in};
use serde_json::{Value, json};
use tests::api::Answer;
use tests::settings::{ALICE, BOB, CAROL};
use tests::{Setup, World};

async fn above_the_limit(fault: &str) -> (World, String, Answer) {
    let setup = Setup { four_eyes_above: "USD:1000000,CNY:1998", ..Setup::default() };
    let world = World::start(setup).await;
    let order = order(&world, "o1").await;
    let payment = in_review(&world, "k1", &order, 1, json!({ "kind": fault })).await;
    (world, order, payment)
}

fn not_paid(evidence: &str) -> Value {
    json!({ "kind": "confirm_not_paid", "evidence": evidence })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_person_with_the_same_choice_makes_it_count() {
    let (world, order, payment) = above_the_limit("timeout_after_commit").await;
    let truth = world.sandbox.truth().await;
    let right = confirm_paid(&truth.charges()[0]["transaction"]);
    let review = payment.text("review");
    let wrong = confirm_paid(&json!("sbx_mistyped"));
    // Alice alone, once and again; Bob with another number, and with another choice.
    for (token, key, choice) in [
        (ALICE, "a1", right.clone()),
        (ALICE, "a2", right.clone()),
        (BOB, "b1", wrong),
        (BOB, "b2", not_paid("not seen")),
    ] {
        let proposed = decide_as(token, &world, review, key, choice).await;
        assert_eq!((proposed.status, proposed.text("outcome")), (202, "proposed"), "{key}");
        let shown = &proposed.body["review"];
        assert_eq!((&shown["state"], &shown["version"]), (&json!("Open"), &json!(1)));
    }
    let shown = world.api.get(&format!("/v1/reviews/{review}")).await;
    let proposals = shown.body["proposals"].as_array().expect("proposals");
    let latest: Vec<_> = proposals.iter().map(|p| (&p["operator"], &p["decision"])).collect();
    let (alice, bob) = (json!("alice"), json!("bob"));
    assert_eq!(latest, [(&alice, &json!("a2")), (&bob, &json!("b2"))]);
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    let asked = world.sandbox.truth().await.count("close");
    assert_eq!(asked, 0, "a proposal asks the channel for nothing");
    let again = decide_as(ALICE, &world, review, "a1", right.clone()).await;
    assert_eq!(again.status, 202, "the same proposal is the same: {}", again.body);
    // Bob changes his mind, with evidence of his own.
    let mut same = right.clone();
    same["evidence"] = json!("a call to the bank");
    let decided = decide_as(BOB, &world, review, "b3", same).await;
    assert_eq!((decided.status, decided.text("outcome")), (200, "decided"), "{}", decided.body);
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!((recorded(&world, "Proposed").await, recorded(&world, "Decided").await), (4, 1));
    let late = decide_as(CAROL, &world, review, "c1", right).await;
    assert_eq!((late.status, late.text("code")), (409, "decision_overtaken"), "{}", late.body);
    assert_eq!(late.text("changed"), "bob chose confirm_paid");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_paid_closes_at_the_channel_only_once_two_have_said_it() {
    let (world, _, payment) = above_the_limit("timeout_before_commit").await;
    let review = payment.text("review");
    let proposed = decide_as(ALICE, &world, review, "a1", not_paid("not on the statement")).await;
    assert_eq!(proposed.status, 202, "{}", proposed.body);
    assert_eq!(world.sandbox.truth().await.count("close"), 0);
    let decided = decide_as(CAROL, &world, review, "c1", not_paid("their support says no")).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    payment_in(&world, payment.text("id"), &["Failed"]).await;
    assert_eq!(world.sandbox.truth().await.count("close"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proposal_of_somebody_who_may_decide_no_more_is_none_of_two() {
    let (world, order, payment) = above_the_limit("timeout_after_commit").await;
    let review = payment.text("review");
    let wrong = confirm_paid(&json!("sbx_never_was"));
    let proposed = decide_as(ALICE, &world, review, "a1", wrong.clone()).await;
    assert_eq!(proposed.status, 202, "{}", proposed.body);
    let owner = world.database_url(store::migrate::OWNER_ROLE);
    let owner = store::Store::connect_lazy(&owner, 1).expect("an address");
    let alice = domain::OperatorName::parse("alice").expect("valid");
    assert!(owner.disable_operator(&alice).await.expect("disables"));
    let second = decide_as(BOB, &world, review, "b1", wrong).await;
    assert_eq!((second.status, second.text("outcome")), (202, "proposed"), "{}", second.body);
    payment_in(&world, payment.text("id"), &["ManualReview"]).await;
    order_in(&world, &order, "AwaitingPayment").await;
}

/// What somebody proposed with a token that proves nothing any more is theirs to say again.
#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_counts_no_more_once_its_operator_got_another_token() {
    let (world, order, payment) = above_the_limit("timeout_after_commit").await;
    let review = payment.text("review");
    let paid = confirm_paid(&world.sandbox.truth().await.charges()[0]["transaction"]);
    let proposed = decide_as(ALICE, &world, review, "a1", paid.clone()).await;
    assert_eq!(proposed.status, 202, "{}", proposed.body);
    let owner = world.database_url(store::migrate::OWNER_ROLE);
    let owner = store::Store::connect_lazy(&owner, 1).expect("an address");
    let alice = domain::OperatorName::parse("alice").expect("valid");
    let token = domain::operator::TokenDigest::of("another-token-of-alice").expect("a token");
    assert!(owner.disable_operator(&alice).await.expect("disables"));
    let known = store::operators::KnownName::Replace;
    owner.add_operator(&alice, &token, known).await.expect("adds her again");
    let second = decide_as(BOB, &world, review, "b1", paid.clone()).await;
    assert_eq!((second.status, second.text("outcome")), (202, "proposed"), "{}", second.body);
    order_in(&world, &order, "AwaitingPayment").await;
    let again = decide_as("another-token-of-alice", &world, review, "a2", paid).await;
    assert_eq!((again.status, again.text("outcome")), (200, "decided"), "{}", again.body);
    order_in(&world, &order, "Fulfilled").await;
    world.check().await;
}
