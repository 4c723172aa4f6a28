//! A conversation with an agent that speaks ACP: one prompt with [`run`], or any number of prompts and sessions
//! with [`connect`].
//!
//! Four tasks run at the same time, on a thread of their own, and none waits for another:
//!
//! * the *session driver* opens sessions, sends prompts and ends the agent (`session_driver`, `opening`, `turn`,
//!   `command_driver`, `session_commands`);
//! * the *permission pipeline* answers the agent's requests for permissions, files and terminals (`permission`);
//! * the *line observer* sees each line as it comes and keeps the `session_table` up to date, for the other two;
//! * the *translation* turns the lines of both sides into events, at the pace of the reader of the events (`translation`).

mod attempt;
mod command_driver;
mod completion;
mod conversation_state;
mod elicitations;
mod ending;
mod grace;
mod halt_conditions;
mod judged_turn;
mod line_observer;
mod opening;
mod permission;
mod request;
mod session_commands;
mod session_driver;
mod session_settings;
mod session_table;
mod submission_desk;
#[cfg(test)]
mod tests;
mod translation;
mod turn;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;

pub use request::{ConversationRequest, PromptJob, SessionChoice};

use self::session_driver::ConversationWork;
pub use crate::agent_hooks::ConversationHooks;
pub use crate::client::{
    ClientCommand, CommandSender, NO_SUCH_REQUEST, PermissionAnswer, PermissionPrompt,
    PromptAttendant,
};
use crate::run::recorded_events::PastFormat;
use crate::run::{Run, RunSource};

/// Runs one prompt in one session. The last event is the only `run_end`.
pub fn run(request: ConversationRequest, errand: PromptJob) -> Run {
    start(request, ConversationWork::Errand(errand))
}

/// Starts an agent and keeps it until it is not wanted any more.
pub fn connect(mut request: ConversationRequest) -> Conversation {
    request.run.retries = 0; // another agent would not know the sessions of the first
    let (orders, receiver) = CommandSender::new_channel();
    let run = start(request, ConversationWork::Orders(receiver));
    Conversation { run, orders }
}

fn start(request: ConversationRequest, work: ConversationWork) -> Run {
    let provider = request.provider.clone();
    if request.roots.is_empty() {
        let stopped = StopCause::new(Cause::BadInput, "the workspace has no directory");
        return Run::refused(&request.run.options, provider, &stopped.into(), None);
    }
    let source = RunSource::new(&request.run, PastFormat::Acp, provider);
    Run::on_a_thread(source, move |ports| attempt::run(request, work, ports))
}

/// An agent that is kept.
#[derive(Debug)]
pub struct Conversation {
    /// The events of the conversation.
    pub run: Run,
    /// Sends commands to the conversation. When the last clone is dropped, the conversation ends once all commands are done.
    pub orders: CommandSender,
}
