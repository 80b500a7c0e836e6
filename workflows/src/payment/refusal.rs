//! What a run refuses before it has recorded anything: an input that is no intent, an id that is
//! not the intent's, and what the activity `charge` refuses.

use super::messages::{Refusal, code};
use crate::{ids, raw};
use domain::PaymentIntent;
use temporalio_common::data_converters::RawValue;
use temporalio_common::error::{ActivityExecutionError, ApplicationFailure, IncomingError};
use temporalio_workflow::WorkflowTermination;

pub(super) fn read_intent(workflow_id: &str, input: &RawValue) -> Result<PaymentIntent, Refusal> {
    let invalid = |field: Option<String>, message: String| Refusal {
        code: code::INVALID_INPUT.to_owned(),
        message,
        field,
        payment: None,
    };
    let value = raw::parse_json(input).map_err(|message| invalid(None, message))?;
    let intent = PaymentIntent::from_json(&value)
        .map_err(|error| invalid(error.field(), error.to_string()))?;
    let expected = ids::payment(&intent.merchant, &intent.key);
    if workflow_id == expected {
        Ok(intent)
    } else {
        Err(Refusal {
            code: code::WORKFLOW_ID_MISMATCH.to_owned(),
            message: format!("this intent's workflow id is {expected:?}"),
            field: None,
            payment: None,
        })
    }
}

/// The failure of a run that recorded nothing: its type is the code, its details are the refusal.
pub(super) fn refused(refusal: Refusal) -> WorkflowTermination {
    let failure = ApplicationFailure::builder(refusal.message.clone())
        .type_name(refusal.code.clone())
        .non_retryable(true)
        .details(refusal)
        .build();
    WorkflowTermination::failed_application(failure)
}

/// A refusal by an activity becomes the run's own, with the same code and details.
pub(super) fn activity_refused(error: ActivityExecutionError) -> WorkflowTermination {
    if let Some(IncomingError::Application(failure)) = error.reason()
        && let Ok(Some(refusal)) = failure.details::<Refusal>()
    {
        return refused(refusal);
    }
    error.into()
}
