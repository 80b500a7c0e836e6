//! A worker inside the test process: the product's workflow, and the product's activities behind a
//! [`Hook`] that may disturb each attempt. The product knows nothing of it.

mod hook;

pub use hook::{Call, Fate, Gate, Hook, Real, Undisturbed, Variant};

use crate::World;
use crate::settings::DECISION_KEY;
use activities::{PaymentActivities, Settings};
use anyhow::{Context, Result};
use channels::fulfilment::Fulfilment;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use store::Store;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError, ExecutableActivity};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use workflows::contract::definitions as contract;
use workflows::payment::PaymentWorkflow;
use workflows::payment::messages::{
    ChargeInput, ChargeOutput, DecideInput, DecideOutput, FulfilInput, FulfilOutput, LookupInput,
    LookupOutput, PersistInput, RowOutput,
};

/// As in the worker process.
const STICKY_LIMIT: Duration = Duration::from_secs(1);
const DRAIN_LIMIT: Duration = Duration::from_secs(35);
const POLLERS: usize = 10;
/// As many workflows as the worker process keeps in its cache.
pub const CACHED_WORKFLOWS: usize = 1_000;
const CONNECTIONS: u32 = 20;
const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A worker that runs on a thread of its own until it is dropped.
pub struct Inside {
    shut_down: Box<dyn Fn() + Send + Sync>,
    ended: mpsc::Receiver<()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        (self.shut_down)();
        let _ = self.ended.recv_timeout(STOP_LIMIT);
    }
}

impl World {
    /// Runs this world's workflows and activities in the test process, put together like the worker
    /// process.
    ///
    /// # Panics
    /// When the worker does not start.
    pub fn work_inside(&self, hook: Arc<dyn Hook>, cached_workflows: usize) -> Inside {
        let place = Place {
            temporal: self.temporal_url(),
            task_queue: self.task_queue.clone(),
            database: self.database_url("oncepay_worker"),
            sandbox: self.sandbox.url(),
            accounts: self.setup.accounts().to_string(),
            fulfilment: self.sandbox.fulfilment_url(),
            ladder_ms: waits(self.setup.ladder_ms),
            awaiting_payer_ms: waits(self.setup.awaiting_payer_ms),
            four_eyes_above: self.setup.four_eyes_above,
            cached_workflows,
        };
        let (started, starting) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime");
            let result = runtime.block_on(place.work(hook, &started));
            if let Err(error) = result {
                let _ = started.send(Err(error));
            }
            runtime.shutdown_background();
            let _ = ending.send(());
        });
        let starting = || starting.recv_timeout(START_LIMIT);
        let shut_down = tokio::task::block_in_place(starting)
            .expect("the worker starts in time")
            .expect("the worker starts");
        Inside { shut_down, ended }
    }
}

type ShutDown = Box<dyn Fn() + Send + Sync>;

/// What a worker is given at its start.
struct Place {
    temporal: String,
    task_queue: String,
    database: String,
    sandbox: String,
    accounts: String,
    fulfilment: String,
    ladder_ms: Vec<u64>,
    awaiting_payer_ms: Vec<u64>,
    four_eyes_above: &'static str,
    cached_workflows: usize,
}

impl Place {
    async fn work(
        self,
        hook: Arc<dyn Hook>,
        started: &mpsc::Sender<Result<ShutDown>>,
    ) -> Result<()> {
        let store = Store::connect_for_payments(&self.database, CONNECTIONS)?;
        let key = hex::decode(DECISION_KEY).context("the decision key is hex")?;
        let real = Arc::new(PaymentActivities {
            store: store.clone(),
            channels: channels::sandbox::accounts(&self.sandbox, &self.accounts)?,
            fulfilment: Fulfilment::new(&self.fulfilment)?,
            settings: Settings {
                ladder_ms: self.ladder_ms,
                awaiting_payer_ms: self.awaiting_payer_ms,
                decision_key: key,
                four_eyes: self.four_eyes_above.parse().context("the four-eyes limits")?,
            },
        });
        let options = WorkerOptions::new(self.task_queue)
            .register_activities(HookedActivities { real, hook })
            .activity_inbound_interceptor(activities::trace::Traced)
            .register_workflow::<PaymentWorkflow>()?
            .workflow_interceptor(workflows::trace::carrier())
            .max_cached_workflows(self.cached_workflows)
            .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLERS))
            .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLERS))
            .sticky_queue_schedule_to_start_timeout(STICKY_LIMIT)
            .graceful_shutdown_period(DRAIN_LIMIT)
            .build();
        let address = url::Url::parse(&self.temporal)?;
        let connection = ConnectionOptions::new(address).identity("inside").build();
        let connection = Connection::connect(connection).await?;
        let client = ClientOptions::new(dev::temporal::NAMESPACE).build();
        let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
        let mut worker = Worker::new(&runtime, Client::new(connection, client)?, options)?;
        started.send(Ok(Box::new(worker.shutdown_handle())))?;
        worker.run().await?;
        store.close().await;
        Ok(())
    }
}

fn waits(text: &str) -> Vec<u64> {
    text.split(',').map(|wait| wait.parse().expect("a wait in milliseconds")).collect()
}

/// The product's activities, each behind the hook.
pub struct HookedActivities {
    real: Arc<PaymentActivities>,
    hook: Arc<dyn Hook>,
}

#[activities]
#[expect(clippy::missing_errors_doc, reason = "the real activity's errors, or the hook's")]
impl HookedActivities {
    #[activity(definition = contract::Charge)]
    pub async fn charge(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: ChargeInput,
    ) -> Result<ChargeOutput, ActivityError> {
        self.hooked(PaymentActivities::charge, ctx, input).await
    }

    #[activity(definition = contract::Lookup)]
    pub async fn lookup(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: LookupInput,
    ) -> Result<LookupOutput, ActivityError> {
        self.hooked(PaymentActivities::lookup, ctx, input).await
    }

    #[activity(definition = contract::Persist)]
    pub async fn persist(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: PersistInput,
    ) -> Result<RowOutput, ActivityError> {
        self.hooked(PaymentActivities::persist, ctx, input).await
    }

    #[activity(definition = contract::Fulfil)]
    pub async fn fulfil(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: FulfilInput,
    ) -> Result<FulfilOutput, ActivityError> {
        self.hooked(PaymentActivities::fulfil, ctx, input).await
    }

    #[activity(definition = contract::DecideReview)]
    pub async fn decide_review(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: DecideInput,
    ) -> Result<DecideOutput, ActivityError> {
        self.hooked(PaymentActivities::decide_review, ctx, input).await
    }
}

impl HookedActivities {
    /// Runs one attempt as the hook wants it. `_real` names the activity.
    async fn hooked<A>(
        &self,
        _real: A,
        ctx: ActivityContext,
        input: A::Input,
    ) -> Result<A::Output, ActivityError>
    where
        A: ExecutableActivity<Implementer = PaymentActivities>,
        A::Input: Serialize + DeserializeOwned,
        A::Output: Serialize + DeserializeOwned,
    {
        let call = call(&ctx);
        let input = serde_json::to_value(input)?;
        let real = real::<A>(self.real.clone(), ctx);
        let fate = self.hook.fate(&call);
        let done = perform(&fate, real, input).await;
        self.hook.ended(&call, done.as_ref().ok());
        match fate {
            Fate::FailAfter => Err(disturbed("whatever was done is not heard of")),
            Fate::PanicAfter => panic!("a scenario: whatever was done is not heard of"),
            _ => Ok(serde_json::from_value(done?)?),
        }
    }
}

/// What really happens in the attempt, whoever hears of it.
async fn perform(fate: &Fate, real: Real, input: Value) -> Result<Value, ActivityError> {
    match fate {
        Fate::Pass | Fate::FailAfter | Fate::PanicAfter => real.run(input).await,
        Fate::Twice => {
            real.run(input.clone()).await?;
            real.run(input).await
        }
        Fate::FailBefore => Err(disturbed("nothing was done")),
        Fate::Block(gate) => {
            gate.pass().await;
            real.run(input).await
        }
        Fate::Replace(variant) => variant(real, input).await,
    }
}

fn call(ctx: &ActivityContext) -> Call {
    let info = ctx.info();
    Call {
        activity: info.activity_type.clone(),
        workflow_id: info.workflow_id.clone().unwrap_or_default(),
        run_id: info.workflow_run_id.clone().unwrap_or_default(),
        activity_id: info.activity_id.clone(),
        attempt: info.attempt,
        is_local: info.is_local,
    }
}

fn real<A>(activities: Arc<PaymentActivities>, ctx: ActivityContext) -> Real
where
    A: ExecutableActivity<Implementer = PaymentActivities>,
    A::Input: DeserializeOwned,
    A::Output: Serialize,
{
    let (implementer, context) = (activities.clone(), ctx.clone());
    let run = Arc::new(move |input| {
        let (implementer, context) = (implementer.clone(), context.clone());
        let run: futures::future::BoxFuture<'static, _> = Box::pin(async move {
            let input = serde_json::from_value(input)?;
            let output = A::execute(Some(implementer), context, input).await?;
            Ok(serde_json::to_value(output)?)
        });
        run
    });
    Real { activities, ctx, run }
}

/// A failure that is tried again.
fn disturbed(what: &str) -> ActivityError {
    ApplicationFailure::builder(anyhow::anyhow!("a test's own failure: {what}"))
        .type_name("disturbed".to_owned())
        .build()
        .into()
}
