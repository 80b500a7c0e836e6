//! Does a piece of work, with or without a fault. The only place where a fault takes effect.
//!
//! Work that has begun goes on when its client leaves: it runs as a task of its own.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::answer::Answer;
use crate::fault::{Fault, Operation, PageKind};
use crate::requests::Entry;
use crate::serve::HangUp;

/// How long a connection is held that is never answered.
const MAX_HOLD: Duration = Duration::from_secs(120);

/// The request that the work is for.
pub struct Call {
    pub operation: Operation,
    pub entry: Entry,
    pub hang_up: HangUp,
}

impl Call {
    /// Does the work as the fault has it, and gives the answer. Without an answer it never returns.
    pub async fn perform<W>(&self, fault: Option<Fault>, work: W) -> Answer
    where
        W: Future<Output = Answer> + Send + 'static,
    {
        let Some(fault) = fault else { return self.carry_out(work).await };
        self.entry.fault(fault.kind());
        match fault {
            Fault::Delay { ms } => {
                // A client that leaves meanwhile drops us here, before anything is executed.
                self.entry.outcome("not_executed");
                sleep(Duration::from_millis(ms)).await;
                self.carry_out(work).await
            }
            Fault::PauseBeforeCommit { ms } => {
                let paused = async move {
                    sleep(Duration::from_millis(ms)).await;
                    work.await
                };
                self.carry_out(paused).await
            }
            Fault::TimeoutBeforeCommit {} => {
                self.entry.outcome("not_executed");
                self.hold().await
            }
            Fault::TimeoutAfterCommit {} => {
                self.carry_out(work).await;
                self.hold().await
            }
            Fault::ErrorBeforeCommit { status, body } => {
                self.entry.outcome("not_executed");
                broken(status, body)
            }
            Fault::ErrorAfterCommit { status, body } => {
                self.carry_out(work).await;
                broken(status, body)
            }
            Fault::DropConnection { after_commit } => {
                if after_commit {
                    self.carry_out(work).await;
                } else {
                    self.entry.outcome("not_executed");
                }
                self.hang_up.now().await
            }
            Fault::NotFound {} => self.instead(not_found()),
            Fault::Refused {} => self.instead(refused(self.operation)),
            Fault::MaintenancePage {} => {
                self.entry.outcome("not_executed");
                Answer::page(200, "Down for maintenance")
            }
            Fault::Unsigned {} => self.carry_out(work).await.wrongly_signed(),
            Fault::WrongAmount { amount, currency } => {
                let mut answer = self.carry_out(work).await;
                if let Some(amount) = amount {
                    answer = answer.altered("amount", json!(amount));
                }
                if let Some(currency) = currency {
                    answer = answer.altered("currency", json!(currency));
                }
                answer
            }
            // The work itself knows of it: what is charged becomes another object.
            Fault::StaysPayable {} => self.carry_out(work).await,
            Fault::UnmappedStatus { status } => {
                self.carry_out(work).await.altered("status", json!(status))
            }
        }
    }

    async fn carry_out<W>(&self, work: W) -> Answer
    where
        W: Future<Output = Answer> + Send + 'static,
    {
        let entry = self.entry.clone();
        let task = tokio::spawn(async move {
            let answer = work.await;
            entry.outcome(&answer.outcome);
            answer
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a piece of work ended in a panic");
            Answer::error(500, "internal_error", "the sandbox has a mistake")
        })
    }

    /// An answer that is given instead of the work.
    fn instead(&self, answer: Answer) -> Answer {
        self.entry.outcome(&answer.outcome);
        answer
    }

    async fn hold(&self) -> Answer {
        sleep(MAX_HOLD).await;
        self.hang_up.now().await
    }
}

pub fn not_found() -> Answer {
    Answer::error(404, "not_found", "nothing is known under this reference")
}

fn refused(operation: Operation) -> Answer {
    match operation {
        Operation::Fulfil => {
            Answer::error(409, "cannot_fulfil", "the goods cannot be handed over, now or later")
        }
        Operation::Charge | Operation::Lookup | Operation::Close => {
            Answer::not_executed(503, "not_accepted", "the request was not accepted")
        }
    }
}

fn broken(status: u16, body: PageKind) -> Answer {
    match body {
        PageKind::Html => Answer::page(status, "Something went wrong"),
        PageKind::Json => Answer::error(status, "internal_error", "something went wrong"),
    }
}
