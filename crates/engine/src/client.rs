//! The client program of a conversation (`lapidary connect`): its commands, their order and results, and the permission prompts and
//! elicitations that wait for its answers.
//!
//! [`CommandLoop`] takes commands and reports the result of each, exactly once. A [`CommandExecutor`] carries them out; nothing
//! here knows how.

mod command;
mod command_loop;
mod elicitation_reply;
mod inbox;
mod prompt;
mod replies;
mod results;
mod session_queues;

pub(crate) use command::CommandReceiver;
pub use command::{ClientCommand, CommandSender};
pub use command_loop::NO_SUCH_REQUEST;
pub(crate) use command_loop::{CommandExecutor, CommandLoop, is_kill};
pub(crate) use elicitation_reply::ElicitationReply;
pub(crate) use inbox::{ClientInbox, ExpectedPrompt, PromptTarget};
pub use prompt::{PermissionAnswer, PermissionPrompt, PromptAttendant};
pub(crate) use results::{
    CommandDone, CommandError, CommandLabel, CommandOutcome, TOO_LATE, refuse_rest,
};
pub(crate) use session_queues::{InterruptEpoch, SessionQueue, SessionQueues};
