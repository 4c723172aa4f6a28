//! The result of a command, reported exactly once.

use std::sync::{Arc, OnceLock};

use lapidary_normalize::EventBuffer;
use lapidary_vocab::event::CommandResult;
use lapidary_vocab::{Body, Json, StructuredAnswer, Text};
use tokio::sync::mpsc;

use crate::acp::{RequestAnswer, RequestError};
use crate::conversation::ClientCommand;
use crate::conversation::conversation_state::ConversationState;
use crate::output_schema::AnswerMismatch;
use crate::run::events::RunEvents;

/// The outcome of a command: the agent's answer and its line, or an error.
pub(super) type CommandOutcome = Result<CommandDone, CommandError>;

#[derive(Debug, Default)]
pub(super) struct CommandDone {
    pub(super) result: Option<Json>,
    /// The number of the line that it comes after.
    pub(super) after: Option<u64>,
    /// The answer, judged by its output schema.
    pub(super) answer: Option<StructuredAnswer>,
}

#[derive(Debug)]
pub(super) struct CommandError {
    message: String,
    /// The answer that does not fit its output schema.
    answer: Option<StructuredAnswer>,
    /// The number of the line that it comes after.
    pub(super) after: Option<u64>,
}

impl From<&str> for CommandError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        Self {
            message,
            answer: None,
            after: None,
        }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        let after = match &error {
            RequestError::Refused(refusal) => refusal.number,
            RequestError::Connection(_) => Some(u64::MAX), // after all that the agent has said
            RequestError::Late { .. } | RequestError::TooMany { .. } => None,
        };
        Self {
            message: error.to_string(),
            answer: None,
            after,
        }
    }
}

impl CommandError {
    /// The answer does not fit, and no repair is left.
    pub(super) fn from_mismatch(mismatch: &AnswerMismatch, repairs: u32, after: u64) -> Self {
        Self {
            message: mismatch.stop_cause(repairs).message,
            answer: Some(mismatch.answer()),
            after: Some(after),
        }
    }

    /// The same error, with its subject before the message.
    pub(super) fn with_subject(self, why: &str) -> Self {
        Self {
            message: format!("{why}: {}", self.message),
            ..self
        }
    }
}

/// The outcome of a command that the agent answered.
pub(super) fn answered_outcome(answer: Result<RequestAnswer, RequestError>) -> CommandOutcome {
    let answer = answer?;
    Ok(CommandDone {
        result: Some(answer.result),
        after: Some(answer.number),
        answer: None,
    })
}

/// An error if the agent does not offer the method; the request is not sent then.
pub(super) fn require_offered(is_offered: bool, method: &str) -> Result<(), CommandError> {
    if is_offered {
        return Ok(());
    }
    Err(format!("the agent does not offer `{method}`").into())
}

/// The id and the name of a command, for its result.
#[derive(Debug, Clone)]
pub(super) struct CommandLabel {
    id: Option<Json>,
    name: Text,
    session: Arc<OnceLock<Text>>,
}

impl CommandLabel {
    pub(super) fn new(id: Option<Json>, name: &str) -> Self {
        Self {
            id,
            name: Text::from(name.to_owned()),
            session: Arc::default(),
        }
    }

    /// Notes the session of the command, once it is known.
    pub(super) fn set_session(&self, session: &str) {
        let _ = self.session.set(Text::from(session.to_owned())); // the first counts
    }

    /// Reports the result of the command. Each command has one.
    pub(super) fn report_result(self, state: &ConversationState, outcome: CommandOutcome) {
        let after = match &outcome {
            Ok(done) => done.after,
            Err(failed) => failed.after,
        };
        let session = self.session.get().cloned();
        state
            .say
            .inject_body(after, session, self.into_result_body(outcome));
    }

    fn into_result_body(self, outcome: CommandOutcome) -> Body {
        let (result, message, answer) = match outcome {
            Ok(done) => (done.result, None, done.answer),
            Err(failed) => (None, Some(Text::from(failed.message)), failed.answer),
        };
        Body::CommandResult(Box::new(CommandResult {
            command_id: self.id,
            command: self.name,
            is_error: message.is_some(),
            message,
            result,
            answer: answer.map(Box::new),
        }))
    }
}

/// Reports errors for commands that came when the agent was gone already, or was never started.
pub(in crate::conversation) fn refuse_rest(
    orders: &mut mpsc::UnboundedReceiver<ClientCommand>,
    made: &mut RunEvents,
    events: &mut EventBuffer,
) {
    orders.close();
    while let Ok(order) = orders.try_recv() {
        let label = CommandLabel::new(order.id, &order.name);
        let message = order.command.err();
        let message = message.unwrap_or_else(|| "the agent has ended".to_owned());
        made.insert(label.into_result_body(Err(message.into())), None, events);
    }
}
