//! One payment, from its intent to its end: decide, perform, apply.
//!
//! [`PaymentWorkflow::run`] asks the row what to do next ([`domain::PaymentView::next_action`]),
//! has it done by an activity, takes the row that comes back, and asks again. It never charges but
//! through the activity `charge`, which never sends but under a claim in the row. A run may be
//! terminated, reset or started anew at any point: the next run begins with the row.

#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    reason = "the signatures of a workflow's methods are the macro's"
)]

pub mod messages;
pub mod options;
mod pause;
mod publish;
mod refusal;
mod row;
mod words;

use crate::contract::PaymentActivities;
use crate::raw;
use domain::{
    Action, Actor, ClaimToken, ConfirmedMoney, Facts, PaymentEvent, PaymentIntent, PaymentState,
    PaymentView, Policy, Proven, UnixMillis,
};
use messages::{
    ChargeInput, DecideInput, DecideOutput, DecideReview, FulfilInput, LookupInput, News,
    PaymentResult, PersistInput, Refusal, Waiting,
};
use pause::{Rung, pause};
use publish::{publish, publish_end, tell};
use refusal::{activity_refused, read_intent, refused};
use row::adopt;
use std::time::SystemTime;
use temporalio_common::data_converters::RawValue;
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{
    SyncWorkflowContext, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    WorkflowContextView, WorkflowResult, WorkflowTermination,
};

type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// The owner of one payment: nobody else talks to its channel or fulfils it.
#[workflow]
pub struct PaymentWorkflow {
    intent: Result<PaymentIntent, Refusal>,
    start_before: UnixMillis,
    view: Option<PaymentView>,
    policy: Option<Policy>,
    /// An answer of the channel that is in history and not yet in the row.
    unsettled: Option<News>,
    proven: Option<Proven>,
    /// The row did not let another request go, although the last one was proved not executed.
    repeat_refused: bool,
    /// The last lookup said that the payer may still pay.
    open: bool,
    /// Lookups and repeated charges since the payment came into its present state.
    rungs_done: u32,
    /// Attempts to close since then.
    closes_tried: u32,
    /// The run was cancelled: the payment is to be closed at the channel.
    close_asked: bool,
    /// How often a row was taken: whether one came since a question was asked.
    rows_taken: u32,
    /// Money that the row had and has no more: PostgreSQL came back older.
    forgotten: Option<ConfirmedMoney>,
    /// The row as the search attributes tell it; they are silent on the happy path.
    published: Option<PaymentView>,
    /// How often somebody wrote to the row or asked to look again, and for how many of these the
    /// row was looked at since.
    wakes: u32,
    wakes_answered: u32,
    /// How often somebody decided about the payment, or tried to.
    decisions: u32,
    /// What the run waits for, for whoever asks.
    waiting: Waiting,
}

#[workflow_methods]
impl PaymentWorkflow {
    #[init]
    pub fn new(ctx: &WorkflowContextView, input: RawValue) -> Self {
        let started = ctx.start_time().unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            intent: read_intent(ctx.workflow_id(), &input),
            start_before: unix_millis(started).after(messages::START_WITHIN),
            view: None,
            policy: None,
            unsettled: None,
            proven: None,
            repeat_refused: false,
            open: false,
            rungs_done: 0,
            closes_tried: 0,
            close_asked: false,
            rows_taken: 0,
            forgotten: None,
            published: None,
            wakes: 0,
            wakes_answered: 0,
            decisions: 0,
            waiting: Waiting { details: words::BEGINNING.to_owned(), until_ms: None },
        }
    }

    /// Runs until nothing is left to do. Completes whatever the business outcome is; fails, with a
    /// typed code, only when nothing was recorded.
    #[run(name = "PaymentWorkflow")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<PaymentResult> {
        let result = own_payment(ctx).await;
        // Also when the intent was refused: whoever decides in this run gets their answer.
        handlers_finished(ctx).await?;
        result
    }

    /// Look at the row again, now. Whoever wrote to it sends this; its argument is not read.
    #[signal(name = "wake")]
    pub fn wake(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _input: RawValue) {
        self.wakes = self.wakes.saturating_add(1);
    }

    /// A person's decision about an open review of this payment.
    #[update(name = "decide_review")]
    pub async fn decide_review(
        ctx: &mut WorkflowContext<Self>,
        input: RawValue,
    ) -> Result<DecideOutput, HandlerError> {
        let decision: DecideReview = raw::parse(&input)?;
        let intent = ctx.state(|s| s.intent.clone()).map_err(|refusal| refusal.message)?;
        let input = DecideInput { intent, decision };
        // Only about a payment that was recorded is there anything to decide.
        let asked = ctx.state_mut(|s| {
            s.decisions = s.decisions.saturating_add(1);
            s.rows_taken
        });
        let output =
            ctx.execute_activity(PaymentActivities::decide_review, input, options::ask()).await?;
        if let Some(view) = output.view() {
            adopt(ctx, view, asked);
        } else if output.may_have_told_of_money() {
            ctx.state_mut(|s| s.wakes = s.wakes.saturating_add(1));
        }
        Ok(output)
    }

    #[update_validator(decide_review)]
    fn can_decide(&self, _ctx: &WorkflowContextView, input: &RawValue) -> Result<(), HandlerError> {
        let _: DecideReview = raw::parse(input)?;
        self.intent.as_ref().map(|_| ()).map_err(|refusal| refusal.message.clone().into())
    }

    /// The payment as this run knows it: Succeeded while history has money that the row has not.
    /// Where the row answers, it is the truth.
    #[query(name = "payment")]
    pub fn payment(&self, _ctx: &WorkflowContextView) -> Option<PaymentView> {
        let view = self.view.clone()?;
        match self.unsettled.as_ref().map(|news| &news.event) {
            Some(PaymentEvent::MoneyConfirmed { money }) => Some(PaymentView {
                state: PaymentState::Succeeded { money: money.clone() },
                ..view
            }),
            _ => Some(view),
        }
    }

    /// What this run waits for now: the words of its current details.
    #[query(name = "waiting")]
    pub fn waiting(&self, _ctx: &WorkflowContextView) -> Waiting {
        self.waiting.clone()
    }
}

/// Decide, perform, apply, until nothing is left to do.
async fn own_payment(ctx: &mut WorkflowContext<PaymentWorkflow>) -> WorkflowResult<PaymentResult> {
    let intent = ctx.state(|s| s.intent.clone()).map_err(refused)?;
    charge(ctx, &intent).await?;
    loop {
        // What moved is a fact, whatever became of its row.
        if let Some(money) = ctx.state_mut(|s| s.forgotten.take()) {
            settle(ctx, &intent, PaymentEvent::MoneyConfirmed { money }, None).await?;
        }
        match next_action(ctx, &intent) {
            Action::Charge { wait } => {
                match pause(ctx, wait).await {
                    Rung::Waited => charge(ctx, &intent).await?,
                    // Whoever was woken before the time only looks.
                    rung @ Rung::Woken => lookup(ctx, &intent, rung, false).await?,
                }
            }
            Action::Lookup { wait, .. } => {
                let rung = pause(ctx, wait).await;
                lookup(ctx, &intent, rung, false).await?;
            }
            Action::Close { wait } => {
                let rung = pause(ctx, wait).await;
                lookup(ctx, &intent, rung, rung == Rung::Waited).await?;
            }
            Action::Settle { event, token } => settle(ctx, &intent, event, token).await?,
            // Also where the channel cannot be asked: somebody may have written to the row.
            Action::AskPerson { look_after } => {
                let rung = pause(ctx, look_after).await;
                lookup(ctx, &intent, rung, false).await?;
            }
            Action::Fulfil => fulfil(ctx, &intent).await?,
            // Whoever decides now may change the row, and with it what is left to do.
            Action::Done if !ctx.all_handlers_finished() => handlers_finished(ctx).await?,
            // Begun again, as the next run would: whoever woke this one gets no other.
            Action::Done if ctx.state(PaymentWorkflow::is_woken) => charge(ctx, &intent).await?,
            Action::Done => break,
        }
    }
    let view = ctx.state(|s| s.view.clone()).ok_or_else(no_view)?;
    publish_end(ctx, &intent, &view);
    tell(ctx, words::outcome(&view), None);
    Ok(PaymentResult { intent: intent.to_json(), payment: view })
}

async fn handlers_finished(ctx: &WorkflowContext<PaymentWorkflow>) -> WorkflowResult<()> {
    let own = WaitConditionOptions::builder()
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    ctx.wait_condition_with_options(|_| ctx.all_handlers_finished(), own).await?;
    Ok(())
}

/// Record, claim, send, settle. Refusals of the intent end the run: nothing was recorded.
async fn charge(
    ctx: &mut WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
) -> WorkflowResult<()> {
    let start_before = ctx.state(|s| s.start_before);
    let cancelled = ctx.cancellation_token().is_cancelled();
    let (known, wakes, asked, decisions) = ctx.state_mut(|s| {
        s.close_asked |= cancelled;
        (s.view.as_ref().map(|view| view.version), s.wakes, s.rows_taken, s.decisions)
    });
    let first = known.is_none();
    let input = ChargeInput {
        intent: intent.clone(),
        start_before,
        cancelled: first && cancelled,
        recorded_before: !first || wakes > 0 || decisions > 0,
    };
    let output = ctx
        .execute_activity(PaymentActivities::charge, input, options::charge())
        .await
        .map_err(activity_refused)?;
    adopt(ctx, &output.row.view(intent, start_before), asked);
    ctx.state_mut(|s| {
        s.rungs_done += 1;
        let untouched = s.view.as_ref().map(|view| view.version) == known;
        s.repeat_refused = untouched && s.proven.is_some();
        if !s.repeat_refused {
            s.proven = None;
        }
        s.open = false;
        s.unsettled = output.unsettled;
        // A payment that has ended was asked about as well; any other is when its wait ends.
        if s.view.as_ref().is_some_and(|view| view.state.is_final()) {
            s.wakes_answered = wakes;
        }
        // The first answer's policy stays: configuration does not change under a run.
        if s.policy.is_none() {
            s.policy = output.policy;
            s.rungs_done = 0;
        }
    });
    // Until it is written down, the query tells of it.
    if let Some(news) = ctx.state(|s| s.unsettled.clone()) {
        persist(ctx, intent, news).await?;
        ctx.state_mut(|s| s.unsettled = None);
    }
    Ok(())
}

async fn lookup(
    ctx: &mut WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
    rung: Rung,
    close: bool,
) -> WorkflowResult<()> {
    let start_before = ctx.state(|s| s.start_before);
    let asked = ctx.state(|s| s.rows_taken);
    let input = LookupInput { intent: intent.clone(), start_before, close };
    let output = ctx.execute_activity(PaymentActivities::lookup, input, options::ask()).await?;
    ctx.state_mut(|s| {
        s.rungs_done += u32::from(rung == Rung::Waited);
        s.closes_tried += u32::from(close);
        s.proven = output.proven;
        s.open = output.open;
    });
    adopt(ctx, &output.view, asked);
    Ok(())
}

async fn settle(
    ctx: &mut WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
    event: PaymentEvent,
    token: Option<ClaimToken>,
) -> WorkflowResult<()> {
    ctx.state_mut(|s| {
        s.proven = None;
        s.repeat_refused = false;
    });
    let news = News { event, actor: Actor::Workflow, token, exchanges: Vec::new() };
    persist(ctx, intent, news).await
}

async fn persist(
    ctx: &mut WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
    news: News,
) -> WorkflowResult<()> {
    let start_before = ctx.state(|s| s.start_before);
    if matches!(news.event, PaymentEvent::MoneyConfirmed { .. }) {
        tell(ctx, words::PAID_NOT_YET_WRITTEN, None);
    }
    let input = PersistInput { intent: intent.clone(), start_before, news };
    let asked = ctx.state(|s| s.rows_taken);
    let output = ctx.execute_activity(PaymentActivities::persist, input, options::row()).await?;
    adopt(ctx, &output.view, asked);
    Ok(())
}

/// The first attempt runs inside this workflow task; whatever becomes of it, the merchant's own
/// idempotency key makes another one harmless.
async fn fulfil(
    ctx: &mut WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
) -> WorkflowResult<()> {
    let (start_before, known, asked) =
        ctx.state(|s| (s.start_before, s.view.clone(), s.rows_taken));
    let input = FulfilInput { intent: intent.clone(), start_before, known: known.clone() };
    let inline = ctx
        .execute_local_activity(PaymentActivities::fulfil, input, options::fulfil_inline())
        .await;
    let output = if let Ok(output) = inline {
        output
    } else {
        tell(ctx, words::PAID_FULFILLING, None);
        let input = FulfilInput { intent: intent.clone(), start_before, known: None };
        ctx.execute_activity(PaymentActivities::fulfil, input, options::fulfil()).await?
    };
    if let Some(view) = output.view(known) {
        adopt(ctx, &view, asked);
    }
    Ok(())
}

fn next_action(ctx: &WorkflowContext<PaymentWorkflow>, intent: &PaymentIntent) -> Action {
    let now = ctx.workflow_time().unwrap_or(SystemTime::UNIX_EPOCH);
    let action = ctx.state(|s| {
        let (Some(view), Some(policy)) = (&s.view, &s.policy) else {
            // Without a policy the payment had ended when this run began.
            return s.view.as_ref().map_or(Action::Done, words::without_policy);
        };
        let facts = Facts {
            policy,
            rungs_done: s.rungs_done,
            proven: s.proven.as_ref(),
            repeat_refused: s.repeat_refused,
            open: s.open,
            close_asked: s.close_asked,
            closes_tried: s.closes_tried,
            now: unix_millis(now),
        };
        view.next_action(&facts)
    });
    if let Some(text) = words::details(&action, unix_millis(now)) {
        tell(ctx, text, words::until(&action, unix_millis(now)));
        if let Some(view) = ctx.state(|s| s.view.clone()) {
            publish(ctx, intent, &view);
        }
    }
    action
}

fn no_view() -> WorkflowTermination {
    WorkflowTermination::failed_application(ApplicationFailure::new("the payment has no row"))
}

fn unix_millis(time: SystemTime) -> UnixMillis {
    let elapsed = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}
