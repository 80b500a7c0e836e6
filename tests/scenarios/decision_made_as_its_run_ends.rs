//! A decision is brought to a run that has nothing else to do: it takes effect after the run saw
//! its row, and before the run ends.

use crate::support::{SETTLED, intent, open_reviews, order, order_in, pay, payment_in, run_ended};
use domain::payment::DeclineClass;
use domain::{Actor, PaymentEvent, PaymentId, UnixMillis};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::settle_payment::Confirmation;
use tests::inside::{CACHED_WORKFLOWS, Call, Fate, Gate, Hook};
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

/// Holds decisions back, and says when the run that they came to has read its row.
#[derive(Default)]
struct Late {
    decision: Gate,
    charged: AtomicBool,
}

impl Hook for Late {
    fn fate(&self, call: &Call) -> Fate {
        if call.activity == "decide_review" {
            Fate::Block(self.decision.clone())
        } else {
            Fate::Pass
        }
    }

    fn ended(&self, call: &Call, _result: Option<&Value>) {
        if call.activity == "charge" && self.decision.is_reached() {
            self.charged.store(true, Ordering::SeqCst);
        }
    }
}

/// The channel denies the money of a payment before its goods have left.
async fn denied(world: &World, id: &str) {
    let id = PaymentId::parse(id).expect("valid");
    let record = world.store.read_payment(&id).await.expect("reads").expect("a row");
    let news = Confirmation {
        intent: &record.intent,
        start_before: UnixMillis(0),
        event: PaymentEvent::Declined { class: DeclineClass::MayPayAgain, code: "no".to_owned() },
        actor: &Actor::Lookup,
        token: record.claim_token.as_ref(),
        exchanges: &[],
    };
    world.store.settle(&news).await.expect("settles");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_goods_leave_once_the_question_is_answered() {
    let world = World::start(Setup { workers: 0, ..Setup::default() }).await;
    let late = Arc::new(Late::default());
    let _worker = world.work_inside(late.clone(), CACHED_WORKFLOWS);
    let order = order(&world, "o1").await;
    let no_answer = json!({ "kind": "drop_connection", "after_commit": false });
    world.sandbox.fault("fulfil", json!({}), 4, no_answer).await;
    let answer = pay(&world, "k1", &intent(&world, &order, "main", "pm_ok")).await;
    let paid = payment_in(&world, answer.text("id"), &["Persisted"]).await;
    denied(&world, paid.text("id")).await;
    assert_eq!(open_reviews(&world, paid.text("id")).await, ["declined_after_money"]);
    let workflow_id = paid.text("workflow_id").to_owned();
    run_ended(&world, &workflow_id).await;
    let paid = payment_in(&world, paid.text("id"), &["Persisted"]).await;

    let path = format!("/v1/reviews/{}/decisions", paid.text("review"));
    let choice = crate::people::confirm_paid(&paid.body["transaction"]);
    let body = json!({ "version": 1, "choice": choice, "reason": "seen in the books" });
    let api = world.api.clone();
    let decision = tokio::spawn(async move { api.post_as(&path, "d1", &body, Some(ALICE)).await });
    until("the run has read its row", SETTLED, || async {
        late.charged.load(Ordering::SeqCst).then_some(())
    })
    .await;
    until("the run has nothing else to do", SETTLED, || async {
        let run = crate::owner::describe(&world, &workflow_id).await;
        let idle = run.pending_workflow_task.is_none() && run.pending_activities.len() == 1;
        idle.then_some(())
    })
    .await;
    late.decision.open();
    let decided = decision.await.expect("the decision is answered");
    assert!(decided.status < 300, "{}", decided.body);
    run_ended(&world, &workflow_id).await;
    assert_eq!(open_reviews(&world, paid.text("id")).await, Vec::<String>::new());
    order_in(&world, &order, "Fulfilled").await;
    assert_eq!(world.sandbox.truth().await.fulfilments().len(), 1);
    world.check().await;
}
