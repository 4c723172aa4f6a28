//! Commands of a client: the session driver takes them until none come any more, and ends them with the agent.

use std::sync::Arc;
use std::time::Duration;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;

use super::ending::{SessionError, stopped_error};
use super::halt_conditions::{HaltReason, TurnPhase};
use super::session_commands::SessionCommands;
use super::session_driver::SessionDriver;
use crate::acp::{ConnectionError, InitializeAnswer};
use crate::client::{
    ClientCommand, CommandDone, CommandLabel, CommandLoop, CommandReceiver, TOO_LATE, is_kill,
};
use crate::process::Exit;
use crate::run::ending::cancelled_by_client;

/// How long commands under way have to notice that the agent is gone.
const NOTICE: Duration = Duration::from_secs(1);

/// Whether more commands may come.
fn is_open(orders: &CommandReceiver) -> bool {
    !(orders.is_closed() && orders.is_empty())
}

impl SessionDriver {
    /// Carries out commands until none come any more and all are done.
    pub(super) async fn carry_out(
        &mut self,
        orders: &mut CommandReceiver,
    ) -> Result<(), SessionError> {
        let mut early = Vec::new();
        let agent = match self.get_ready(orders, &mut early).await {
            Ok(agent) => agent,
            Err(broken) => {
                for order in early {
                    let label = CommandLabel::new(order.id, &order.name);
                    label.report_result(&self.state.say, Err(TOO_LATE.into()));
                }
                return Err(broken);
            }
        };
        self.state.note_directories(agent.offered);
        let executor = SessionCommands::new(&self.state, agent);
        let inbox = self.state.prompts.client_inbox().cloned();
        let mut commands = CommandLoop::new(executor, self.state.say.clone(), inbox);
        for order in early {
            commands.take_command(order);
        }
        let ended = self.serve_commands(&mut commands, orders).await;
        commands.end();
        ended
    }

    /// Initializes the agent. Until it has answered, commands wait, except `kill`.
    async fn get_ready(
        &mut self,
        orders: &mut CommandReceiver,
        early: &mut Vec<ClientCommand>,
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
                    Some(order) if is_kill(&order) => return Err(state.killed_error(order)),
                    Some(order) => early.push(order),
                }
            }
        }
    }

    async fn serve_commands(
        &mut self,
        commands: &mut CommandLoop<SessionCommands>,
        orders: &mut CommandReceiver,
    ) -> Result<(), SessionError> {
        let (state, process) = (Arc::clone(&self.state), self.process.clone());
        loop {
            let is_open = is_open(orders);
            if !is_open && commands.close() {
                return self.finish_commands();
            }
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                halt = self.halts.next(TurnPhase::Commands) => {
                    self.note_stall();
                    self.wind_down(commands, &halt).await;
                    return Err(halt.into());
                }
                _ = process.gone() => {
                    let was_idle = !commands.is_under_way();
                    commands.settle_commands(NOTICE).await;
                    return Err(if was_idle { self.left_by_itself() } else { SessionError::Reported });
                }
                is_done = commands.next_step() => {
                    if is_done && let Some(ended) = state.client.connection().ended() {
                        commands.settle_commands(NOTICE).await;
                        return Err(ended.into());
                    }
                }
                order = orders.recv(), if is_open => match order {
                    None => {}
                    Some(order) if is_kill(&order) => {
                        commands.clear();
                        return Err(state.killed_error(order));
                    }
                    Some(order) => commands.take_command(order),
                },
            }
        }
    }

    /// Ends all turns, and gives them some time to end.
    async fn wind_down(&mut self, commands: &mut CommandLoop<SessionCommands>, halt: &HaltReason) {
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
        self.is_deaf = commands.is_under_way();
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
            _ => SessionError::Reported,
        }
    }

    /// All commands are done. A conversation without prompts ends with the cause `EndTurn`, which is a success.
    fn finish_commands(&self) -> Result<(), SessionError> {
        let (stopped, has_prompted) = {
            let table = self.state.lock_table();
            (table.last_stop.clone(), table.has_prompted)
        };
        match stopped {
            Some(stopped) => Err(SessionError::Stopped(stopped)),
            None if has_prompted => self.check_budget(),
            None => Err(SessionError::Stopped(StopCause::new(Cause::EndTurn, ""))),
        }
    }
}

impl super::conversation_state::ConversationState {
    /// A command has ended the agent.
    fn killed_error(&self, order: ClientCommand) -> SessionError {
        let label = CommandLabel::new(order.id, &order.name);
        label.report_result(&self.say, Ok(CommandDone::default()));
        SessionError::Stopped(cancelled_by_client())
    }
}
