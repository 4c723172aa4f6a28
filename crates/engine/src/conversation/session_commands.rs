//! Carries out the commands of a client on the agent's sessions.

mod openings;
mod prompts;

use std::path::PathBuf;
use std::sync::Arc;

use lapidary_vocab::Text;
use lapidary_vocab::command::{Command, ListSessions, Steer};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, timeout, timeout_at};

use super::conversation_state::ConversationState;
use super::opening::SessionTarget;
use crate::acp::InitializeAnswer;
use crate::client::{
    CommandDone, CommandError, CommandExecutor, CommandLabel, CommandOutcome, SessionQueues,
};
use crate::config::PermissionMode;

/// State that commands need while they are carried out.
#[derive(Debug, Clone)]
pub(super) struct SessionCommands {
    state: Arc<ConversationState>,
    agent: Arc<InitializeAnswer>,
    queues: Arc<SessionQueues>,
    /// The label of the command.
    label: CommandLabel,
}

impl CommandExecutor for SessionCommands {
    async fn carry_out(mut self, command: Command, label: CommandLabel) -> CommandOutcome {
        self.label = label;
        self.carry_out_labelled(command).await
    }

    /// Prompts in the session's queue are dropped.
    fn cancel_turn(&self, session: &str) {
        self.queues.queue_for(session).interrupt_waiting();
        if let Some(hooks) = &self.state.hooks {
            hooks.cut_off(Some(session));
        }
        let is_busy = self.state.lock_table().is_busy(session);
        if is_busy {
            self.state.cancel_turn(session);
        }
    }
}

impl SessionCommands {
    pub(super) fn new(state: &Arc<ConversationState>, agent: InitializeAnswer) -> Self {
        Self {
            state: Arc::clone(state),
            agent: Arc::new(agent),
            queues: Arc::default(),
            label: CommandLabel::new(None, ""),
        }
    }

    async fn carry_out_labelled(&self, command: Command) -> CommandOutcome {
        let came = self.queues.current_epoch();
        match command {
            Command::SendMessage(message) => self.send_message(message, came).await,
            Command::CreateSession(wanted) => self.create_session(wanted, came).await,
            Command::LoadSession(wanted) => {
                let id = wanted.session_id.to_string();
                let opened = self.open(SessionTarget::Load(&id), wanted.cwd.as_ref());
                Ok(opened.await?.done)
            }
            Command::ResumeSession(wanted) => {
                let id = wanted.session_id.to_string();
                let opened = self.open(SessionTarget::Resume(&id), wanted.cwd.as_ref());
                Ok(opened.await?.done)
            }
            Command::Steer(wanted) => self.steer_turn(wanted).await,
            Command::ListSessions(wanted) => self.list_sessions(wanted).await,
            Command::CloseSession(wanted) => self.close_session(&wanted.session_id).await,
            Command::DeleteSession(wanted) => self.delete_session(&wanted.session_id).await,
            Command::Authenticate(wanted) => {
                let _opening = self.queues.opening.lock().await; // sessions that are opened after this need the login
                let method = wanted.method_id.to_string();
                Ok(self.state.client.authenticate(&method).await?.into())
            }
            Command::Interrupt(wanted) => self.interrupt_turns(wanted.session_id.as_ref()).await,
            Command::SetPermissionMode(wanted) => {
                self.set_permission_mode(&wanted.mode.to_str()).await
            }
            setting => self.change_setting(setting).await,
        }
    }

    /// Changes a setting of one session.
    async fn change_setting(&self, command: Command) -> CommandOutcome {
        let named = match &command {
            Command::SetModel(wanted) => wanted.session_id.as_ref(),
            Command::SetReasoningEffort(wanted) => wanted.session_id.as_ref(),
            Command::SetConfigOption(wanted) => wanted.session_id.as_ref(),
            Command::SetMode(wanted) => wanted.session_id.as_ref(),
            _ => return Err("unknown command".into()),
        };
        let session = self.resolve_session(named).await?;
        let queue = self.queues.queue_for(&session);
        let _setting = queue.settings.read().await;
        let state = &self.state;
        let answer = match command {
            Command::SetModel(wanted) => state.set_model(&session, &wanted.model.to_str()).await,
            Command::SetReasoningEffort(wanted) => {
                state.set_effort(&session, &wanted.effort.to_str()).await
            }
            Command::SetConfigOption(wanted) => {
                let option = wanted.config_id.to_string();
                state.set_option(&session, &option, &wanted.value).await
            }
            Command::SetMode(wanted) => state.set_mode(&session, &wanted.mode_id.to_str()).await,
            _ => return Err("unknown command".into()),
        };
        Ok(answer?.into())
    }

    /// A message for the turn under way, to an agent that takes one. Its result comes when the model gets it.
    async fn steer_turn(&self, wanted: Steer) -> CommandOutcome {
        if !self.agent.offered.steering {
            let why = "the agent takes no messages during a turn";
            return Err(format!("{why}; `send_message` waits until the turn is over").into());
        }
        let session = self.resolve_session(wanted.session_id.as_ref()).await?;
        let steered = self.state.client.steer(&session, &wanted.text);
        Ok(steered.await?.into())
    }

    async fn list_sessions(&self, wanted: ListSessions) -> CommandOutcome {
        require_offered(self.agent.offered.list, "session/list")?;
        let cwd = wanted.cwd.map(|cwd| PathBuf::from(cwd.to_string()));
        let cursor = wanted.cursor.as_ref().map(Text::to_string);
        let client = &self.state.client;
        let listed = client.list_sessions(cwd.as_deref(), cursor.as_deref());
        Ok(listed.await?.into())
    }

    async fn close_session(&self, id: &Text) -> CommandOutcome {
        let id = self.note_session(id);
        require_offered(self.agent.offered.close, "session/close")?;
        let _turn = self.end_turn(&id).await;
        let closed = self.state.client.close_session(&id).await?;
        self.forget_session(&id).await;
        Ok(closed.into())
    }

    async fn delete_session(&self, id: &Text) -> CommandOutcome {
        let id = self.note_session(id);
        require_offered(self.agent.offered.delete, "session/delete")?;
        let _turn = self.end_turn(&id).await;
        let deleted = self.state.client.delete_session(&id).await?;
        self.forget_session(&id).await;
        Ok(deleted.into())
    }

    /// Asks the agent to end the turn, and gives it a grace period. No other turn begins while the returned guard is held. `None`
    /// if the session is unknown, or if the agent did not end its turn in time: its prompt fails when the session is forgotten.
    async fn end_turn(&self, session: &str) -> Option<OwnedMutexGuard<()>> {
        self.state.lock_table().get(session)?;
        self.cancel_turn(session);
        let queue = self.queues.queue_for(session);
        let grace = self.state.request.run.grace;
        timeout(grace, queue.wait_until_free()).await.ok()
    }

    /// Forgets a session. Commands that still wait for it have failed.
    async fn forget_session(&self, session: &str) {
        if let Some(hooks) = &self.state.hooks {
            hooks.session_ends(session).await;
        }
        self.state.lock_table().forget_session(session);
        self.queues.forget_session(session);
        self.state.workspace.close_session(session).await;
    }

    /// Ends a turn, or all of them, and drops the prompts in their queues.
    async fn interrupt_turns(&self, session: Option<&Text>) -> CommandOutcome {
        let ids = if let Some(id) = session {
            vec![self.known_session(id)?]
        } else {
            self.queues.interrupt_all();
            self.state.lock_table().session_ids()
        };
        for id in &ids {
            self.cancel_turn(id);
        }
        let grace = self.state.request.run.grace;
        let last = Instant::now() + grace;
        for id in &ids {
            let queue = self.queues.queue_for(id);
            if timeout_at(last, queue.wait_until_free()).await.is_err() {
                let time = grace.as_secs_f64();
                let message = "`kill` ends the agent";
                return Err(
                    format!("the agent has not ended the turn in {time} s; {message}").into(),
                );
            }
        }
        Ok(CommandDone::default())
    }

    pub(super) fn cancel_all(&self) {
        self.queues.interrupt_all();
        let ids = self.state.lock_table().session_ids(); // the lock is not held any more
        for id in &ids {
            self.cancel_turn(id);
        }
    }

    /// It holds for all sessions, from the next request on.
    async fn set_permission_mode(&self, word: &str) -> CommandOutcome {
        let mut modes = PermissionMode::ALL.into_iter();
        let Some(mode) = modes.find(|mode| mode.as_str() == word) else {
            let words = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
            return Err(format!("unknown mode: the agent has {words}").into());
        };
        self.state.lock_table().policy_mut().set_mode(mode);
        let ids = self.state.lock_table().session_ids();
        for id in &ids {
            let queue = self.queues.queue_for(id);
            let _setting = queue.settings.read().await;
            self.enter_own_mode(id, mode).await;
        }
        Ok(CommandDone::default())
    }

    /// The session that is meant. One that is being opened may be meant too.
    async fn resolve_session(&self, named: Option<&Text>) -> Result<String, CommandError> {
        if let Some(Ok(known)) = named.map(|id| self.known_session(id)) {
            return Ok(known);
        }
        drop(self.queues.opening.lock().await);
        match named {
            Some(id) => self.known_session(id),
            None => self.only_session(),
        }
    }

    fn known_session(&self, id: &Text) -> Result<String, CommandError> {
        let id = self.note_session(id);
        let is_known = self.state.lock_table().get(&id).is_some();
        is_known
            .then_some(id)
            .ok_or_else(|| "unknown session".into())
    }

    fn only_session(&self) -> Result<String, CommandError> {
        let only = self.state.lock_table().only_session();
        let only = only.ok_or("which session is meant? `sessionId` says so")?;
        self.label.set_session(&only);
        Ok(only)
    }

    /// Notes that the command is about this session, known or not.
    fn note_session(&self, id: &Text) -> String {
        let id = id.to_string();
        self.label.set_session(&id);
        id
    }
}

/// An error if the agent does not offer the method; the request is not sent then.
fn require_offered(is_offered: bool, method: &str) -> Result<(), CommandError> {
    if is_offered {
        return Ok(());
    }
    Err(format!("the agent does not offer `{method}`").into())
}
