//! The row as a run knows it: taken whenever an activity brings it, and looked at again when
//! somebody says so.

use super::PaymentWorkflow;
use domain::PaymentView;
use temporalio_workflow::WorkflowContext;

impl PaymentWorkflow {
    /// Somebody woke the run and the row was not looked at since.
    pub(super) fn is_woken(&self) -> bool {
        self.wakes != self.wakes_answered
    }
}

/// Takes the row as it now is. An answer that was on its way while a newer one came is dropped; if
/// none came since it was asked for, the row itself went back, and is right all the same.
pub(super) fn adopt(ctx: &WorkflowContext<PaymentWorkflow>, view: &PaymentView, asked: u32) {
    ctx.state_mut(|s| {
        let known = s.view.as_ref();
        if known.is_some_and(|known| view.is_older_than(known)) && s.rows_taken != asked {
            return;
        }
        let money = known.and_then(|known| known.state.money());
        if let Some(lost) = money.filter(|_| view.state.money().is_none()) {
            s.forgotten = Some(lost.clone());
        }
        s.rows_taken += 1;
        if known.is_none_or(|known| known.state.name() != view.state.name()) {
            s.rungs_done = 0;
            s.closes_tried = 0;
            s.proven = None;
            s.open = false;
        }
        s.view = Some(view.clone());
    });
}
