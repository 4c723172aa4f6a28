//! Commands of a client, carried out at the same time: prompts take long, and permission prompts have to be answered meanwhile.
//!
//! The command loop takes commands and reports the result of each, exactly once; its executor carries them out.

mod executor;
mod replies;
mod results;
mod session_closings;
mod session_openings;
mod session_queues;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;
use lapidary_vocab::command::Command;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};

use self::executor::CommandExecutor;
use self::replies::EarlyAnswer;
use self::results::{CommandDone, CommandLabel, CommandOutcome};
use super::ClientCommand;
use super::conversation_state::ConversationState;
use super::ending::{SessionError, stopped_error};
use super::halt_conditions::{HaltReason, TurnPhase};
use super::session_driver::SessionDriver;
use crate::acp::{ConnectionError, InitializeAnswer};
use crate::process::Exit;
use crate::run::ending::cancelled_by_client;

pub(super) use self::results::refuse_rest;

/// So many commands may be under way. One more is refused.
const MOST: usize = 256;

/// So many interrupts may be under way beside them: a client that has given too many commands wants to end some of them.
const MOST_INTERRUPTS: usize = 16;

/// How long commands under way have to notice that the agent is gone.
const NOTICE: Duration = Duration::from_secs(1);

/// The error of commands that are under way when the agent ends.
const TOO_LATE: &str = "the agent was ended before this was done";

/// Takes commands, and reports their results.
struct CommandLoop {
    executor: CommandExecutor,
    under_way: JoinSet<CommandOutcome>,
    /// The labels of the commands under way, the oldest first.
    labels: Vec<(Id, CommandLabel)>,
    /// Answers that wait for their prompt.
    early: Vec<EarlyAnswer>,
}

/// Where commands come from.
type CommandSource = mpsc::UnboundedReceiver<ClientCommand>;

/// Whether more commands may come.
fn is_open(orders: &CommandSource) -> bool {
    !(orders.is_closed() && orders.is_empty())
}

impl SessionDriver<'_> {
    /// Carries out commands until none come any more and all are done.
    pub(super) async fn carry_out(
        &mut self,
        orders: &mut CommandSource,
    ) -> Result<(), SessionError> {
        let mut early = VecDeque::new();
        let ready = self.get_ready(orders, &mut early).await;
        let agent = match ready {
            Ok(agent) => agent,
            Err(broken) => {
                for order in early {
                    CommandLabel::new(order.id, &order.name)
                        .report_result(&self.state, Err(TOO_LATE.into()));
                }
                return Err(broken);
            }
        };
        let mut commands = CommandLoop::new(self.command_executor(agent));
        for order in early {
            commands.take_command(order);
        }
        let ended = self.serve_commands(&mut commands, orders).await;
        commands.clear();
        if let Some(inbox) = commands.client_inbox() {
            inbox.end_conversation();
        }
        ended
    }

    /// Initializes the agent. Until it has answered, commands wait, except `kill`.
    async fn get_ready(
        &mut self,
        orders: &mut CommandSource,
        early: &mut VecDeque<ClientCommand>,
    ) -> Result<InitializeAnswer, SessionError> {
        let state = Arc::clone(&self.state);
        let hello = self.initialize_agent();
        tokio::pin!(hello);
        loop {
            // Both branches are cancel-safe.
            tokio::select! {
                biased;
                ready = &mut hello => return ready,
                order = orders.recv(), if is_open(orders) => match order {
                    None => {}
                    Some(order) if is_kill(&order) => return Err(killed_agent_error(order, &state)),
                    Some(order) => early.push_back(order),
                }
            }
        }
    }

    async fn serve_commands(
        &mut self,
        commands: &mut CommandLoop,
        orders: &mut CommandSource,
    ) -> Result<(), SessionError> {
        let process = self.process.clone();
        loop {
            let is_open = is_open(orders);
            if !is_open {
                if let Some(inbox) = commands.client_inbox() {
                    inbox.close();
                }
                if commands.under_way.is_empty() && commands.early.is_empty() {
                    return self.finish_commands();
                }
            }
            let phase = commands.turn_phase();
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                halt = self.halts.next(phase, &commands.executor.state) => {
                    self.note_stall();
                    self.wind_down(commands, &halt).await;
                    return Err(halt.into());
                }
                _ = process.gone() => {
                    let was_idle = commands.under_way.is_empty();
                    commands.settle_commands(NOTICE).await;
                    return Err(if was_idle { self.left_by_itself() } else { SessionError::Told });
                }
                () = self.state.prompts.wait_for_change(), if !commands.early.is_empty() => commands.look_again(),
                Some(done) = commands.under_way.join_next_with_id() => {
                    commands.finish_command(done);
                    if let Some(ended) = commands.executor.state.client.connection().ended() {
                        commands.settle_commands(NOTICE).await;
                        return Err(ended.into());
                    }
                }
                order = orders.recv(), if is_open => match order {
                    None => {}
                    Some(order) if is_kill(&order) => {
                        commands.clear();
                        return Err(killed_agent_error(order, &commands.executor.state));
                    }
                    Some(order) => commands.take_command(order),
                },
            }
        }
    }

    /// Ends all turns, and gives them some time to end.
    async fn wind_down(&mut self, commands: &mut CommandLoop, halt: &HaltReason) {
        commands.executor.cancel_all();
        let time = if halt.is_urgent {
            Duration::ZERO
        } else {
            self.halts.grace.step_share()
        };
        tokio::select! {
            () = commands.settle_commands(time) => {}
            () = self.halts.at_once() => {}
        }
        self.is_deaf = !commands.under_way.is_empty();
    }

    /// The agent has exited while no command was under way. Its earlier turns succeeded, but an exit with an error is still a
    /// crash.
    fn left_by_itself(&self) -> SessionError {
        match self.state.client.connection().ended() {
            Some(
                ended @ ConnectionError::Closed {
                    exit: Some(Exit::Code(1..) | Exit::Signal(_)),
                    ..
                },
            ) => stopped_error(Cause::AgentCrashed, ended.to_string(), None),
            _ => SessionError::Told,
        }
    }

    /// All commands are done. A conversation without prompts ends with the cause `EndTurn`, which is a success.
    fn finish_commands(&self) -> Result<(), SessionError> {
        let table = self.state.lock_table();
        if let Some(stopped) = &table.last_stop {
            return Err(SessionError::Stopped(stopped.clone()));
        }
        let has_prompted = table.has_prompted;
        drop(table);
        if has_prompted {
            return self.check_budget();
        }
        Err(SessionError::Stopped(StopCause {
            cause: Cause::EndTurn,
            message: String::new(),
            hint: None,
        }))
    }
}

fn is_kill(order: &ClientCommand) -> bool {
    matches!(order.command, Ok(Command::Kill(_)))
}

fn killed_agent_error(order: ClientCommand, state: &ConversationState) -> SessionError {
    CommandLabel::new(order.id, &order.name).report_result(state, Ok(CommandDone::default()));
    SessionError::Stopped(cancelled_by_client())
}

impl CommandLoop {
    fn new(executor: CommandExecutor) -> Self {
        Self {
            executor,
            under_way: JoinSet::new(),
            labels: Vec::new(),
            early: Vec::new(),
        }
    }

    fn turn_phase(&self) -> TurnPhase {
        if self.executor.state.lock_table().is_any_busy() {
            TurnPhase::Turn
        } else {
            TurnPhase::Waiting
        }
    }

    /// Carries out quick commands at once, and starts a task for each command that takes time.
    fn take_command(&mut self, order: ClientCommand) {
        let label = CommandLabel::new(order.id, &order.name);
        let command = match order.command {
            Err(message) => return label.report_result(&self.executor.state, Err(message.into())),
            Ok(Command::PermissionResponse(response)) => {
                return self.reply_to_prompt(response, label);
            }
            Ok(Command::ElicitationResponse(response)) => return self.fill_in(response, label),
            Ok(command) => command,
        };
        let spare = match command {
            Command::Interrupt(_) => MOST_INTERRUPTS,
            _ => 0,
        };
        if self.under_way.len() >= MOST + spare {
            let refused = format!("{MOST} commands are under way already");
            return label.report_result(&self.executor.state, Err(refused.into()));
        }
        let executor = self.executor.with_label(&label);
        let task = async move { executor.carry_out(command).await };
        self.labels.push((self.under_way.spawn(task).id(), label));
    }

    /// A command is done.
    fn finish_command(&mut self, done: Result<(Id, CommandOutcome), JoinError>) {
        let (id, outcome) = match done {
            Ok(done) => done,
            Err(error) => (error.id(), Err("it could not be carried out".into())),
        };
        let place = self.labels.iter().position(|(known, _)| *known == id);
        if let Some(place) = place {
            let (_, label) = self.labels.remove(place);
            label.report_result(&self.executor.state, outcome);
        }
    }

    /// Waits for the commands under way, at most for `time`. Can be cancelled.
    async fn settle_commands(&mut self, time: Duration) {
        let settled = async {
            while let Some(done) = self.under_way.join_next_with_id().await {
                self.finish_command(done);
            }
        };
        let _ = tokio::time::timeout(time, settled).await;
    }

    /// Ends all commands: each has its one result.
    fn clear(&mut self) {
        while let Some(done) = self.under_way.try_join_next_with_id() {
            self.finish_command(done);
        }
        self.under_way.abort_all();
        let early = std::mem::take(&mut self.early).into_iter();
        let labels = std::mem::take(&mut self.labels).into_iter();
        let labels = labels.map(|(_, label)| label);
        for label in labels.chain(early.map(|early| early.label)) {
            label.report_result(&self.executor.state, Err(TOO_LATE.into()));
        }
    }
}
