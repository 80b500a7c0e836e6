//! An operator asks why a payment is where it is, at each of its hours.

use crate::support::{SETTLED, id_of, intent, order, order_in, pay, payment_in, world};
use serde_json::{Value, json};
use tests::api::Answer;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

async fn explain(world: &World, payment: &str) -> Value {
    let answer: Answer = world.api.get(&format!("/v1/payment_intents/{payment}/explain")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// The rule that forbids an act; `None` where the act is allowed.
fn rule<'a>(told: &'a Value, act: &str) -> Option<&'a str> {
    let named =
        |list: &'a Value| list.as_array().expect("a list").iter().find(|entry| entry["act"] == act);
    if named(&told["may"]).is_some() {
        return None;
    }
    named(&told["may_not"]).expect("every act has an answer")["rule"].as_str()
}

fn text<'a>(told: &'a Value, field: &str) -> &'a str {
    told[field].as_str().unwrap_or_else(|| panic!("no {field} in {told}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_ladder_it_waits_for_a_lookup_and_nothing_may_be_sent() {
    let world = World::start(Setup { ladder_ms: "100,60000", ..Setup::default() }).await;
    let order_id = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let dark = json!({ "kind": "error_before_commit", "status": 503 });
    world.sandbox.fault("lookup", json!({}), 1, dark).await;
    let answer = pay(&world, "k1", &intent(&world, &order_id, "main", "pm_dark")).await;
    assert_eq!(answer.text("state"), "Unknown", "{}", answer.body);
    // The second rung is a minute away, so what is told now stays true while it is looked at.
    let told = until("the run waits for its second lookup", SETTLED, || async {
        let told = explain(&world, answer.text("id")).await;
        let says = told["workflow_says"].as_str().unwrap_or_default().to_owned();
        says.contains("lookup 2 of 2").then_some(told)
    })
    .await;
    assert_eq!((text(&told, "state"), text(&told, "source")), ("Unknown", "row"));
    assert!(text(&told, "waits_for").contains("whose answer was lost"), "{told}");
    assert!(told["waits_until"].is_string() && told["workflow_until"].is_string(), "{told}");
    assert_eq!(told["last_event"]["kind"], "answer_lost");
    assert_eq!(told["last_event"]["from"], "Processing");
    assert_eq!(told["last_event"]["cause"], "the channel's answer was lost: timed out");
    assert_eq!(rule(&told, "charge_again"), Some("no_repeat_without_proof"));
    assert_eq!(rule(&told, "close_as_failed"), Some("unknown_never_fails_by_time"));
    assert_eq!(rule(&told, "pay_with_another_intent"), Some("one_live_payment_per_order"));
    assert_eq!(rule(&told, "decide_review"), Some("nothing_to_decide"));
    assert_eq!(rule(&told, "resume"), None);
    // What is told is what is done: another key is refused.
    let other = pay(&world, "k2", &intent(&world, &order_id, "main", "pm_ok")).await;
    assert_eq!((other.status, other.text("code")), (409, "order_busy"), "{}", other.body);
    // Resuming looks at once, and needs an operator.
    let path = format!("/v1/payment_intents/{}/resume", answer.text("id"));
    assert_eq!(world.api.post(&path, "r1", &json!({})).await.status, 401);
    let woken = world.api.post_as(&path, "r1", &json!({}), Some(ALICE)).await;
    assert_eq!((woken.status, woken.text("state")), (202, "Unknown"), "{}", woken.body);
    order_in(&world, &order_id, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_review_it_names_the_review_and_afterwards_nothing_is_waited_for() {
    let world = world().await;
    let order_id = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_before_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let answer = pay(&world, "k1", &intent(&world, &order_id, "blind", "pm_lost")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    let told = explain(&world, payment.text("id")).await;
    assert_eq!(text(&told, "waits_for"), "a person's decision");
    assert_eq!(told["waits_until"], told["reviews"][0]["remind_at"]);
    assert_eq!(told["reviews"][0]["id"], payment.body["review"]);
    assert_eq!(told["reviews"][0]["reason"], "outcome_unknown");
    assert_eq!(rule(&told, "decide_review"), None);
    assert_eq!(rule(&told, "charge_again"), Some("no_repeat_without_proof"));
    let listed = world.api.get(&format!("/v1/reviews?payment={}", payment.text("id"))).await;
    assert_eq!(listed.body["data"][0]["id"], payment.body["review"], "{}", listed.body);
    assert_eq!(listed.body["data"][0]["remind_at"], told["reviews"][0]["remind_at"]);

    let body = json!({
        "version": 1, "reason": "called the bank",
        "choice": { "kind": "confirm_not_paid", "evidence": "not on the statement" },
    });
    let path = format!("/v1/reviews/{}/decisions", payment.text("review"));
    let decided = world.api.post_as(&path, "d1", &body, Some(ALICE)).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    let told = explain(&world, payment.text("id")).await;
    assert_eq!((text(&told, "state"), &told["waits_for"]), ("Failed", &Value::Null));
    assert_eq!(told["last_event"]["cause"], "decided: not paid; not on the statement");
    assert_eq!(rule(&told, "charge_again"), Some("one_key_one_outcome"));
    assert_eq!(rule(&told, "pay_with_another_intent"), None, "{told}");
    // What is allowed is possible.
    let other = pay(&world, "k2", &intent(&world, &order_id, "main", "pm_ok")).await;
    assert_eq!((other.status, other.text("state")), (200, "Persisted"), "{}", other.body);
    order_in(&world, &order_id, "Fulfilled").await;
    let told = explain(&world, other.text("id")).await;
    assert_eq!((text(&told, "state"), &told["waits_for"]), ("Persisted", &Value::Null));
    assert_eq!(rule(&told, "charge_again"), Some("paid_once"));
    assert_eq!(rule(&told, "close_as_failed"), Some("money_never_disappears"));
    assert_eq!(rule(&told, "pay_with_another_intent"), Some("order_not_payable"));
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_stopped_its_workflow_tells() {
    let setup = Setup { own_postgres: true, call_limit_ms: 8_000, ..Setup::default() };
    let mut world = World::start(setup).await;
    let order_id = order(&world, "o1").await;
    let delay = json!({ "kind": "delay", "ms": 3_000 });
    world.sandbox.fault("charge", json!({}), 1, delay).await;
    let (api, body) = (world.api.clone(), intent(&world, &order_id, "blind", "pm_slow"));
    let caller = tokio::spawn(async move { api.post("/v1/payment_intents", "k1", &body).await });
    until("the charge is on its way", SETTLED, || async {
        (world.sandbox.truth().await.count("charge") == 1).then_some(())
    })
    .await;
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.stop()).expect("PostgreSQL stops");
    let _ = caller.await.expect("the caller is answered");
    let (payment, path) = (id_of(&world, "k1"), "/v1/payment_intents");
    let told = until("the run knows that it was paid", SETTLED, || async {
        let answer = world.api.get(&format!("{path}/{payment}/explain")).await;
        (answer.text("state") == "Succeeded").then_some(answer.body)
    })
    .await;
    assert_eq!(text(&told, "source"), "workflow");
    assert!(text(&told, "message").contains("do not charge again"), "{told}");
    assert!(text(&told, "workflow_says").starts_with("Paid."), "{told}");
    assert_eq!(rule(&told, "charge_again"), Some("paid_once"));
    assert_eq!(told["last_event"], Value::Null);
    // Who may wake it is known to PostgreSQL alone.
    let resume = format!("{path}/{payment}/resume");
    let woken = world.api.post_as(&resume, "r1", &json!({}), Some(ALICE)).await;
    assert_eq!(woken.status, 503, "{}", woken.body);
    let postgres = world.postgres.as_mut().expect("a PostgreSQL of its own");
    tokio::task::block_in_place(|| postgres.restart()).expect("PostgreSQL starts");
    order_in(&world, &order_id, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.count("charge"), 1);
    world.check().await;
}
