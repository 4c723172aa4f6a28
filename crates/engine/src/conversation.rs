//! A conversation with an agent that speaks ACP: one prompt with [`run`], or any number of prompts and sessions
//! with [`connect`].
//!
//! Four tasks run at the same time, on a thread of their own, and none waits for another:
//!
//! * the *session driver* opens sessions, sends prompts and ends the agent (`session_driver`, `opening`, `turn`,
//!   `client_commands`);
//! * the *permission pipeline* answers the agent's requests for permissions, files and terminals (`permission`, `prompt`);
//! * the *line observer* sees each line as it comes and keeps the `session_table` up to date, for the other two;
//! * the *translation* turns the lines of both sides into events, at the pace of the reader of the events (`translation`).

mod attempt;
mod client_commands;
mod client_inbox;
mod completion;
mod conversation_state;
mod elicitation_reply;
mod elicitations;
mod ending;
mod grace;
mod halt_conditions;
mod judged_turn;
mod line_observer;
mod opening;
mod permission;
mod prompt;
mod request;
mod session_driver;
mod session_settings;
mod session_table;
#[cfg(test)]
mod tests;
mod translation;
mod turn;
mod turn_driver;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_normalize::{NormalizeOptions, ProcessEnd, StopCause};
use lapidary_vocab::command::Command;
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Cause, Json};
use tokio::sync::mpsc;

pub use prompt::{PermissionAnswer, PermissionPrompt, PromptAttendant};
pub use request::{ConversationRequest, PromptJob, SessionChoice};

use self::session_driver::ConversationWork;
pub use crate::agent_hooks::ConversationHooks;
use crate::run::recorded_events::PastFormat;
use crate::run::{Run, RunSource};

/// Runs one prompt in one session. The last event is the only `run_end`.
pub fn run(request: ConversationRequest, errand: PromptJob) -> Run {
    let options = request.run.options.clone();
    let provider = request.provider.clone();
    if request.roots.is_empty() {
        return run_without_directory(&options, provider);
    }
    let source = RunSource::new(&request.run, PastFormat::Acp, provider);
    Run::on_a_thread(source, move |ports| {
        attempt::run(request, ConversationWork::Errand(errand), ports)
    })
}

/// Starts an agent and keeps it until it is not wanted any more.
pub fn connect(mut request: ConversationRequest) -> Conversation {
    request.run.retries = 0; // another agent would not know the sessions of the first
    let (sender, orders) = mpsc::unbounded_channel();
    let options = request.run.options.clone();
    let provider = request.provider.clone();
    if request.roots.is_empty() {
        return Conversation {
            run: run_without_directory(&options, provider),
            orders: CommandSender::to_nobody(),
        };
    }
    let source = RunSource::new(&request.run, PastFormat::Acp, provider);
    let run = Run::on_a_thread(source, move |ports| {
        attempt::run(request, ConversationWork::Orders(orders), ports)
    });
    Conversation {
        run,
        orders: CommandSender(sender),
    }
}

/// There is no directory to work in.
fn run_without_directory(options: &NormalizeOptions, provider: Provider) -> Run {
    let stopped = StopCause {
        cause: Cause::BadInput,
        message: "the workspace has no directory".to_owned(),
        hint: None,
    };
    let ending = ProcessEnd {
        stopped: Some(stopped),
        ..ProcessEnd::default()
    };
    Run::refused(options, provider, &ending, None)
}

/// An agent that is kept.
#[derive(Debug)]
pub struct Conversation {
    /// All that happens.
    pub run: Run,
    /// Sends commands to the conversation. When the last clone is dropped, the conversation ends once all commands are done.
    pub orders: CommandSender,
}

/// Sends commands to a conversation.
#[derive(Debug, Clone)]
pub struct CommandSender(mpsc::UnboundedSender<ClientCommand>);

impl CommandSender {
    /// A sender whose commands are dropped: there is no agent.
    pub fn to_nobody() -> Self {
        Self(mpsc::unbounded_channel().0)
    }

    /// Sends a command. Its `command_result` follows when it is carried out; a command after the end of the conversation has
    /// none.
    pub fn give(&self, order: ClientCommand) {
        let _ = self.0.send(order);
    }
}

/// A command of the client, as read from its line.
#[derive(Debug, Clone)]
pub struct ClientCommand {
    /// The id that the client gave the command; its result repeats it.
    pub id: Option<Json>,
    /// The name of the command.
    pub name: String,
    /// The command, or the reason why the line is not one.
    pub command: Result<Command, String>,
}

impl ClientCommand {
    /// Reads a command from a line of JSON: the command's own fields, and an `id` of any kind. A line that is no command becomes
    /// a `ClientCommand` too, whose result reports the error.
    ///
    /// ```
    /// use lapidary_engine::conversation::ClientCommand;
    ///
    /// let order = ClientCommand::read(r#"{"command":"send_message","text":"hi","id":7}"#);
    /// assert_eq!((order.name.as_str(), order.id.unwrap().as_str()), ("send_message", "7"));
    /// assert!(ClientCommand::read("hi").command.is_err());
    /// ```
    pub fn read(line: &str) -> Self {
        let whole = match Token::parse(line.trim()) {
            Ok(whole) if whole.kind() == TokenKind::Object => whole,
            Ok(whole) => {
                let message = format!("{} is not a command", whole.kind().described());
                return Self::unreadable(&message);
            }
            Err(invalid) => return Self::unreadable(&format!("not valid JSON: {invalid}")),
        };
        let id = whole.get("id");
        let name = whole.get("command").and_then(Token::string);
        let command = match serde_json::from_str(line) {
            Ok(Command::Unknown(_)) => Err("unknown command".to_owned()),
            Ok(command) => Ok(command),
            Err(error) => Err(format!("it cannot be read: {error}")),
        };
        Self {
            id: id.map(|id| Json::from(SharedToken::from(id))),
            name: name.unwrap_or_default().into_owned(),
            command,
        }
    }
    /// A command that cannot be parsed.
    pub fn unreadable(message: &str) -> Self {
        Self {
            id: None,
            name: String::new(),
            command: Err(message.to_owned()),
        }
    }
}
