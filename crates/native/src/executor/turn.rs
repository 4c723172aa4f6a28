//! One turn: the model is asked, then its calls are made.

use std::sync::Arc;

use serde_json::Value;

use super::AgentRun;
use super::activity::{ActivityKind, ErrorContext};
use super::clock::AgentClock;
use crate::model::{
    Content, ContentRole, ModelAnswer, ModelError, ModelEvent, ModelRequest, PartKind,
};

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
    /// The model failed.
    Failed(ModelError),
}

/// A reason to end a wait early.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interruption {
    Cancelled,
    TimedOut,
}

impl From<Interruption> for TurnEnd {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Cancelled => Self::Aborted,
            Interruption::TimedOut => Self::TimedOut,
        }
    }
}

impl AgentRun<'_> {
    /// Takes a turn that begins with these parts. Returns the parts that the model is to be told next.
    pub(super) async fn turn(
        &mut self,
        message: Vec<Value>,
        clock: &Arc<AgentClock>,
    ) -> (TurnEnd, Vec<Value>) {
        self.prompts += 1;
        self.history.push(Content::user(message.iter().cloned()));
        let answer = match self.ask_model(clock).await {
            Ok(answer) => answer,
            Err(end) => {
                // The model has not answered: what it was told goes out again with the recovery message.
                self.history.pop();
                return (end, message);
            }
        };
        let content = Content::from_answer(&answer.parts);
        debug_assert_eq!(content.role, ContentRole::Model);
        self.history.push(content);
        let calls: Vec<_> = answer.calls().cloned().collect();
        if calls.is_empty() {
            let message = "Agent stopped calling tools but did not call 'complete_task' to finalize the session.";
            self.tell_error(message.to_owned(), ErrorContext::ProtocolViolation);
            return (TurnEnd::NoCall, Vec::new());
        }
        self.make_calls(&calls, clock).await
    }

    async fn ask_model(&self, clock: &AgentClock) -> Result<ModelAnswer, TurnEnd> {
        let request = ModelRequest {
            model: &self.request.model,
            system_instruction: self.system_instruction.as_deref(),
            contents: &self.history,
            tools: &self.tools.declarations,
            generation: &self.generation,
        };
        let mut listener = |event| self.tell_model_event(event);
        let model = &self.executor.model;
        // A request that is dropped ends.
        let answer = tokio::select! {
            biased;
            interruption = self.interrupted(clock) => return Err(interruption.into()),
            answer = model.generate(&request, &mut listener) => answer,
        };
        match answer {
            Ok(answer) => {
                if let Some(usage) = answer.usage {
                    self.tell(ActivityKind::Usage(usage));
                }
                Ok(answer)
            }
            Err(error) => {
                self.tell_error(error.to_string(), ErrorContext::Model);
                Err(TurnEnd::Failed(error))
            }
        }
    }

    fn tell_model_event(&self, event: ModelEvent) {
        let kind = match event {
            ModelEvent::Retry(notice) => ActivityKind::Retry(notice),
            ModelEvent::Part(part) => match part.kind {
                PartKind::Text(text) => ActivityKind::Text(text),
                PartKind::Thought(text) => ActivityKind::Thought(text),
                PartKind::Call(_) | PartKind::Other => return,
            },
        };
        self.tell(kind);
    }

    /// Waits until the task is cancelled or the time is up. Can be cancelled.
    pub(super) async fn interrupted(&self, clock: &AgentClock) -> Interruption {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Interruption::Cancelled,
            () = clock.expired() => Interruption::TimedOut,
        }
    }
}
