//! The result of a command, reported exactly once.

use std::sync::{Arc, OnceLock};

use lapidary_normalize::EventBuffer;
use lapidary_vocab::event::CommandResult;
use lapidary_vocab::{Body, Json, StructuredAnswer, Text};

use super::command::CommandReceiver;
use crate::acp::{RequestAnswer, RequestError};
use crate::output_schema::AnswerMismatch;
use crate::run::events::RunEvents;
use crate::run::injected_events::EventInjector;

/// The error of commands that are under way when the agent ends.
pub(crate) const TOO_LATE: &str = "the agent was ended before this was done";

/// The outcome of a command: the agent's answer and its line, or an error.
pub(crate) type CommandOutcome = Result<CommandDone, CommandError>;

#[derive(Debug, Default)]
pub(crate) struct CommandDone {
    pub(crate) result: Option<Json>,
    /// The number of the line that it comes after.
    pub(crate) after: Option<u64>,
    /// The answer, judged by its output schema.
    pub(crate) answer: Option<StructuredAnswer>,
}

#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    /// The answer that does not fit its output schema.
    answer: Option<StructuredAnswer>,
    /// The number of the line that it comes after.
    pub(crate) after: Option<u64>,
}

impl CommandDone {
    /// The agent has answered, in the line of this number.
    pub(crate) fn new(result: Json, number: u64) -> Self {
        Self {
            result: Some(result),
            after: Some(number),
            answer: None,
        }
    }
}

impl From<RequestAnswer> for CommandDone {
    fn from(answer: RequestAnswer) -> Self {
        Self::new(answer.result, answer.number)
    }
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
    pub(crate) fn from_mismatch(mismatch: &AnswerMismatch, repairs: u32, after: u64) -> Self {
        Self {
            message: mismatch.stop_cause(repairs).message,
            answer: Some(mismatch.answer()),
            after: Some(after),
        }
    }

    /// The same error, with its subject before the message.
    pub(crate) fn with_subject(self, why: &str) -> Self {
        Self {
            message: format!("{why}: {}", self.message),
            ..self
        }
    }
}

/// The id and the name of a command, for its result.
#[derive(Debug, Clone)]
pub(crate) struct CommandLabel {
    id: Option<Json>,
    name: Text,
    session: Arc<OnceLock<Text>>,
}

impl CommandLabel {
    pub(crate) fn new(id: Option<Json>, name: &str) -> Self {
        Self {
            id,
            name: Text::from(name.to_owned()),
            session: Arc::default(),
        }
    }

    /// Notes the session of the command, once it is known.
    pub(crate) fn set_session(&self, session: &str) {
        let _ = self.session.set(Text::from(session.to_owned())); // the first counts
    }

    /// Reports the result of the command. Each command has one.
    pub(crate) fn report_result(self, say: &EventInjector, outcome: CommandOutcome) {
        let after = match &outcome {
            Ok(done) => done.after,
            Err(failed) => failed.after,
        };
        let session = self.session.get().cloned();
        say.inject_body(after, session, self.into_result_body(outcome));
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
pub(crate) fn refuse_rest(
    orders: &mut CommandReceiver,
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
