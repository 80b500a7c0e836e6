//! Somebody has nothing but an order's number and wants to know everything that happened.

use crate::support::{intent, order, order_in, pay, payment_in, world};
use serde_json::{Value, json};
use tests::settings::ALICE;

fn whats(trace: &Value) -> Vec<&str> {
    let timeline = trace["timeline"].as_array().expect("a timeline");
    timeline.iter().map(|entry| entry["what"].as_str().expect("a word")).collect()
}

fn texts(trace: &Value) -> String {
    let timeline = trace["timeline"].as_array().expect("a timeline").iter();
    timeline.filter_map(|entry| entry["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn times(trace: &Value) -> Vec<Option<&str>> {
    let timeline = trace["timeline"].as_array().expect("a timeline").iter();
    timeline.map(|entry| entry["at"].as_str()).collect()
}

/// The states that the order came into.
fn moves(trace: &Value) -> Vec<&str> {
    let events = trace["order_events"].as_array().expect("a list");
    events.iter().map(|event| event["to"].as_str().expect("a state")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_a_lost_answer_and_a_review_are_one_timeline() {
    let world = world().await;
    let order_id = order(&world, "o1").await;
    let declined = pay(&world, "k1", &intent(&world, &order_id, "main", "pm_decline_funds")).await;
    assert_eq!(declined.text("state"), "Failed", "{}", declined.body);
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let answer = pay(&world, "k2", &intent(&world, &order_id, "blind", "pm_lost")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    let review = payment.text("review").to_owned();
    let transaction = world.sandbox.truth().await.charges()[0]["transaction"].clone();
    let body = json!({
        "version": 1, "reason": "read in the books",
        "choice": {
            "kind": "confirm_paid", "transaction": transaction, "amount": 1999,
            "currency": "CNY", "evidence": "statement line 7",
        },
    });
    let path = format!("/v1/reviews/{review}/decisions");
    let decided = world.api.post_as(&path, "d1", &body, Some(ALICE)).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    order_in(&world, &order_id, "Fulfilled").await;

    let trace = world.api.get(&format!("/v1/orders/{order_id}/trace")).await;
    assert_eq!(trace.status, 200, "{}", trace.body);
    let trace = trace.body;
    assert_eq!(trace["order"]["items"][0]["sku"], "tea");
    assert_eq!(trace["payments"].as_array().map(Vec::len), Some(2), "{trace}");
    let (first, second) = (&trace["payments"][0], &trace["payments"][1]);
    assert_eq!((&first["state"], &first["failure"]), (&json!("Failed"), &json!("declined")));
    assert_eq!(first["money"], json!([]));
    assert_eq!(second["state"], "Persisted");
    assert_eq!(second["workflow_id"], payment.body["workflow_id"]);
    assert_eq!(second["web_ui"], Value::Null, "no address is set");
    assert_eq!(second["exchanges"][0]["operation"], "charge");
    assert_eq!(second["money"][0]["transaction"], transaction);
    assert_eq!(second["money"][0]["disposition"], "Applied");
    assert_eq!(second["reviews"][0]["id"], json!(review));
    assert_eq!(second["reviews"][0]["decided_by"], "alice");
    assert_eq!(moves(&trace), ["Paid", "Fulfilling", "Fulfilled"]);
    assert_eq!(trace["order_events"][0]["payment"], second["id"]);
    let told = second["outbox"].as_array().expect("a list").last().expect("one");
    assert_eq!(told["kind"], "payment.Persisted");

    let (whats, texts) = (whats(&trace), texts(&trace));
    assert_eq!(whats[..2], ["order_made", "intent_recorded"]);
    for wanted in ["channel_exchange", "payment_event", "money_fact", "review_opened"] {
        assert!(whats.contains(&wanted), "{whats:?}");
    }
    for wanted in [
        "declined: ",
        "the channel's answer was lost: timed out; Processing becomes Unknown (by charge)",
        "alice chose confirm paid: read in the books",
        "AwaitingPayment becomes Paid (by operator:alice)",
        "Fulfilling becomes Fulfilled (by workflow)",
    ] {
        assert!(texts.contains(wanted), "{wanted:?} is not in\n{texts}");
    }
    assert!(times(&trace).is_sorted(), "{trace}");
    for (query, count) in [("", 0), ("&state=decided", 1), ("&state=overtaken", 0)] {
        let path = format!("/v1/reviews?order={order_id}{query}");
        let listed = world.api.get(&path).await;
        assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(count), "{}", listed.body);
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_not_there_is_not_found_and_one_nobody_paid_has_a_short_story() {
    let world = world().await;
    let missing = world.api.get(&format!("/v1/orders/ord_{}/trace", "a".repeat(26))).await;
    assert_eq!((missing.status, missing.text("code")), (404, "order_not_found"));
    let order_id = order(&world, "o1").await;
    let trace = world.api.get(&format!("/v1/orders/{order_id}/trace")).await.body;
    assert_eq!(whats(&trace), ["order_made"], "{trace}");
}
