//! Activities as somebody might have written them wrongly.

use crate::paths::{AFTER, BEFORE, HAPPY, Path};
use channels::{Channel, ChargeRequest};
use domain::channel::ChargeAnswer;
use domain::{
    Actor, ClaimToken, ConfirmedMoney, Exchange, Money, NotExecutedProof, Operation, PaymentEvent,
    PaymentIntent, PaymentView, Policy, UnixMillis,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use store::exchanges::NotFound;
use store::payments::ClaimRequest;
use store::reads::PaymentRecord;
use store::settle_payment::Confirmation;
use temporalio_sdk::activities::ActivityError;
use tests::inside::{Real, Variant};
use workflows::payment::messages::{
    ChargeInput, ChargeOutput, ChargedRow, FulfilInput, LookupInput, LookupOutput, RowOutput,
};

type Done = Result<Value, ActivityError>;

/// A mistake, the path on which it shows, and the law that must speak of it.
pub struct Mistake {
    pub name: &'static str,
    pub path: &'static Path,
    pub activity: &'static str,
    pub variant: Variant,
    pub law: &'static str,
}

const LOST: Path = Path { account: "careless", fault: Some(("charge", AFTER)), ..HAPPY };
const GONE: Path = Path { account: "careless", fault: Some(("charge", BEFORE)), ..HAPPY };
const REFUSING: Path = Path { account: "lookup-only", ..GONE };
const PLAIN: Path = Path { account: "careless", ..HAPPY };
const DECLINED: Path = Path { account: "careless", method: "pm_decline", ..HAPPY };

/// Every mistake. The merchant is reached at `merchant`.
pub fn mistakes(merchant: &str) -> Vec<Mistake> {
    let merchant = merchant.to_owned();
    let twice = of(move |real, input| hands_over_twice(real, input, merchant.clone()));
    let mistake =
        |name, path, (activity, variant), law| Mistake { name, path, activity, variant, law };
    vec![
        mistake("sent-again-blindly", &LOST, ("charge", of(sends_again)), "L2: "),
        mistake("late-success-dropped", &LOST, ("lookup", of(drops_success)), "L4: "),
        mistake("failed-by-time", &GONE, ("lookup", of(gives_up)), "without a cause on record"),
        mistake("permit-without-proof", &REFUSING, ("lookup", of(claims_proof)), "L2: "),
        mistake("sent-before-the-row", &PLAIN, ("charge", of(sends_first)), "L3: "),
        mistake("sent-after-the-end", &DECLINED, ("charge", of(sends_again)), "after it had ended"),
        mistake("wrong-amount-as-paid", &PLAIN, ("charge", of(charges_less)), "L5: "),
        mistake("fresh-key-each-time", &PLAIN, ("fulfil", twice), "L9: "),
        mistake("goods-without-money", &DECLINED, ("charge", of(hands_over_first)), "L9: "),
        mistake("ended-again-as-paid", &PLAIN, ("charge", of(invents_money)), "L5: "),
    ]
}

fn of<I, F>(variant: impl Fn(Real, I) -> F + Send + Sync + 'static) -> Variant
where
    I: DeserializeOwned + Send + 'static,
    F: Future<Output = Done> + Send + 'static,
{
    Arc::new(move |real, input| {
        let input = serde_json::from_value(input).expect("the activity's input");
        Box::pin(variant(real, input))
    })
}

fn channel<'a>(real: &'a Real, intent: &PaymentIntent) -> &'a Channel {
    real.activities.channels.get(intent.channel, &intent.account).expect("the account")
}

/// Sends a charge, with nothing around it.
async fn send(real: &Real, intent: &PaymentIntent) -> ChargeAnswer {
    let reference = intent.reference(1);
    let request = ChargeRequest {
        intent,
        reference: &reference,
        pay_before: now().after(Duration::from_secs(60)),
        deadline: Instant::now() + Duration::from_secs(2),
    };
    channel(real, intent).charge(&request).await.answer
}

fn now() -> UnixMillis {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}

async fn sends_again(real: Real, input: ChargeInput) -> Done {
    let output = real.run(serde_json::to_value(&input)?).await?;
    send(&real, &input.intent).await;
    Ok(output)
}

async fn sends_first(real: Real, input: ChargeInput) -> Done {
    send(&real, &input.intent).await;
    real.run(serde_json::to_value(&input)?).await
}

async fn hands_over_first(real: Real, input: ChargeInput) -> Done {
    let deadline = Instant::now() + Duration::from_secs(2);
    real.activities.fulfilment.fulfil(&input.intent, deadline).await?;
    real.run(serde_json::to_value(&input)?).await
}

async fn record(real: &Real, intent: &PaymentIntent) -> PaymentRecord {
    let record = real.activities.store.read_payment(&intent.payment_id()).await;
    record.expect("reads").expect("a row")
}

fn lookup_found_nothing(record: &PaymentRecord) -> Exchange {
    Exchange {
        operation: Operation::Lookup,
        started_at: UnixMillis(record.now_ms),
        duration_ms: 1,
        outcome: "not_found".to_owned(),
        transaction: None,
    }
}

/// Settles "not executed" under the row's claim.
async fn not_executed(real: &Real, input: &LookupInput, exchanges: &[Exchange]) -> Done {
    let record = record(real, &input.intent).await;
    let news = Confirmation {
        intent: &input.intent,
        start_before: input.start_before,
        event: PaymentEvent::NotExecuted { proof: NotExecutedProof::LookupAfterGrace },
        actor: &Actor::Lookup,
        token: record.claim_token.as_ref(),
        exchanges,
    };
    let view = real.activities.store.settle(&news).await?.view;
    Ok(serde_json::to_value(LookupOutput { view, proven: None, open: false })?)
}

async fn drops_success(real: Real, input: LookupInput) -> Done {
    channel(&real, &input.intent).lookup(&input.intent.reference(1)).await;
    let exchange = lookup_found_nothing(&record(&real, &input.intent).await);
    not_executed(&real, &input, &[exchange]).await
}

async fn gives_up(real: Real, input: LookupInput) -> Done {
    not_executed(&real, &input, &[]).await
}

/// Writes a proof into the row without having asked anybody.
async fn claims_proof(real: Real, input: LookupInput) -> Done {
    let record = record(&real, &input.intent).await;
    let token = record.claim_token.clone();
    let settled_down = record.send_before_ms.unwrap_or_default() + 60_000;
    let exchange =
        Exchange { started_at: UnixMillis(settled_down), ..lookup_found_nothing(&record) };
    let store = &real.activities.store;
    let recorded =
        store.record_exchange(&input.intent, token.as_ref(), &exchange, NotFound::Complete);
    let view = recorded.await?;
    let proof = NotExecutedProof::LookupAfterGrace;
    let proven = token.map(|token| domain::Proven { proof, token });
    Ok(serde_json::to_value(LookupOutput { view, proven, open: false })?)
}

/// Claims as one must, sends what `changed` makes of the intent, and settles the intent's amount
/// under the transaction that `name` makes of the answer.
async fn charges_wrongly(
    real: Real,
    input: ChargeInput,
    changed: impl Future<Output = ChargeAnswer>,
) -> Done {
    let (intent, store) = (&input.intent, &real.activities.store);
    let capabilities = channel(&real, intent).capabilities();
    let info = real.ctx.info();
    let run = info.workflow_run_id.as_deref().unwrap_or_default();
    let token = ClaimToken::of(run, format_args!("{}.{}", info.activity_id, info.attempt));
    let start_before = input.start_before;
    let claim = ClaimRequest { intent, token: &token, capabilities: &capabilities, start_before };
    store.record_and_claim(&claim).await?;
    let ChargeAnswer::Succeeded { transaction, .. } = changed.await else {
        panic!("the channel takes it")
    };
    let money = ConfirmedMoney { transaction, amount: intent.money };
    let news = Confirmation {
        intent,
        start_before,
        event: PaymentEvent::MoneyConfirmed { money },
        actor: &Actor::ChargeAnswer,
        token: Some(&token),
        exchanges: &[],
    };
    let view = store.settle(&news).await?.view;
    let settings = &real.activities.settings;
    let policy = Policy {
        capabilities,
        ladder_ms: settings.ladder_ms.clone(),
        awaiting_payer_ms: settings.awaiting_payer_ms.clone(),
    };
    Ok(serde_json::to_value(ChargeOutput {
        row: ChargedRow::Row { view },
        unsettled: None,
        policy: Some(policy),
    })?)
}

async fn charges_less(real: Real, input: ChargeInput) -> Done {
    let mut less = input.intent.clone();
    less.money = Money::new(1_998, less.money.currency()).expect("valid");
    let sender = real.clone();
    charges_wrongly(real, input, async move { send(&sender, &less).await }).await
}

async fn invents_money(real: Real, input: ChargeInput) -> Done {
    let transaction = "sbx_invented".to_owned().try_into().expect("valid");
    let answer = ChargeAnswer::Succeeded { transaction, amount: input.intent.money };
    charges_wrongly(real, input, std::future::ready(answer)).await
}

/// Hands the goods over under a key of each try's own, as if the first answer had been lost.
async fn hands_over_twice(real: Real, input: FulfilInput, url: String) -> Done {
    let (intent, store) = (&input.intent, &real.activities.store);
    store.claim_fulfilment(intent).await?;
    for number in 1..=2 {
        let body = json!({
            "merchant": intent.merchant, "order": intent.order, "payment": intent.payment_id(),
            "amount": intent.money.minor_units(), "currency": intent.money.currency(),
        });
        let key = format!("{}-{number}", intent.payment_id());
        let request = reqwest::Client::new().post(&url).header("Idempotency-Key", key);
        request.json(&body).send().await?;
    }
    let view: PaymentView = store.record_fulfilled(intent).await?;
    Ok(serde_json::to_value(RowOutput { view })?)
}
