//! A checker that finds nothing proves something only if it finds what is there. Mistakes that
//! somebody might make are put in the place of an activity, or written into the rows; each must be
//! found, by the law that it breaks.

mod variants;

use crate::owner::signal;
use crate::paths::{self, PATHS, Path};
use crate::support::SETTLED;
use domain::PaymentState;
use futures::future::BoxFuture;
use std::sync::Arc;
use tests::World;
use tests::inside::{CACHED_WORKFLOWS, Call, Fate, Hook, Undisturbed};
use tests::settings::SECRET;
use tests::wait::until;
use variants::{Mistake, mistakes};

/// Makes the mistake in every payment that is named after it.
struct Mistaken(Vec<Mistake>);

impl Hook for Mistaken {
    fn fate(&self, call: &Call) -> Fate {
        let made = self.0.iter().find(|mistake| {
            mistake.activity == call.activity && call.workflow_id.ends_with(mistake.name)
        });
        made.map_or(Fate::Pass, |mistake| Fate::Replace(mistake.variant.clone()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_an_activity_are_found() {
    let world = paths::world(None).await;
    let url = world.sandbox.fulfilment_url();
    let hook = Mistaken(mistakes(&url));
    let _worker = world.work_inside(Arc::new(hook), CACHED_WORKFLOWS);
    let mistakes = mistakes(&url);
    let made = mistakes.iter().map(|mistake| make(&world, mistake));
    let traces = futures::future::join_all(made).await;
    let broken = world.broken_laws().await;
    let mut missed = Vec::new();
    for (mistake, traces) in mistakes.iter().zip(traces) {
        let about = |law: &&String| traces.iter().any(|trace| law.contains(trace));
        let found: Vec<_> = broken.iter().filter(about).collect();
        println!("{}: {found:#?}", mistake.name);
        if !found.iter().any(|law| law.contains(mistake.law)) {
            missed.push(format!("{}: not {:?} but {found:?}", mistake.name, mistake.law));
        }
    }
    assert!(missed.is_empty(), "not found:\n{}", missed.join("\n"));
}

/// Gives the names under which a broken law may speak of the payment.
async fn make(world: &World, mistake: &Mistake) -> Vec<String> {
    let payment = paths::begin(world, mistake.path, mistake.name).await;
    paths::rest(world, &payment).await;
    paths::ended(world, &payment).await;
    let truth = world.sandbox.truth().await;
    let reference = payment.intent.reference(1);
    let charges = truth.charges().iter().filter(|c| c["reference"] == reference.as_str());
    let transactions = charges.filter_map(|charge| charge["transaction"].as_str());
    let mut names: Vec<_> = transactions.map(str::to_owned).collect();
    names.push(payment.intent.payment_id().to_string());
    names.push(payment.intent.order.to_string());
    names
}

fn path(name: &str) -> &'static Path {
    PATHS.iter().find(|path| path.name == name).expect("a path")
}

/// Something that must never be in the rows, and how it is taken out again.
struct Tampering {
    sql: &'static str,
    undo: &'static str,
    law: &'static str,
}

const fn tampering(sql: &'static str, undo: &'static str, law: &'static str) -> Tampering {
    Tampering { sql, undo, law }
}

/// Done to the rows of one fulfilled payment that a person confirmed.
const TAMPERINGS: [Tampering; 9] = [
    // A decline of an attempt long dead overwrites the money.
    tampering(
        "UPDATE payment SET state = 'Failed', failure_class = 'declined', effect = NULL,
         transaction_id = NULL, transaction_amount = NULL, transaction_currency = NULL,
         live = false",
        "SET session_replication_role = replica;
         UPDATE payment p SET state = 'Persisted', failure_class = NULL, effect = 'Applied',
         transaction_id = f.transaction_id, transaction_amount = f.amount,
         transaction_currency = f.currency, live = true FROM money_fact f;
         RESET session_replication_role",
        "L4: ",
    ),
    tampering(
        "CREATE TABLE gone AS TABLE money_fact; DELETE FROM money_fact",
        "INSERT INTO money_fact TABLE gone; DROP TABLE gone",
        "L5: ",
    ),
    tampering(
        "UPDATE money_fact SET disposition = 'Surplus'",
        "UPDATE money_fact SET disposition = 'Applied'",
        "L6: ",
    ),
    // Stock is released though it was sold.
    tampering(
        "UPDATE product SET sold = sold - 1, available = available + 1",
        "UPDATE product SET sold = sold + 1, available = available - 1",
        "L10: ",
    ),
    // A decision without its record.
    tampering(
        "UPDATE payment_event SET actor = 'workflow' WHERE actor = 'operator:alice'",
        "UPDATE payment_event SET actor = 'operator:alice' WHERE kind = 'money_confirmed'",
        "L12: alice decided",
    ),
    // A change without its record.
    tampering(
        "CREATE TABLE gone AS SELECT * FROM payment_event WHERE kind = 'answer_lost';
         DELETE FROM payment_event WHERE kind = 'answer_lost'",
        "INSERT INTO payment_event TABLE gone; DROP TABLE gone",
        "L12: ",
    ),
    tampering(
        "CREATE TABLE gone AS SELECT * FROM order_event WHERE to_state = 'Fulfilling';
         DELETE FROM order_event WHERE to_state = 'Fulfilling'",
        "INSERT INTO order_event TABLE gone; DROP TABLE gone",
        "L12: ",
    ),
    // Fulfilled for money that is not the order's.
    tampering(
        "UPDATE customer_order SET goods_total = 1998, payable = 1998",
        "UPDATE customer_order SET goods_total = 1999, payable = 1999",
        "L8: ",
    ),
    tampering(
        "UPDATE review SET decision_reason = current_setting('test.secret')",
        "UPDATE review SET decision_reason = 'the statement'",
        "L15: ",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_writes_into_the_rows_is_found() {
    let world = paths::world(None).await;
    let _worker = world.work_inside(Arc::new(Undisturbed), CACHED_WORKFLOWS);
    let payment = paths::begin(&world, path("person-confirms"), "k1").await;
    paths::rest(&world, &payment).await;
    paths::ended(&world, &payment).await;
    world.check().await;
    for Tampering { sql, undo, law } in TAMPERINGS {
        write(&world, &format!("SET test.secret = '{SECRET}'; {sql}")).await;
        let broken = world.broken_laws().await;
        assert!(broken.iter().any(|found| found.starts_with(law)), "{law}{sql}: {broken:?}");
        write(&world, undo).await;
        world.check().await;
    }
}

fn write<'a>(world: &'a World, sql: &'a str) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&world.rows).await.expect("writes");
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_nobody_will_look_at_and_a_secret_in_its_history_are_found() {
    let world = paths::world(None).await;
    let _worker = world.work_inside(Arc::new(Undisturbed), CACHED_WORKFLOWS);
    let payment = paths::begin(&world, path("payer-leaves"), "k1").await;
    until("the payer is waited for", SETTLED, || async {
        let record = world.store.read_payment(&payment.intent.payment_id()).await.ok()??;
        matches!(record.view.state, PaymentState::AwaitingPayer { .. }).then_some(())
    })
    .await;
    signal(&world, &payment.workflow_id, "wake", &[&format!("{SECRET:?}")]).await;
    write(&world, "UPDATE payment SET attend_by = NULL").await;
    let broken = world.broken_laws().await;
    for law in ["nobody will look", "L15: "] {
        assert!(broken.iter().any(|found| found.contains(law)), "{law}: {broken:?}");
    }
}
