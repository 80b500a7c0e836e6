//! Lets whatever an activity does be found by the trace of whoever asked for the payment: in the
//! log, and at whom it calls.

use domain::TRACEPARENT;
use temporalio_sdk::interceptors::{
    ActivityInboundInterceptor, ExecuteActivityInput, ExecuteActivityOutput, Next,
};
use tracing::Instrument;

/// Runs each activity under the `traceparent` that its run carries.
#[derive(Clone, Copy, Debug)]
pub struct Traced;

impl ActivityInboundInterceptor for Traced {
    fn execute_activity<'a>(
        &'a self,
        input: ExecuteActivityInput,
        next: Next<'a, ExecuteActivityInput, ExecuteActivityOutput<'a>>,
    ) -> ExecuteActivityOutput<'a> {
        let Some(trace) = workflows::trace::read(input.headers().get(TRACEPARENT)) else {
            return next.run(input);
        };
        let name = input.activity_info().activity_type.clone();
        let span = tracing::info_span!("activity", activity = name, trace.id = trace.trace_id());
        let work = async move {
            tracing::info!("an activity begins");
            next.run(input).await
        };
        Box::pin(channels::http::under(trace, work).instrument(span))
    }
}
