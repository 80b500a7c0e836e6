//! Many payments at once. Requests, answers and commits are lost in every way that the sandbox and
//! a proxy know, workers and Temporal are killed, runs are terminated, reset, cancelled and woken.
//! Once it is over, payers pay or leave and people decide by what the channel really did; then
//! every law must hold.
//!
//! What is done to whom comes from one number, which `ONCEPAY_STORM_SEED` sets; when it is done is
//! the machine's affair.

use crate::owner::{execution, namespace};
use crate::support::{SETTLED, id_of, intent, open_reviews, order, order_in, reference_of};
use fastrand::Rng;
use futures::StreamExt;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::workflowservice::v1 as requests;
use tests::settings::{ALICE, BOB};
use tests::wait::until;
use tests::{Setup, World};
use tokio::task::JoinHandle;
use tonic::Request;

const SEED: u64 = 20_261_201;
const ORDERS: usize = 30;
const AT_ONCE: usize = 10;
const MOST_REQUESTS: usize = 30;
const STORM: Duration = Duration::from_secs(12);
const BETWEEN_BLOWS: Duration = Duration::from_millis(150);
/// So long no request is on its way, however busy this machine is.
const GRACE_MS: u64 = 3_000;
const DARK: Duration = Duration::from_millis(700);
/// Rounds of waking, paying and deciding after the storm, and the time that each is given.
const ROUNDS: usize = 30;
const BETWEEN_ROUNDS: Duration = Duration::from_secs(4);

const ACCOUNTS: [&str; 7] =
    ["main", "lookup-only", "careless", "resend-only", "blind", "unclosable", "mute"];
const METHODS: [&str; 6] = ["pm_ok", "pm_ok", "pm_ok", "pm_decline", "pm_action", "pm_action"];

fn faults_of_charges() -> [Value; 9] {
    [
        json!({ "kind": "timeout_before_commit" }),
        json!({ "kind": "timeout_after_commit" }),
        json!({ "kind": "error_before_commit", "status": 500, "body": "html" }),
        json!({ "kind": "error_after_commit", "status": 502, "body": "html" }),
        json!({ "kind": "drop_connection", "after_commit": true }),
        json!({ "kind": "drop_connection", "after_commit": false }),
        json!({ "kind": "unsigned" }),
        json!({ "kind": "refused" }),
        json!({ "kind": "maintenance_page" }),
    ]
}

fn faults_of_others() -> [Value; 5] {
    [
        json!({ "kind": "timeout_before_commit" }),
        json!({ "kind": "error_before_commit", "status": 503 }),
        json!({ "kind": "error_after_commit", "status": 500 }),
        json!({ "kind": "drop_connection", "after_commit": true }),
        json!({ "kind": "maintenance_page" }),
    ]
}

/// One payment to be: its key, its order and what is asked for.
struct Wanted {
    key: String,
    body: Value,
}

impl Wanted {
    fn account(&self) -> &str {
        self.body["account"].as_str().unwrap_or_default()
    }

    fn workflow(&self, world: &World) -> String {
        format!("payment/{}/{}", world.merchant, self.key)
    }
}

/// Plans for every order a payment or two, and for most of them a misfortune.
async fn plan(world: &World, random: &mut Rng) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for number in 0..ORDERS {
        let order = order(world, &format!("o{number}")).await;
        for attempt in 0..random.usize(1..=2) {
            let key = format!("k{number}-{attempt}");
            let account = random.choice(ACCOUNTS).unwrap_or("main");
            // Each payment has a method of its own, by which its faults are told from others'.
            let method = format!("{}-{key}", random.choice(METHODS).unwrap_or("pm_ok"));
            let own = json!({ "payment_method": method });
            for (operation, faults) in [
                ("charge", &faults_of_charges()[..]),
                ("lookup", &faults_of_others()[..]),
                ("close", &faults_of_others()[..]),
            ] {
                if let (true, Some(fault)) = (random.u8(..100) < 60, random.choice(faults)) {
                    let times = random.u32(1..=2);
                    world.sandbox.fault(operation, own.clone(), times, fault.clone()).await;
                }
            }
            wanted.push(Wanted { key, body: intent(world, &order, account, &method) });
        }
        if let (true, Some(fault)) = (random.bool(), random.choice(faults_of_others())) {
            world.sandbox.fault("fulfil", json!({ "order": order }), 1, fault).await;
        }
    }
    random.shuffle(&mut wanted);
    wanted
}

/// Somebody does something to a run or to a worker. That it comes too late is no failure.
async fn blow(world: &mut World, random: &mut Rng, wanted: &[Wanted]) {
    let victim = &wanted[random.usize(..wanted.len())];
    let workflow_id = victim.workflow(world);
    let execution = Some(execution(&workflow_id));
    let mut service = world.client.connection().workflow_service();
    match random.u8(..100) {
        0..30 => {
            let request = requests::TerminateWorkflowExecutionRequest {
                namespace: namespace(),
                workflow_execution: execution,
                ..Default::default()
            };
            let _ = service.terminate_workflow_execution(Request::new(request)).await;
        }
        30..45 => {
            let request = requests::ResetWorkflowExecutionRequest {
                namespace: namespace(),
                workflow_execution: execution,
                workflow_task_finish_event_id: crate::owner::FIRST_TASK_ENDED,
                request_id: format!("{}", random.u64(..)),
                ..Default::default()
            };
            let _ = service.reset_workflow_execution(Request::new(request)).await;
        }
        45..52 => cancel(world, &workflow_id).await,
        52..80 => resume(world, &victim.key).await,
        80..91 => disturb_the_database(world, random).await,
        91..93 => {
            if let Some(temporal) = &mut world.temporal {
                temporal.kill_9();
                tokio::task::block_in_place(|| temporal.restart()).expect("Temporal starts");
            }
        }
        _ => tokio::task::block_in_place(|| {
            world.kill_workers();
            world.start_worker().expect("a worker starts");
        }),
    }
}

/// A commit whose answer is lost; or for a moment no connection at all.
async fn disturb_the_database(world: &World, random: &mut Rng) {
    let proxy = world.proxy.as_ref().expect("a proxy");
    if random.u8(..3) > 0 {
        proxy.lose_a_commit_answer(random.u32(..8));
    } else {
        proxy.set_open(false);
        tokio::time::interval_at(tokio::time::Instant::now() + DARK, DARK).tick().await;
        proxy.set_open(true);
    }
}

async fn cancel(world: &World, workflow_id: &str) {
    let request = requests::RequestCancelWorkflowExecutionRequest {
        namespace: namespace(),
        workflow_execution: Some(execution(workflow_id)),
        ..Default::default()
    };
    let mut service = world.client.connection().workflow_service();
    let _ = service.request_cancel_workflow_execution(Request::new(request)).await;
}

async fn resume(world: &World, key: &str) {
    let path = format!("/v1/payment_intents/{}/resume", id_of(world, key));
    world.api.post_as(&path, key, &json!({}), Some(ALICE)).await;
}

/// Everybody does what is theirs, until nothing is left to do: payers pay or leave, people decide
/// by the channel's own books, and operators wake what rests.
async fn clear_up(world: &World, wanted: &[Wanted], random: &mut Rng) -> Vec<String> {
    let mut restless = Vec::new();
    let mut pace = tokio::time::interval(BETWEEN_ROUNDS);
    for round in 0..ROUNDS {
        pace.tick().await;
        restless.clear();
        for one in wanted {
            let path = format!("/v1/payment_intents/{}", id_of(world, &one.key));
            let payment = world.api.get(&path).await;
            match payment.text("state") {
                // Refused before it was recorded, or ended.
                "" | "Failed" | "Closed" | "Persisted" => continue,
                // Some leave, where the channel can be told that they did.
                "AwaitingPayer" if one.account() != "unclosable" && random.bool() => {
                    cancel(world, &one.workflow(world)).await;
                }
                "AwaitingPayer" => {
                    let reference = reference_of(world, &one.key);
                    world.sandbox.try_pay(one.account(), &reference).await;
                }
                "ManualReview" => decide(world, &payment.body, round).await,
                _ => {}
            }
            resume(world, &one.key).await;
            let why = world.api.get(&format!("{path}/explain")).await;
            restless.push(format!("{} at {}: {}", one.key, one.account(), why.body));
        }
        if restless.is_empty() {
            break;
        }
    }
    restless
}

/// Two people say of a payment whose outcome is unknown what the channel knows of it.
async fn decide(world: &World, payment: &Value, round: usize) {
    let path = format!("/v1/reviews/{}", payment["review"].as_str().unwrap_or_default());
    let review = world.api.get(&path).await;
    let truth = world.sandbox.truth().await;
    let reference = review.text("reference");
    let charge = truth.charges().iter().find(|charge| charge["reference"] == reference);
    let choice = match charge {
        Some(charge) => json!({
            "kind": "confirm_paid", "transaction": charge["transaction"],
            "amount": charge["amount"], "currency": charge["currency"], "evidence": "the books",
        }),
        None => json!({ "kind": "confirm_not_paid", "evidence": "the books" }),
    };
    let body = json!({ "version": review.body["version"], "choice": choice, "reason": "seen" });
    let path = format!("/v1/reviews/{}/decisions", review.text("id"));
    for (name, token) in [("a", ALICE), ("b", BOB)] {
        let key = format!("{name}-{}-{round}", review.text("id"));
        world.api.post_as(&path, &key, &body, Some(token)).await;
    }
}

fn seed() -> u64 {
    let set = std::env::var("ONCEPAY_STORM_SEED").ok();
    set.map_or(SEED, |seed| seed.parse().expect("ONCEPAY_STORM_SEED is a number"))
}

/// Everybody pays, some at a time; gives what they were answered.
fn pay_all(world: &World, wanted: &[Wanted]) -> JoinHandle<Vec<u16>> {
    let api = world.api.clone();
    let requests: Vec<_> = wanted.iter().map(|one| (one.key.clone(), one.body.clone())).collect();
    tokio::spawn(async move {
        futures::stream::iter(requests)
            .map(|(key, body)| {
                let api = api.clone();
                // Whoever is told that nothing could begin asks again under the same key.
                async move {
                    let mut pace = tokio::time::interval(BETWEEN_BLOWS);
                    let mut status = 503;
                    for _ in 0..MOST_REQUESTS {
                        pace.tick().await;
                        status = api.post("/v1/payment_intents", &key, &body).await.status;
                        if status != 503 {
                            break;
                        }
                    }
                    status
                }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    })
}

async fn goods_leave(world: &World, wanted: &[Wanted]) {
    for one in wanted {
        let id = id_of(world, &one.key);
        let payment = world.api.get(&format!("/v1/payment_intents/{id}")).await;
        if payment.text("effect") == "Applied" && open_reviews(world, &id).await.is_empty() {
            resume(world, &one.key).await;
            order_in(world, payment.text("order"), "Fulfilled").await;
        }
    }
}

/// A run at another Temporal has not heard what came of its payment at this one.
async fn everybody_rests(client: &Client, world: &World, wanted: &[Wanted]) {
    for one in wanted {
        let workflow_id = one.workflow(world);
        let request = requests::SignalWorkflowExecutionRequest {
            namespace: namespace(),
            workflow_execution: Some(execution(&workflow_id)),
            signal_name: "wake".to_owned(),
            ..Default::default()
        };
        let mut service = client.connection().workflow_service();
        let _ = service.signal_workflow_execution(Request::new(request)).await;
        until(&format!("{workflow_id} rests"), SETTLED, || async {
            let request = requests::DescribeWorkflowExecutionRequest {
                namespace: namespace(),
                execution: Some(execution(&workflow_id)),
            };
            let mut service = client.connection().workflow_service();
            match service.describe_workflow_execution(Request::new(request)).await {
                Ok(run) => run.into_inner().workflow_execution_info?.close_time.map(|_| ()),
                // Temporal was away when somebody wanted to start it, and told them so.
                Err(status) => (status.code() == tonic::Code::NotFound).then_some(()),
            }
        })
        .await;
    }
}

async fn storm(setup: Setup, fleets: usize) {
    let mut random = Rng::with_seed(seed());
    let setup = Setup { workers: 2, proxy: true, grace_ms: GRACE_MS, ..setup };
    let mut world = World::start(setup).await;
    let wanted = plan(&world, &mut random).await;
    let mut others = Vec::new();
    for _ in 1..fleets {
        let other = world.second_fleet().await.expect("a second fleet");
        for one in &wanted {
            let mut input = one.body.clone();
            input["key"] = json!(one.key);
            world.start_payment_at(&other.client, &input).await;
        }
        others.push(other);
    }
    let paying = pay_all(&world, &wanted);
    let (begun, mut pace) = (Instant::now(), tokio::time::interval(BETWEEN_BLOWS));
    while begun.elapsed() < STORM || !paying.is_finished() {
        blow(&mut world, &mut random, &wanted).await;
        pace.tick().await;
    }
    let answers = paying.await.expect("everybody is answered");
    assert!(answers.iter().all(|status| *status < 500 || *status == 503), "{answers:?}");
    world.sandbox.end_faults().await;

    let restless = clear_up(&world, &wanted, &mut random).await;
    assert!(restless.is_empty(), "seed {}: {}", seed(), restless.join("\n"));
    goods_leave(&world, &wanted).await;
    for client in others.iter().map(|other| &other.client).chain([&world.client]) {
        everybody_rests(client, &world, &wanted).await;
    }
    world.check().await;
    let truth = world.sandbox.truth().await;
    assert!(truth.charges().len() >= ORDERS / 6, "many orders are paid in the end");
    assert!(truth.count("lookup") >= ORDERS / 6, "many answers were lost");
    assert!(crate::people::recorded(&world, "Decided").await > 0, "people were asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_every_law_holds_in_the_end() {
    storm(Setup { own_temporal: true, ..Setup::default() }, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_where_two_temporals_work_on_the_same_payments() {
    storm(Setup::default(), 2).await;
}
