//! Waiting: one timer at a time. Whoever wakes or cancels the run ends it, and who decides.

use super::{PaymentWorkflow, options};
use std::pin::pin;
use std::time::Duration;
use temporalio_workflow::{
    WaitConditionOptions, WorkflowCancellationToken, WorkflowContext, select,
};

/// Whether a rung of the ladder was waited for, or something ended the wait before. A lookup that
/// was asked for is one more, and uses no rung up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Waited,
    Woken,
}

/// Waits for the time, until somebody writes to the row, or until the run is cancelled, which
/// means that the payment is to be closed. The timer's token is cancelled when it loses.
pub(super) async fn pause(ctx: &mut WorkflowContext<PaymentWorkflow>, wait: Duration) -> Rung {
    if wait.is_zero() {
        return Rung::Waited;
    }
    let token = WorkflowCancellationToken::new();
    let own = WaitConditionOptions::builder()
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    let (asked_before, rows) = ctx.state(|s| (s.close_asked, s.rows_taken));
    let ended = move |s: &PaymentWorkflow| s.is_woken() || s.rows_taken != rows;
    let cancelled_now = {
        let mut woken = pin!(ctx.wait_condition_with_options(ended, own));
        let mut timer = pin!(ctx.timer(options::timer(wait, &token, "look again, or wake me")));
        let mut cancelled = pin!(ctx.cancelled());
        if asked_before {
            select! {
                _ = woken => false,
                _ = timer => false,
            }
        } else {
            select! {
                _ = woken => false,
                _ = timer => false,
                _ = cancelled => true,
            }
        }
    };
    token.cancel();
    let woken = ctx.state_mut(|s| {
        s.close_asked |= cancelled_now;
        let woken = ended(s);
        s.wakes_answered = s.wakes;
        woken
    });
    if woken || cancelled_now { Rung::Woken } else { Rung::Waited }
}
