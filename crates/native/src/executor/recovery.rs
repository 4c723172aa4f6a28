//! The one turn that an agent gets after it ran into a limit.

use std::time::Duration;

use lapidary_gemini::agents::GRACE_PERIOD_MS;
use serde_json::{Value, json};

use super::activity::{ActivityKind, ErrorContext, ErrorType};
use super::clock::AgentClock;
use super::turn_end::TurnEnd;
use super::{AgentOutcome, AgentRun, TerminateReason};

/// The rest of the sentence that begins with the limit.
const LAST_CHANCE: &str = " You have one final chance to complete the task with a short grace period. You MUST call `complete_task` immediately with your best answer and explain that your investigation was interrupted. Do not call any other tools.";

impl TurnEnd {
    /// The reason of a stop after which there is a recovery turn, and the message for the model.
    pub(super) fn recovery_message(&self) -> Option<(TerminateReason, &'static str)> {
        match self {
            Self::TimedOut => Some((
                TerminateReason::Timeout,
                "You have exceeded the time limit.",
            )),
            Self::MaxTurns => Some((
                TerminateReason::MaxTurns,
                "You have exceeded the maximum number of turns.",
            )),
            Self::NoCall => Some((
                TerminateReason::ErrorNoCompleteTaskCall,
                "You have stopped calling tools without finishing.",
            )),
            Self::Continue
            | Self::Completed(_)
            | Self::Aborted
            | Self::Stopped(_)
            | Self::Blocked(_)
            | Self::Failed(_) => None,
        }
    }
}

impl AgentRun<'_> {
    /// Takes the recovery turn. Responses that the model has not been told yet come first: the API refuses a call without its response.
    pub(super) async fn take_recovery_turn(
        &mut self,
        reason: TerminateReason,
        words: &str,
        pending: Vec<Value>,
    ) -> AgentOutcome {
        self.emit_activity(ActivityKind::Notice(format!(
            "Execution limit reached ({}). Attempting one final recovery turn with a grace period.",
            reason.as_str()
        )));
        let mut message = pending;
        message.push(json!({ "text": format!("{words}{LAST_CHANCE}") }));
        let caller = self.clock_of_caller();
        let clock = AgentClock::start(Duration::from_millis(GRACE_PERIOD_MS), caller);
        let (end, _) = self.take_turn(message, &clock).await;
        match end {
            TurnEnd::Completed(_) => {
                self.emit_activity(ActivityKind::Notice(
                    "Graceful recovery succeeded.".to_owned(),
                ));
                AgentOutcome {
                    recovered_from: Some(reason),
                    ..self.outcome_of(end)
                }
            }
            TurnEnd::Aborted | TurnEnd::Stopped(_) => self.outcome_of(end),
            _ => self.not_recovered(reason),
        }
    }

    fn not_recovered(&self, reason: TerminateReason) -> AgentOutcome {
        let failed = format!(
            "Graceful recovery attempt failed. Reason: {}",
            reason.as_str()
        );
        self.emit_error(failed, ErrorContext::RecoveryTurn);
        let (stop, context) = match reason {
            TerminateReason::Timeout => (TurnEnd::TimedOut, Some(ErrorContext::Timeout)),
            TerminateReason::MaxTurns => (TurnEnd::MaxTurns, Some(ErrorContext::MaxTurns)),
            _ => (TurnEnd::NoCall, None), // that error was reported when it happened
        };
        let outcome = self.outcome_of(stop);
        if let Some(context) = context {
            self.emit_error(outcome.result.clone(), context);
        }
        outcome
    }

    pub(super) fn emit_error(&self, message: String, context: ErrorContext) {
        self.emit_activity(ActivityKind::Error {
            message,
            context,
            error_type: ErrorType::Generic,
            call: None,
        });
    }
}
