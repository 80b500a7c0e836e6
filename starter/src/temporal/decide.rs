//! Bringing a person's decision to the payment's owner. A decision that was accepted is durable;
//! one that was not accepted in time may be sent again safely.

use super::{
    BETWEEN_TRIES, Run, Temporal, TemporalError, json_argument, long_rpc, memo, search_attributes,
    summary,
};
use domain::PaymentIntent;
use domain::ids::derive;
use std::time::Duration;
use temporalio_client::errors::{WorkflowUpdateError, WorkflowUpdateWithStartError};
use temporalio_client::{
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowUpdateWithStartOptions,
};
use tokio::time::Instant;
use workflows::payment::PaymentWorkflow;
use workflows::payment::messages::{DecideOutput, DecideReview, code};

/// What came of a decision within the limit.
#[derive(Debug)]
pub(crate) enum Decision {
    Answered(Box<DecideOutput>),
    /// It is in the workflow's history and will take effect.
    Accepted,
}

const DOING: &str = "sending a decision";

impl Temporal {
    /// Sends a decision to the payment's workflow, which is started where none is open, and waits
    /// for its answer for at most `limit`. A run of another intent under the payment's key is about
    /// to be refused, and decides nothing: it is waited for.
    ///
    /// Twice is safe: the row takes a decision's id once, and the same decision about the same
    /// version is one update.
    ///
    /// # Errors
    /// [`TemporalError`] when the workflow did not accept the decision.
    pub(crate) async fn decide(
        &self,
        intent: &PaymentIntent,
        decision: &DecideReview,
        limit: Duration,
    ) -> Result<Decision, TemporalError> {
        let until = Instant::now() + limit;
        let mut id = update_id(decision);
        loop {
            match self.send(intent, decision, id.clone(), until).await {
                Ok(Decision::Answered(output)) if is_foreign(&output) => {}
                Err(TemporalError::NoWorker { doing, .. }) => {
                    return Err(TemporalError::NoWorker { doing, limit });
                }
                answered => return answered,
            }
            if Instant::now() + BETWEEN_TRIES >= until {
                return Err(TemporalError::foreign_run(DOING));
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
            // Temporal answers under the same id what the closed run answered.
            id.push('+');
        }
    }

    async fn send(
        &self,
        intent: &PaymentIntent,
        decision: &DecideReview,
        update_id: String,
        until: Instant,
    ) -> Result<Decision, TemporalError> {
        let doing = DOING;
        let client = self.client(doing)?;
        let workflow_id = workflows::ids::payment(&intent.merchant, &intent.key);
        let options = WorkflowUpdateWithStartOptions::new(
            self.settings.task_queue.clone(),
            workflow_id,
            WorkflowIdConflictPolicy::UseExisting,
        )
        .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
        .update_id(update_id)
        .memo(memo(intent))
        .search_attributes(search_attributes(intent))
        .static_summary(summary(intent))
        .rpc_options(long_rpc())
        .build();
        let sent = client.start_update_with_start_workflow(
            PaymentWorkflow::run,
            json_argument(&intent.to_json()),
            PaymentWorkflow::decide_review,
            json_argument(decision),
            options,
        );
        let limit = until.saturating_duration_since(Instant::now());
        let no_worker = |_elapsed| TemporalError::NoWorker { doing, limit };
        let sent = tokio::time::timeout_at(until, sent).await.map_err(no_worker)?;
        let update = sent.map_err(|error| of_start(doing, error))?;
        let run = Run {
            workflow_id: update.workflow_id().to_owned(),
            run_id: update.workflow_run_id().map(str::to_owned),
        };
        let answer = update.get_result(long_rpc());
        match tokio::time::timeout_at(until, answer).await {
            Ok(Ok(output)) => Ok(Decision::Answered(Box::new(output))),
            Ok(Err(WorkflowUpdateError::Failed(failure))) => {
                let source = anyhow::anyhow!("the update failed: {}", failure.message);
                Err(TemporalError::Rejected { doing, source })
            }
            Ok(Err(error)) => {
                tracing::warn!(error = ?error, "the answer to a decision is not known yet");
                self.accepted(intent, run).await
            }
            Err(_elapsed) => self.accepted(intent, run).await,
        }
    }

    /// A decision that a run accepted takes effect, if that run is the payment's owner.
    async fn accepted(&self, intent: &PaymentIntent, run: Run) -> Result<Decision, TemporalError> {
        if self.is_owner(&run, intent).await? {
            Ok(Decision::Accepted)
        } else {
            Err(TemporalError::foreign_run(DOING))
        }
    }
}

fn is_foreign(output: &DecideOutput) -> bool {
    matches!(output, DecideOutput::Refused { code, .. } if code == code::NOT_THE_OWNER)
}

/// The decision's id with a digest of its content. Temporal answers a known update id with the
/// first answer, whatever the update says: under the bare id a decision that was overtaken could
/// never be made about the right version, and one with another content would be taken for done.
fn update_id(decision: &DecideReview) -> String {
    // Cannot fail: the message has string keys and no floats.
    let content = serde_json::to_string(decision).unwrap_or_default();
    format!("{}/{}", decision.decision, derive("decision update", &[&content]))
}

fn of_start(doing: &'static str, error: WorkflowUpdateWithStartError) -> TemporalError {
    match error {
        WorkflowUpdateWithStartError::Rpc(status)
        | WorkflowUpdateWithStartError::Update(WorkflowUpdateError::Rpc(status)) => {
            TemporalError::of(doing, status)
        }
        WorkflowUpdateWithStartError::Update(WorkflowUpdateError::Failed(failure)) => {
            // Reachable only where our message or our stored intent is not readable over there.
            let source = anyhow::anyhow!("the workflow refused the update: {}", failure.message);
            TemporalError::Rejected { doing, source }
        }
        // The run ended between two calls, or another start won: the next try finds out.
        other => TemporalError::unavailable(doing, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decision(version: i64, evidence: &str) -> DecideReview {
        serde_json::from_value(json!({
            "decision": "d-1", "review": format!("rev_{}", "a".repeat(26)),
            "review_version": version, "reason": "seen", "operator": "alice", "stamp": "00",
            "choice": { "kind": "confirm_not_paid", "evidence": evidence },
        }))
        .expect("valid")
    }

    #[test]
    fn only_the_same_decision_about_the_same_version_is_the_same_update() {
        let id = update_id(&decision(1, "line 4"));
        assert!(id.starts_with("d-1/"), "{id}");
        assert_eq!(id, update_id(&decision(1, "line 4")));
        assert_ne!(id, update_id(&decision(2, "line 4")));
        assert_ne!(id, update_id(&decision(1, "line 5")));
    }
}
