//! Takes commands and reports their results. Commands are carried out at the same time: prompts take long, and permission prompts
//! have to be answered meanwhile.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use lapidary_vocab::command::{Command, ElicitationResponse, PermissionResponse};
use tokio::task::{Id, JoinError, JoinSet};

use super::command::ClientCommand;
use super::elicitation_reply::ElicitationReply;
use super::inbox::ClientInbox;
use super::results::{CommandDone, CommandError, CommandLabel, CommandOutcome, TOO_LATE};
use crate::run::injected_events::EventInjector;

/// The message of a `command_result` for an answer that comes too late, or to no request.
pub const NO_SUCH_REQUEST: &str = "no request of this id waits for an answer";

/// How many commands may be under way. One more is refused.
const MOST: usize = 256;

/// How many interrupts may be under way beside them: a client that has given too many commands wants to end some of them.
const MOST_INTERRUPTS: usize = 16;

/// Carries out the commands of a client.
pub(crate) trait CommandExecutor: Clone + Send + 'static {
    /// Carries out one command. The label notes the session of the command as soon as that is known.
    fn carry_out(
        self,
        command: Command,
        label: CommandLabel,
    ) -> impl Future<Output = CommandOutcome> + Send;

    /// Asks the agent to end its turn in a session.
    fn cancel_turn(&self, session: &str);
}

/// Whether a command ends the agent.
pub(crate) fn is_kill(order: &ClientCommand) -> bool {
    matches!(order.command, Ok(Command::Kill(_)))
}

/// Takes commands, and reports the result of each.
#[derive(Debug)]
pub(crate) struct CommandLoop<E> {
    pub(crate) executor: E,
    say: EventInjector,
    inbox: Option<Arc<ClientInbox>>,
    under_way: JoinSet<CommandOutcome>,
    /// The labels of the commands under way, the oldest first.
    labels: Vec<(Id, CommandLabel)>,
    /// Answers that came before their prompt.
    early: Vec<(PermissionResponse, CommandLabel)>,
}

impl<E: CommandExecutor> CommandLoop<E> {
    pub(crate) fn new(executor: E, say: EventInjector, inbox: Option<Arc<ClientInbox>>) -> Self {
        Self {
            executor,
            say,
            inbox,
            under_way: JoinSet::new(),
            labels: Vec::new(),
            early: Vec::new(),
        }
    }

    /// Whether commands are being carried out.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// No commands come any more. Whether all of them are done.
    pub(crate) fn close(&self) -> bool {
        if let Some(inbox) = &self.inbox {
            inbox.close();
        }
        self.under_way.is_empty() && self.early.is_empty()
    }

    /// Carries out quick commands at once, and starts a task for each command that takes time.
    pub(crate) fn take_command(&mut self, order: ClientCommand) {
        let label = CommandLabel::new(order.id, &order.name);
        let command = match order.command {
            Err(message) => return self.report(label, Err(message.into())),
            Ok(Command::PermissionResponse(response)) => return self.settle_reply(response, label),
            Ok(Command::ElicitationResponse(response)) => return self.fill_in(response, label),
            Ok(command) => command,
        };
        let spare = match command {
            Command::Interrupt(_) => MOST_INTERRUPTS,
            _ => 0,
        };
        if self.under_way.len() >= MOST + spare {
            let refused = format!("{MOST} commands are under way already");
            return self.report(label, Err(refused.into()));
        }
        let executor = self.executor.clone();
        let task = executor.carry_out(command, label.clone());
        self.labels.push((self.under_way.spawn(task).id(), label));
    }

    /// Waits until a command is done, or a prompt has come out for an answer that was early. True if a command is done.
    /// Cancel-safe.
    pub(crate) async fn next_step(&mut self) -> bool {
        let inbox = self.inbox.clone().filter(|_| !self.early.is_empty());
        let prompt_is_out = async {
            match &inbox {
                Some(inbox) => inbox.wait_for_change().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = prompt_is_out => {
                for (response, label) in take(&mut self.early) {
                    self.settle_reply(response, label);
                }
                false
            }
            Some(done) = self.under_way.join_next_with_id() => {
                self.finish_command(done);
                true
            }
        }
    }

    fn finish_command(&mut self, done: Result<(Id, CommandOutcome), JoinError>) {
        let (id, outcome) = match done {
            Ok(done) => done,
            Err(error) => (error.id(), Err("it could not be carried out".into())),
        };
        let place = self.labels.iter().position(|(known, _)| *known == id);
        if let Some(place) = place {
            let (_, label) = self.labels.remove(place);
            self.report(label, outcome);
        }
    }

    /// Waits for the commands under way, at most for `time`. Can be cancelled.
    pub(crate) async fn settle_commands(&mut self, time: Duration) {
        let settled = async {
            while let Some(done) = self.under_way.join_next_with_id().await {
                self.finish_command(done);
            }
        };
        let _ = tokio::time::timeout(time, settled).await;
    }

    /// Ends all commands: each has its one result.
    pub(crate) fn clear(&mut self) {
        while let Some(done) = self.under_way.try_join_next_with_id() {
            self.finish_command(done);
        }
        self.under_way.abort_all();
        let labels = take(&mut self.labels).into_iter().map(|(_, label)| label);
        let early = take(&mut self.early).into_iter().map(|(_, label)| label);
        for label in labels.chain(early) {
            self.report(label, Err(TOO_LATE.into()));
        }
    }

    /// The conversation has ended: commands are ended, and prompts are denied from now on.
    pub(crate) fn end(&mut self) {
        self.clear();
        if let Some(inbox) = &self.inbox {
            inbox.end_conversation();
        }
    }

    /// The client has answered a permission prompt. An event may be out before its prompt, and a client that reads quickly answers
    /// first: such an answer waits until the request, which is announced, has become a prompt, or was decided without one.
    fn settle_reply(&mut self, response: PermissionResponse, label: CommandLabel) {
        let (id, inbox) = (&response.request_id, self.inbox.as_ref());
        // In this order: a prompt that comes out between the two is found.
        let may_come =
            inbox.is_some_and(|inbox| inbox.is_prompt_expected(id)) && self.early.len() < MOST;
        let outcome = match inbox.and_then(|inbox| inbox.answer_prompt(&response, &label)) {
            Some(Ok(session)) => {
                if response.interrupt == Some(true) {
                    self.executor.cancel_turn(&session.to_str());
                }
                Ok(CommandDone::default())
            }
            Some(Err(refused)) => Err(refused),
            None if may_come => return self.early.push((response, label)),
            None => Err(NO_SUCH_REQUEST.into()),
        };
        self.report(label, outcome);
    }

    /// A user has answered an elicitation.
    fn fill_in(&self, response: ElicitationResponse, label: CommandLabel) {
        let id = response.request_id.clone();
        let outcome = ElicitationReply::from_response(response).and_then(|reply| {
            let inbox = self.inbox.as_ref();
            let inbox = inbox.ok_or("no elicitation waits for an answer")?;
            inbox.answer_elicitation(&id, reply)?;
            Ok(CommandDone::default())
        });
        self.report(label, outcome.map_err(CommandError::from));
    }

    fn report(&self, label: CommandLabel, outcome: CommandOutcome) {
        label.report_result(&self.say, outcome);
    }
}

#[cfg(test)]
mod tests;
