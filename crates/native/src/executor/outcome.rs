//! How an agent's task ended.

use std::time::Duration;

use serde_json::Value;

use super::AgentRun;
use super::turn_end::TurnEnd;
use crate::a2a::RemoteError;
use crate::model::ModelError;

/// Why an agent stopped, in Gemini CLI's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminateReason {
    /// The model or the executor failed.
    Error,
    /// The time was up.
    Timeout,
    /// The task is complete.
    Goal,
    /// The turns were used up.
    MaxTurns,
    /// The caller cancelled it.
    Aborted,
    /// The model stopped calling tools and never called `complete_task`.
    ErrorNoCompleteTaskCall,
}

impl TerminateReason {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Timeout => "TIMEOUT",
            Self::Goal => "GOAL",
            Self::MaxTurns => "MAX_TURNS",
            Self::Aborted => "ABORTED",
            Self::ErrorNoCompleteTaskCall => "ERROR_NO_COMPLETE_TASK_CALL",
        }
    }
}

/// How an agent's task ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOutcome {
    /// Why the agent stopped.
    pub terminate_reason: TerminateReason,
    /// The text for its caller.
    pub result: String,
    /// The value that it handed over, if it did.
    pub output: Option<Value>,
    /// The limit that it ran into before its recovery turn completed the task.
    pub recovered_from: Option<TerminateReason>,
    /// The error of the model, if that stopped it.
    pub error: Option<ModelError>,
    /// Why a remote agent failed, if that stopped it.
    pub remote_error: Option<RemoteError>,
    /// Whether the text was emitted as it came. It is not emitted again.
    pub is_streamed: bool,
    /// How many turns it took.
    pub turn_count: u32,
    /// How long it took.
    pub duration: Duration,
}

impl AgentOutcome {
    pub(super) fn new(terminate_reason: TerminateReason, result: impl Into<String>) -> Self {
        Self {
            terminate_reason,
            result: result.into(),
            output: None,
            recovered_from: None,
            error: None,
            remote_error: None,
            is_streamed: false,
            turn_count: 0,
            duration: Duration::ZERO,
        }
    }
}

impl AgentRun<'_> {
    /// The outcome of a stop after which there is no recovery.
    pub(super) fn outcome_of(&self, stop: TurnEnd) -> AgentOutcome {
        match stop {
            TurnEnd::Completed(output) => AgentOutcome {
                output: Some(output.clone()),
                ..AgentOutcome::new(TerminateReason::Goal, self.text_of(&output))
            },
            TurnEnd::Failed(error) => AgentOutcome {
                error: Some(error.clone()),
                ..AgentOutcome::new(TerminateReason::Error, error.to_string())
            },
            TurnEnd::TimedOut => {
                let minutes = self.request.definition.run_config.max_time_minutes();
                let text = format!("Agent timed out after {minutes} minutes.");
                AgentOutcome::new(TerminateReason::Timeout, text)
            }
            TurnEnd::MaxTurns => {
                let turns = self.request.definition.run_config.max_turns();
                let text = format!("Agent reached max turns limit ({turns}).");
                AgentOutcome::new(TerminateReason::MaxTurns, text)
            }
            TurnEnd::NoCall => AgentOutcome::new(
                TerminateReason::ErrorNoCompleteTaskCall,
                "Agent stopped calling tools but did not call 'complete_task'.",
            ),
            TurnEnd::Stopped(reason) => AgentOutcome::new(TerminateReason::Aborted, reason),
            TurnEnd::Blocked(reason) => AgentOutcome::new(TerminateReason::Error, reason),
            TurnEnd::Aborted | TurnEnd::Continue => AgentOutcome::new(
                TerminateReason::Aborted,
                "Agent execution was terminated before completion.",
            ),
        }
    }

    /// The text of a result: the output of the definition's own function, a text as it is, else JSON with an indent of two.
    fn text_of(&self, output: &Value) -> String {
        match (&self.request.definition.process_output, output) {
            (Some(process), _) => process.process(output),
            (None, Value::String(text)) => text.clone(),
            (None, Value::Null) => "Task completed successfully.".to_owned(),
            (None, other) => format!("{other:#}"),
        }
    }
}
