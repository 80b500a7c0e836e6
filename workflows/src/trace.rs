//! Carries the `traceparent` of whoever started a run to its activities: a header of the run, and
//! the same header of each activity. A run that was started without one has none, so that its
//! history is no byte longer.

use domain::{TRACEPARENT, TraceParent};
use std::cell::OnceCell;
use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ExecuteWorkflowInput, ExecuteWorkflowResult,
    ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowInterceptorFuture,
    WorkflowNext,
};

/// The trace in the header [`TRACEPARENT`] of a run or an activity: plain JSON text.
#[must_use]
pub fn read(header: Option<&Payload>) -> Option<TraceParent> {
    let text: String = serde_json::from_slice(&header?.data).ok()?;
    TraceParent::parse(&text)
}

/// The header as it is written.
#[must_use]
pub fn payload(trace: &TraceParent) -> Payload {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into_iter().collect();
    let data = format!("\"{trace}\"").into_bytes();
    Payload { metadata, data, ..Payload::default() }
}

/// What a worker registers to carry traces along.
#[must_use]
pub fn carrier() -> WorkflowInterceptorConstructor {
    WorkflowInterceptorConstructor::new(|_| Carrier::default())
}

#[derive(Default)]
struct Carrier {
    trace: OnceCell<TraceParent>,
}

impl Carrier {
    fn header(&self) -> Option<(String, Payload)> {
        self.trace.get().map(|trace| (TRACEPARENT.to_owned(), payload(trace)))
    }
}

impl WorkflowInterceptor for Carrier {
    fn execute<'a>(
        &'a self,
        _ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<
            'a,
            ExecuteWorkflowInput,
            WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>,
        >,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        if let Some(trace) = read(input.headers().get(TRACEPARENT)) {
            // A run is executed once.
            let _ = self.trace.set(trace);
        }
        next.run(input)
    }

    fn schedule_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        input.headers_mut().extend(self.header());
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        mut input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        input.headers_mut().extend(self.header());
        next.run(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written_and_nonsense_is_none() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = TraceParent::parse(text).expect("well-formed");
        assert_eq!(read(Some(&payload(&trace))), Some(trace));
        let nonsense = Payload { data: b"\"00-x\"".to_vec(), ..Payload::default() };
        assert_eq!((read(Some(&nonsense)), read(None)), (None, None));
    }
}
