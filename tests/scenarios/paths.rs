//! The ways that a payment can go, each as data, and what people do on them.

use crate::support::{intent, order};
use domain::order::OrderState;
use domain::{PaymentIntent, PaymentState, PaymentView, ReviewId, payment::Effect};
use serde_json::{Value, json};
use std::time::Duration;
use tests::settings::ALICE;
use tests::wait::until;
use tests::{Setup, World};

/// Longest way of a payment to its end, disturbed once, on a busy machine.
const AT_REST: Duration = Duration::from_secs(60);

/// One way that a payment can go.
pub struct Path {
    pub name: &'static str,
    pub account: &'static str,
    /// Decides what the sandbox answers.
    pub method: &'static str,
    /// What goes wrong at the sandbox, once: the operation and the fault.
    pub fault: Option<(&'static str, &'static str)>,
    pub payer: Payer,
    /// Where the payment ends.
    pub ends: &'static str,
}

/// What the payer does when shown how to pay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Payer {
    Pays,
    /// The order closes soon.
    Leaves,
}

pub const AFTER: &str = r#"{"kind":"drop_connection","after_commit":true}"#;
pub const BEFORE: &str = r#"{"kind":"drop_connection","after_commit":false}"#;
const BUSY: &str = r#"{"kind":"error_before_commit","status":503}"#;

pub const HAPPY: Path = Path {
    name: "paid",
    account: "main",
    method: "pm_ok",
    fault: None,
    payer: Payer::Pays,
    ends: "Persisted",
};

/// Every way, each by its name.
pub const PATHS: [Path; 10] = [
    HAPPY,
    Path { name: "paid-fulfilled-later", fault: Some(("fulfil", BUSY)), ..HAPPY },
    Path { name: "declined", method: "pm_decline", ends: "Failed", ..HAPPY },
    Path {
        name: "answer-lost-found",
        account: "lookup-only",
        fault: Some(("charge", AFTER)),
        ..HAPPY
    },
    Path {
        name: "charge-lost-permit",
        account: "lookup-only",
        fault: Some(("charge", BEFORE)),
        ..HAPPY
    },
    Path {
        name: "charge-lost-not-executed",
        account: "careless",
        fault: Some(("charge", BEFORE)),
        ends: "Failed",
        ..HAPPY
    },
    Path { name: "payer-pays", method: "pm_action", ..HAPPY },
    Path {
        name: "payer-leaves",
        method: "pm_action",
        payer: Payer::Leaves,
        ends: "Closed",
        ..HAPPY
    },
    Path { name: "person-confirms", account: "blind", fault: Some(("charge", AFTER)), ..HAPPY },
    Path { name: "database-refuses", account: "lookup-only", method: DOWN, ..HAPPY },
];

/// Begins the payment methods whose answers the database refuses for a while.
pub const DOWN: &str = "pm_down";
/// How long PostgreSQL refuses to write what became of a charge with `pm_down`. It is this
/// payment's own outage, so that others may go on beside it.
const OUTAGE: &str = "CREATE FUNCTION refuse_for_a_while() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.kind <> 'claimed' AND EXISTS (
            SELECT FROM payment WHERE id = NEW.payment_id AND payment_method LIKE 'pm\\_down%'
            AND clock_timestamp() < first_sent_at + interval '3 seconds'
        ) THEN
            RAISE EXCEPTION 'an outage' USING ERRCODE = 'admin_shutdown';
        END IF;
        RETURN NEW;
    END $$";
const OUTAGE_AT: &str = "CREATE TRIGGER refuse_for_a_while BEFORE INSERT ON payment_event
    FOR EACH ROW EXECUTE FUNCTION refuse_for_a_while()";
/// Time enough to be shown how to pay, on a busy machine.
const CLOSE_SOON: &str = "UPDATE customer_order
    SET close_at = clock_timestamp() + interval '15 seconds' WHERE id = $1";

/// A world without a worker of its own, in which every path can be gone.
pub async fn world(merchant: Option<&'static str>) -> World {
    let setup = Setup {
        merchant,
        workers: 0,
        ladder_ms: "100,300,700,1000,1500,1500",
        awaiting_payer_ms: "100,500,15500",
        ..Setup::default()
    };
    let world = World::start(setup).await;
    for sql in [OUTAGE, OUTAGE_AT] {
        sqlx::query(sql).execute(&world.rows).await.expect(sql);
    }
    world
}

/// A payment on its way.
pub struct Payment {
    pub path: &'static Path,
    pub workflow_id: String,
    pub input: Value,
    pub intent: PaymentIntent,
}

/// The id of the workflow that [`begin`] starts.
pub fn workflow_id(world: &World, key: &str) -> String {
    format!("payment/{}/{key}", world.merchant)
}

/// Places an order and starts its payment.
pub async fn begin(world: &World, path: &'static Path, key: &str) -> Payment {
    let order = order(world, key).await;
    if path.payer == Payer::Leaves {
        sqlx::query(CLOSE_SOON).bind(&order).execute(&world.rows).await.expect("closes soon");
    }
    let method = format!("{}-{key}", path.method);
    let mut input = intent(world, &order, path.account, &method);
    input["key"] = json!(key);
    if let Some((operation, fault)) = path.fault {
        let matching = match operation {
            "fulfil" => json!({ "order": order }),
            _ => json!({ "payment_method": method }),
        };
        let fault = serde_json::from_str(fault).expect("a fault is JSON");
        world.sandbox.fault(operation, matching, 1, fault).await;
    }
    let intent = PaymentIntent::from_json(&input).expect("valid");
    let workflow_id = world.start_payment(&input).await;
    Payment { path, workflow_id, input, intent }
}

/// Does what payer and operators do until the payment has come to rest, and gives its row.
pub async fn rest(world: &World, payment: &Payment) -> PaymentView {
    let what = format!("{} comes to rest", payment.workflow_id);
    until(&what, AT_REST, || step(world, payment)).await
}

/// The row of a payment that has come to rest.
pub async fn at_rest(world: &World, payment: &Payment) -> Option<PaymentView> {
    let record = world.store.read_payment(&payment.intent.payment_id()).await.ok()??;
    let view = record.view;
    let rests = match &view.state {
        PaymentState::Failed { .. } | PaymentState::Closed => true,
        PaymentState::Persisted { effect: Effect::Applied, .. } => {
            view.order_state == OrderState::Fulfilled
        }
        PaymentState::Persisted { .. } => view.review.is_some(),
        _ => false,
    };
    rests.then_some(view)
}

async fn step(world: &World, payment: &Payment) -> Option<PaymentView> {
    let record = world.store.read_payment(&payment.intent.payment_id()).await.ok()??;
    let view = record.view;
    match (&view.state, &view.review) {
        (PaymentState::AwaitingPayer { .. }, _) if payment.path.payer == Payer::Pays => {
            pay_at_the_channel(world, payment).await;
        }
        (PaymentState::ManualReview { .. }, Some(review)) => decide(world, payment, review).await,
        _ => return at_rest(world, payment).await,
    }
    None
}

/// Whatever the channel answers: it may be paid already.
async fn pay_at_the_channel(world: &World, payment: &Payment) {
    let (account, reference) = (payment.path.account, payment.intent.reference(1));
    let url = format!("{}/admin/pay/{account}/{reference}", world.sandbox.url());
    let answer = reqwest::Client::new().post(url).send().await.expect("the sandbox answers");
    assert!(matches!(answer.status().as_u16(), 200 | 409), "{}", answer.status());
}

/// A person looks at the channel's statement and says what it says. Asked again until it counts:
/// the run that was asked may have ended meanwhile.
async fn decide(world: &World, payment: &Payment, review: &ReviewId) {
    let review = world.store.read_review(review).await.ok().flatten();
    let Some(review) = review else { return };
    let reference = payment.intent.reference(1);
    let truth = world.sandbox.truth().await;
    let charge = truth.charges().iter().find(|charge| charge["reference"] == reference.as_str());
    let choice = match charge {
        Some(charge) => json!({
            "kind": "confirm_paid", "transaction": charge["transaction"],
            "amount": charge["amount"], "currency": charge["currency"], "evidence": "line 7",
        }),
        None => json!({ "kind": "confirm_not_paid", "evidence": "not on the statement" }),
    };
    let body = json!({ "version": review.version, "choice": choice, "reason": "the statement" });
    let path = format!("/v1/reviews/{}/decisions", review.id);
    let key = format!("d-{}", review.id);
    world.api.post_as(&path, &key, &body, Some(ALICE)).await;
}

/// Waits until no run of the payment's workflow is left.
pub async fn ended(world: &World, payment: &Payment) {
    until(&format!("{} has ended", payment.workflow_id), AT_REST, || async {
        let described = crate::owner::describe(world, &payment.workflow_id).await;
        described.workflow_execution_info?.close_time.map(|_| ())
    })
    .await;
}
