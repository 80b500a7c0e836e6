//! Metrics are read by many: they count what happens, and never say to whom.

use crate::owner::signal;
use crate::support::{id_of, intent, order, order_in, pay, payment_in};
use serde_json::json;
use std::time::Duration;
use tests::wait::until;
use tests::{Setup, World};

/// How long the worker may take to count its backlog anew: it does so every 15 s.
const COUNTED: Duration = Duration::from_secs(40);

async fn metrics(world: &World, port: u16) -> String {
    world.api.text_at(&format!("http://127.0.0.1:{port}/metrics")).await
}

/// The value of a sample, by its name and all of its labels.
fn value(text: &str, sample: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(&format!("{sample} ")))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// What the labels of all samples say.
fn label_values(text: &str) -> Vec<&str> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_is_counted_and_no_label_holds_an_id() {
    let world = World::start(Setup::default()).await;
    let first = order(&world, "o1").await;
    let declined = pay(&world, "k-declined", &intent(&world, &first, "main", "pm_decline")).await;
    assert_eq!(declined.text("state"), "Failed", "{}", declined.body);
    let paid = pay(&world, "k-paid", &intent(&world, &first, "main", "pm_ok")).await;
    assert_eq!(paid.text("state"), "Persisted", "{}", paid.body);
    order_in(&world, &first, "Fulfilled").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
    let second = order(&world, "o2").await;
    let asked = pay(&world, "k-lost", &intent(&world, &second, "blind", "pm_lost")).await;
    let review = payment_in(&world, asked.text("id"), &["ManualReview"]).await;
    let _ = world.api.get("/nothing/here").await;

    let worker = until("the backlog is counted", COUNTED, || async {
        let text = metrics(&world, world.worker_metrics).await;
        let open = value(&text, r#"oncepay_open_reviews{reason="outcome_unknown"}"#);
        (open == Some(1.0)).then_some(text)
    })
    .await;
    let ended = |outcome: &str| {
        let sample =
            format!(r#"oncepay_payments_ended_total{{channel="sandbox",outcome="{outcome}"}}"#);
        value(&worker, &sample)
    };
    assert_eq!((ended("paid"), ended("declined")), (Some(1.0), Some(1.0)), "{worker}");
    for sample in [
        r#"oncepay_channel_calls_total{channel="sandbox",operation="charge",outcome="succeeded"}"#,
        r#"oncepay_channel_calls_total{channel="sandbox",operation="charge",outcome="unknown"}"#,
        r#"oncepay_reviews_opened_total{reason="outcome_unknown"}"#,
    ] {
        assert_eq!(value(&worker, sample), Some(1.0), "{sample}\n{worker}");
    }
    let duration =
        r#"oncepay_channel_call_duration_seconds_count{channel="sandbox",operation="charge"}"#;
    assert_eq!(value(&worker, duration), Some(3.0));
    assert_eq!(value(&worker, r#"oncepay_claims_total{ground="first"}"#), Some(3.0));
    assert_eq!(value(&worker, "oncepay_oldest_unknown_age_seconds"), Some(0.0));
    assert!(worker.contains("oncepay_build_info{program=\"worker\""), "{worker}");
    for of_the_sdk in ["temporal_workflow_completed_total", "temporal_worker_task_slots_used"] {
        assert!(worker.contains(of_the_sdk), "{of_the_sdk}\n{worker}");
    }

    let api = metrics(&world, world.api_metrics).await;
    let route = r#"oncepay_http_requests_total{method="POST",route="/v1/payment_intents","#;
    assert!(api.contains(route) && api.contains(r#"route="/v1/payment_intents/{id}""#), "{api}");
    let other = r#"oncepay_http_requests_total{method="GET",route="other",status="404"}"#;
    assert_eq!(value(&api, other), Some(1.0), "{api}");
    assert!(api.contains("oncepay_http_request_duration_seconds_bucket"), "{api}");
    assert!(api.contains("oncepay_build_info{program=\"oncepay\""), "{api}");

    let merchant = world.merchant.as_str();
    let ids = [first.as_str(), &second, paid.text("id"), review.text("review"), "k-paid", "k-lost"];
    for text in [&worker, &api] {
        let ours = text.lines().filter(|line| line.starts_with("oncepay_"));
        for said in label_values(&ours.collect::<Vec<_>>().join("\n")) {
            assert!(!said.contains(merchant), "the merchant is told: {said}");
        }
        for said in label_values(text) {
            let held = ["pay_", "ord_", "rev_", "payment/"].iter().any(|id| said.contains(id));
            assert!(!held && ids.iter().all(|id| !said.contains(id)), "an id is told: {said}");
        }
    }
    world.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_counted_and_told_apart_when_it_waits_too_long() {
    let world = World::start(Setup { ladder_ms: "600000", ..Setup::default() }).await;
    for (key, account) in [("k1", "blind"), ("k2", "lookup-only")] {
        let lost = json!({ "kind": "timeout_after_commit" });
        world.sandbox.fault("charge", json!({ "payment_method": "pm_lost" }), 1, lost).await;
        let order = order(&world, key).await;
        let asked = pay(&world, key, &intent(&world, &order, account, "pm_lost")).await;
        payment_in(&world, asked.text("id"), &["ManualReview", "Unknown"]).await;
    }
    payment_in(&world, &id_of(&world, "k1"), &["ManualReview"]).await;
    let counted = |overdue: f64| {
        let world = &world;
        until("the backlog is counted", COUNTED, move || async move {
            let text = metrics(world, world.worker_metrics).await;
            let of_reviews = |name| value(&text, &format!("{name}{{reason=\"outcome_unknown\"}}"));
            let found = (of_reviews("oncepay_open_reviews"), of_reviews("oncepay_overdue_reviews"));
            (found == (Some(1.0), Some(overdue))).then_some(text)
        })
    };
    let text = counted(0.0).await;
    assert_eq!(value(&text, "oncepay_unknown_payments"), Some(1.0), "{text}");
    assert!(value(&text, "oncepay_oldest_unknown_age_seconds") >= Some(1.0), "{text}");
    let recorded = r#"oncepay_payments_recorded_total{channel="sandbox"}"#;
    assert_eq!(value(&text, recorded), Some(2.0), "{text}");
    assert_eq!(value(&text, "oncepay_database_connections_limit"), Some(20.0), "{text}");
    assert!(value(&text, r#"oncepay_database_connections{state="idle"}"#) >= Some(1.0), "{text}");
    // What is rare is there from the start, or nobody would see that it began.
    for kind in ["broken_rule", "unavailable"] {
        let sample = format!("oncepay_database_errors_total{{kind=\"{kind}\"}}");
        assert_eq!(value(&text, &sample), Some(0.0), "{text}");
    }

    let late = "UPDATE review SET remind_at = clock_timestamp() WHERE state = 'Open'";
    sqlx::query(late).execute(&world.rows).await.expect("writes");
    counted(1.0).await;
    signal(&world, &format!("payment/{}/k2", world.merchant), "wake", &["null"]).await;
    payment_in(&world, &id_of(&world, "k2"), &["Persisted"]).await;
    world.check().await;
}
