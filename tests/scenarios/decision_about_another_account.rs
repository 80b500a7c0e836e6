//! A run that anybody started under a payment's id names another account. Before a person's "not
//! paid" counts, the payment's own account is asked, and no other.

use crate::owner::terminate;
use crate::people::decide_as;
use crate::support::{intent, order, pay, payment_in};
use serde_json::json;
use std::time::Duration;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

#[tokio::test(flavor = "multi_thread")]
async fn the_accounts_own_word_is_heard() {
    let mut world = World::start(Setup::default()).await;
    let order = order(&world, "o1").await;
    let lost = json!({ "kind": "timeout_after_commit" });
    world.sandbox.fault("charge", json!({}), 1, lost).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "blind", "pm_lost")).await;
    let payment = payment_in(&world, answer.text("id"), &["ManualReview"]).await;
    let stopped = world.workers.remove(0);
    tokio::task::block_in_place(|| assert!(stopped.terminate(Duration::from_secs(30))));
    terminate(&world, payment.text("workflow_id")).await;
    // An account that can neither close nor be asked.
    let mut input = intent(&world, &order, "mute", "pm_lost");
    input["key"] = json!("k1");
    world.start_payment(&input).await;
    let (api, review) = (world.api.clone(), payment.text("review").to_owned());
    let body = json!({
        "version": 1, "reason": "checked by phone",
        "choice": { "kind": "confirm_not_paid", "evidence": "not on the statement" },
    });
    let path = format!("/v1/reviews/{review}/decisions");
    let decision = tokio::spawn(async move { api.post_as(&path, "d1", &body, Some(ALICE)).await });
    until("the decision waits for a worker", Duration::from_secs(5), || async {
        let run = crate::owner::describe(&world, payment.text("workflow_id")).await;
        run.pending_workflow_task.map(|_| ())
    })
    .await;
    tokio::task::block_in_place(|| world.start_worker()).expect("a worker starts");
    decision.await.expect("answered");
    // It may have met the wrong run; decided again, it meets the payment's own.
    let not_paid = json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" });
    let again = decide_as(ALICE, &world, &review, "d2", not_paid).await;
    assert_eq!(again.status, 409, "{}", again.body);
    payment_in(&world, payment.text("id"), &["Persisted"]).await;
    assert_eq!(world.sandbox.truth().await.count("close"), 1);
    world.check().await;
}
