//! What can happen at an activity, and the plan of what happens at which.

use super::has_passed;
use crate::owner::{cancel, reset, terminate, wake};
use crate::paths::{DOWN, Path, Payment};
use crate::support::SETTLED;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use tests::World;
use tests::inside::{Call, Fate, Gate, Hook};
use tests::wait::until;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    Twice,
    FailedBefore,
    FailedAfter,
    Panicked,
    /// The run is terminated while the activity has not begun, and another one is woken. The
    /// activity of the first begins when the second is at work.
    Terminated,
    /// The run is set back to its first task while the activity has not begun. It begins when the
    /// payment has long come to its end.
    Reset,
    Cancelled,
}

impl Disturbance {
    pub const ALL: [Self; 7] = [
        Self::Twice,
        Self::FailedBefore,
        Self::FailedAfter,
        Self::Panicked,
        Self::Terminated,
        Self::Reset,
        Self::Cancelled,
    ];
}

/// An activity that ran on a path: the n-th of its name.
#[derive(Clone, Debug)]
pub struct Ran {
    pub activity: String,
    number: usize,
    /// It failed, and is not tried again under this number: there is no work to repeat or to lose.
    is_given_up: bool,
}

/// One disturbance of one activity on one path.
pub struct Case {
    pub path: &'static Path,
    pub activity: String,
    pub number: usize,
    pub how: Disturbance,
    gate: Gate,
}

impl Case {
    /// Nothing where the disturbance cannot be. A charge whose answer is in history alone is not
    /// run twice by one attempt: the attempt's claim is its own, and Temporal begins an attempt
    /// once. Run by the next attempt it is [`Disturbance::FailedAfter`].
    pub fn of(path: &'static Path, ran: &Ran, how: Disturbance) -> Option<Self> {
        match how {
            Disturbance::Twice if path.method == DOWN && ran.activity == "charge" => return None,
            Disturbance::Twice | Disturbance::FailedAfter | Disturbance::Panicked
                if ran.is_given_up =>
            {
                return None;
            }
            _ => {}
        }
        let (activity, number) = (ran.activity.clone(), ran.number);
        Some(Self { path, activity, number, how, gate: Gate::default() })
    }

    pub fn key(&self) -> String {
        format!("{}-{}{}-{:?}", self.path.name, self.activity, self.number, self.how)
    }

    fn fate(&self) -> Fate {
        match self.how {
            Disturbance::Twice => Fate::Twice,
            Disturbance::FailedBefore => Fate::FailBefore,
            Disturbance::FailedAfter => Fate::FailAfter,
            Disturbance::Panicked => Fate::PanicAfter,
            Disturbance::Terminated | Disturbance::Reset | Disturbance::Cancelled => {
                Fate::Block(self.gate.clone())
            }
        }
    }
}

/// Does to the workflow what the case says, once its activity waits.
pub async fn act(world: &World, payment: &Payment, case: &Case) {
    let id = &payment.workflow_id;
    if !matches!(case.fate(), Fate::Block(_)) {
        return;
    }
    until(&format!("{} is met", case.key()), SETTLED, || async {
        (case.gate.is_reached() || has_passed(world, payment).await).then_some(())
    })
    .await;
    if case.gate.is_reached() {
        match case.how {
            Disturbance::Terminated => {
                terminate(world, id).await;
                wake(world, id, &payment.input).await;
            }
            Disturbance::Reset => {
                reset(world, id).await;
                until(&format!("{} comes to rest", case.key()), SETTLED, || async {
                    has_passed(world, payment).await.then_some(())
                })
                .await;
            }
            _ => cancel(world, id).await,
        }
    }
    case.gate.open();
}

/// What happens to which activity of which workflow, and what ran.
#[derive(Default)]
pub struct Plan(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    planned: BTreeMap<String, Planned>,
    /// How often an activity of a workflow was begun, its further attempts left out.
    begun: BTreeMap<(String, String), usize>,
    /// The number of each use of an activity, by run and the run's own name for it.
    numbers: BTreeMap<(String, String), usize>,
    ran: BTreeMap<String, Vec<Ran>>,
    runs: BTreeSet<(String, String)>,
    under_way: usize,
}

impl Inner {
    /// 1 for the first use of the activity in any run of the workflow.
    fn number(&mut self, call: &Call) -> usize {
        let begun = self.begun.entry((call.workflow_id.clone(), call.activity.clone()));
        let number = self.numbers.entry((call.run_id.clone(), call.activity_id.clone()));
        *number.or_insert_with(|| {
            let begun = begun.or_default();
            *begun += 1;
            *begun
        })
    }
}

struct Planned {
    activity: String,
    number: usize,
    fate: Fate,
    is_met: bool,
}

impl Plan {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no test has panicked in it")
    }

    pub fn add(&self, workflow_id: String, case: &Case) {
        let (activity, number) = (case.activity.clone(), case.number);
        let planned = Planned { activity, number, fate: case.fate(), is_met: false };
        self.inner().planned.insert(workflow_id, planned);
    }

    pub fn is_met(&self, workflow_id: &str) -> bool {
        self.inner().planned.get(workflow_id).is_some_and(|planned| planned.is_met)
    }

    /// The activities that ran for a workflow, in order.
    pub fn ran(&self, workflow_id: &str) -> Vec<Ran> {
        self.inner().ran.get(workflow_id).cloned().unwrap_or_default()
    }

    /// Every run that had an activity run, by workflow and run.
    pub fn runs(&self) -> BTreeSet<(String, String)> {
        self.inner().runs.clone()
    }

    /// Waits for the attempts that nobody waits for any more.
    pub async fn is_idle(&self) {
        until("every attempt has ended", SETTLED, || async {
            (self.inner().under_way == 0).then_some(())
        })
        .await;
    }
}

impl Hook for Plan {
    fn fate(&self, call: &Call) -> Fate {
        let mut inner = self.inner();
        inner.under_way += 1;
        inner.runs.insert((call.workflow_id.clone(), call.run_id.clone()));
        let number = inner.number(call);
        let Some(planned) = inner.planned.get_mut(&call.workflow_id) else { return Fate::Pass };
        if planned.is_met || planned.activity != call.activity || planned.number != number {
            return Fate::Pass;
        }
        // What is to be done is met when it was done, which may take more than one attempt.
        planned.is_met = matches!(planned.fate, Fate::FailBefore | Fate::Block(_));
        planned.fate.clone()
    }

    fn ended(&self, call: &Call, result: Option<&Value>) {
        let mut inner = self.inner();
        inner.under_way -= 1;
        let number = inner.number(call);
        if let Some(planned) = inner.planned.get_mut(&call.workflow_id) {
            let same = planned.activity == call.activity && planned.number == number;
            planned.is_met |= same && result.is_some();
        }
        if call.attempt == 1 {
            let is_given_up = call.is_local && result.is_none();
            let activity = call.activity.clone();
            let ran = Ran { activity, number, is_given_up };
            inner.ran.entry(call.workflow_id.clone()).or_default().push(ran);
        }
    }
}
