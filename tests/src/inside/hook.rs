//! What a test may do to an activity, from outside the product.

use activities::PaymentActivities;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::watch;

/// One attempt of an activity that is about to run.
#[derive(Clone, Debug)]
pub struct Call {
    pub activity: String,
    pub workflow_id: String,
    pub run_id: String,
    /// What the run calls this one use of the activity; its attempts share it.
    pub activity_id: String,
    /// From 1 on; a local activity has attempts of its own.
    pub attempt: u32,
    pub is_local: bool,
}

/// What becomes of the attempt.
#[derive(Clone)]
pub enum Fate {
    /// The real activity runs, and nothing is disturbed.
    Pass,
    /// It runs, and then again with the same input. Both succeed, or the attempt fails; the
    /// second's result counts.
    Twice,
    /// The attempt fails before anything is done.
    FailBefore,
    /// Everything is done, and nobody hears of it.
    FailAfter,
    /// Everything is done, and then the attempt panics.
    PanicAfter,
    /// It begins when the gate is opened, whatever has happened meanwhile.
    Block(Gate),
    /// Something else runs in its place: a mistake that somebody might make.
    Replace(Variant),
}

/// What runs in the place of an activity: the real one and its input in, a result out.
pub type Variant =
    Arc<dyn Fn(Real, Value) -> BoxFuture<'static, Result<Value, ActivityError>> + Send + Sync>;

/// Asked before every attempt of every activity.
pub trait Hook: Send + Sync + 'static {
    fn fate(&self, call: &Call) -> Fate;

    /// The attempt has ended, with what was really done in it; `None` when that failed.
    fn ended(&self, _call: &Call, _result: Option<&Value>) {}
}

/// A hook that disturbs nothing.
pub struct Undisturbed;

impl Hook for Undisturbed {
    fn fate(&self, _call: &Call) -> Fate {
        Fate::Pass
    }
}

type Run = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, ActivityError>> + Send + Sync>;

/// The real activity, and what it works with.
#[derive(Clone)]
pub struct Real {
    pub activities: Arc<PaymentActivities>,
    pub ctx: ActivityContext,
    pub(super) run: Run,
}

impl Real {
    /// Runs the real activity.
    ///
    /// # Errors
    /// Those of the activity.
    pub async fn run(&self, input: Value) -> Result<Value, ActivityError> {
        (self.run)(input).await
    }
}

/// Where an attempt waits until it is told to go on.
#[derive(Clone)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    reached: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            open: Arc::new(watch::Sender::new(false)),
            reached: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl Gate {
    /// Lets whoever waits go on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Whether an attempt waits here, or has waited.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        *self.reached.borrow()
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.reached.send_replace(true);
        // Cannot fail while `self` holds the sender.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
