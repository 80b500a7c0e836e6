//! What is said of a payment to those who look for it, or at it: search attributes, details.

use super::PaymentWorkflow;
use super::messages::Waiting;
use crate::attributes;
use domain::{Effect, PaymentIntent, PaymentState, PaymentView, UnixMillis};
use temporalio_workflow::WorkflowContext;

/// Tells the search attributes what the row says. Each change is one event of history, so the happy
/// path tells nothing.
pub(super) fn publish(
    ctx: &WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
    view: &PaymentView,
) {
    let before = ctx.state(|s| s.published.clone());
    let told = |old: &PaymentView| {
        old.state.name() == view.state.name()
            && old.review.is_some() == view.review.is_some()
            && old.state.money() == view.state.money()
    };
    if before.as_ref().is_some_and(told) {
        return;
    }
    let mut updates = attributes::of_row(view);
    if before.is_none() {
        // Whoever started the run may not have set them.
        updates.extend(attributes::at_start(intent));
    }
    ctx.upsert_search_attributes(updates);
    ctx.state_mut(|s| s.published = Some(view.clone()));
}

/// A payment that was simply paid and handed over is found by its end alone.
pub(super) fn publish_end(
    ctx: &WorkflowContext<PaymentWorkflow>,
    intent: &PaymentIntent,
    view: &PaymentView,
) {
    let paid = matches!(view.state, PaymentState::Persisted { effect: Effect::Applied, .. });
    let told_before = ctx.state(|s| s.published.is_some());
    if told_before || !paid || view.review.is_some() {
        publish(ctx, intent, view);
    }
}

/// Says what the run waits for: to the Temporal UI, and to the query `waiting`.
pub(super) fn tell(
    ctx: &WorkflowContext<PaymentWorkflow>,
    details: impl Into<String>,
    until_ms: Option<UnixMillis>,
) {
    let waiting = Waiting { details: details.into(), until_ms };
    ctx.set_current_details(waiting.details.clone());
    ctx.state_mut(|s| s.waiting = waiting);
}
