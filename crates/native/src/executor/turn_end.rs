//! How a turn ends.

use serde_json::Value;

use crate::model::ModelError;

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// The model is to be told the results of its calls.
    Continue,
    /// The task is complete, with this result.
    Completed(Value),
    /// The model called no tool.
    NoCall,
    /// The time is up.
    TimedOut,
    /// The turns are used up.
    MaxTurns,
    /// The task was cancelled.
    Aborted,
    /// A hook stopped the task, for this reason.
    Stopped(String),
    /// A hook blocked the model; the sentence says why.
    Blocked(String),
    /// The model failed.
    Failed(ModelError),
}

/// A reason to end a wait early.
#[derive(Debug, Clone, Copy)]
pub(super) enum TurnInterruption {
    Cancelled,
    TimedOut,
}

impl From<TurnInterruption> for TurnEnd {
    fn from(interruption: TurnInterruption) -> Self {
        match interruption {
            TurnInterruption::Cancelled => Self::Aborted,
            TurnInterruption::TimedOut => Self::TimedOut,
        }
    }
}

impl TurnEnd {
    /// Whether the API refused the request because it is longer than the model's window.
    pub(super) fn is_too_long(&self) -> bool {
        let Self::Failed(ModelError::BadRequest { message, .. }) = self else {
            return false;
        };
        let message = message.to_lowercase();
        message.contains("token") && message.contains("exceed")
    }
}
