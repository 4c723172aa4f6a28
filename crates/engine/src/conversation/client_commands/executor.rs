//! Carries out one command.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lapidary_gemini::json_schema::JsonSchema;
use lapidary_json::SharedToken;
use lapidary_vocab::command::{Command, CreateSession, ListSessions, SendMessage};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Json, Text};
use tokio::time::{Instant, timeout_at};

use super::results::{
    CommandDone, CommandError, CommandLabel, CommandOutcome, answered_outcome, require_offered,
};
use super::session_queues::{CLOSED, InterruptEpoch, SessionQueue, SessionQueues};
use crate::acp::{InitializeAnswer, PromptAnswer};
use crate::config::PermissionMode;
use crate::conversation::conversation_state::ConversationState;
use crate::conversation::judged_turn::{AnswerOrigin, repair_blocks};
use crate::conversation::opening::SessionTarget;
use crate::conversation::request::ConversationRequest;
use crate::conversation::turn_driver::TurnDriver;
use crate::output_schema::{DEFAULT_REPAIRS, OutputSchema};
use crate::prompt_files;

/// State that commands need while they are carried out.
#[derive(Debug, Clone)]
pub(super) struct CommandExecutor {
    pub(super) state: Arc<ConversationState>,
    pub(super) terms: Arc<SessionTerms>,
    pub(super) grace: Duration,
    pub(super) queues: Arc<SessionQueues>,
    /// The label of the command.
    pub(super) label: CommandLabel,
}

/// The conditions under which sessions are opened.
#[derive(Debug)]
pub(super) struct SessionTerms {
    pub(super) agent: InitializeAnswer,
    pub(super) request: ConversationRequest,
}

impl CommandExecutor {
    /// The executor for the command with this label.
    pub(super) fn with_label(&self, label: &CommandLabel) -> Self {
        Self {
            label: label.clone(),
            ..self.clone()
        }
    }

    pub(super) async fn carry_out(&self, command: Command) -> CommandOutcome {
        let client = &self.state.client;
        match command {
            Command::SendMessage(message) => {
                self.send_message(message, self.queues.current_epoch())
                    .await
            }
            Command::CreateSession(wanted) => {
                self.create_session(wanted, self.queues.current_epoch())
                    .await
            }
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
            Command::ListSessions(wanted) => self.list_sessions(wanted).await,
            Command::CloseSession(wanted) => self.close_session(&wanted.session_id).await,
            Command::DeleteSession(wanted) => self.delete_session(&wanted.session_id).await,
            Command::Authenticate(wanted) => {
                let _opening = self.queues.opening.lock().await; // sessions that are opened after this need the login
                let method = wanted.method_id.to_string();
                answered_outcome(client.authenticate(&method).await)
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
            Command::SetMode(wanted) => {
                let mode = wanted.mode_id.to_string();
                let set = state.client.set_mode(&session, &mode).await;
                set.inspect(|_| state.note_mode(&session, &mode))
            }
            _ => return Err("unknown command".into()),
        };
        answered_outcome(answer)
    }

    /// A prompt. Without a session it goes to the only one, and if there is none, to a new one.
    async fn send_message(&self, message: SendMessage, came: InterruptEpoch) -> CommandOutcome {
        if message.text.is_empty() && message.content.is_empty() {
            return Err("the prompt is empty".into());
        }
        let session = match &message.session_id {
            None => self.session_or_new().await?,
            named => self.resolve_session(named.as_ref()).await?,
        };
        let schema = self.schema_of(&message)?;
        let mut blocks = self.text_blocks(&session, &message.text);
        blocks.extend(message.content);
        // An agent of our own has the schema of the connection as that of its result.
        let is_told = self.terms.request.local.is_some() && message.output_schema.is_none();
        if let Some(schema) = schema.as_ref().filter(|_| !is_told) {
            blocks.extend(self.text_blocks(&session, &schema.instructions().into()));
        }
        self.prompt_session(&session, blocks, (schema.as_ref(), came))
            .await
    }

    /// The schema of the command, else that of the connection.
    fn schema_of(&self, message: &SendMessage) -> Result<Option<OutputSchema>, CommandError> {
        let usual = self.terms.request.run.output_schema.as_ref();
        let mut schema = usual.cloned();
        if let Some(given) = &message.output_schema {
            let given = JsonSchema::parse(given.as_str());
            let given = given.map_err(|error| format!("`outputSchema` cannot be used: {error}"))?;
            let repairs = usual.map_or(DEFAULT_REPAIRS, OutputSchema::repairs);
            schema = Some(OutputSchema::new(given).with_repairs(repairs));
        }
        Ok(match message.schema_repairs {
            Some(repairs) => schema.map(|schema| schema.with_repairs(repairs)),
            None => schema,
        })
    }

    /// The text of a prompt. Gemini CLI gets a link for each file that it names with `@path`, as in `run`; any other text goes as it came.
    fn text_blocks(&self, session: &str, text: &Text) -> Vec<Json> {
        if text.is_empty() {
            return Vec::new();
        }
        if self.terms.request.provider == Provider::Gemini {
            let roots = self.state.lock_table().cwd_of(session).into_iter();
            let roots: Vec<_> = roots
                .chain(self.terms.request.roots.iter().cloned())
                .collect();
            let blocks = prompt_files::prompt_blocks(&text.to_str(), &roots);
            if blocks.len() > 1 || text.to_str().starts_with('@') {
                return blocks;
            }
        }
        vec![Json::object([
            ("type", Json::from_value(&"text")),
            ("text", Json::from(text)),
        ])]
    }

    async fn session_or_new(&self) -> Result<String, CommandError> {
        let _opening = self.queues.opening.lock().await;
        if !self.state.lock_table().session_ids().is_empty() {
            return self.only_session();
        }
        Ok(self.open_now(SessionTarget::New, None).await?.id)
    }

    async fn prompt_session(
        &self,
        session: &str,
        blocks: Vec<Json>,
        (schema, came): (Option<&OutputSchema>, InterruptEpoch),
    ) -> CommandOutcome {
        let queue = self.queues.queue_for(session);
        let _turn = self.queues.wait_for_turn(session, came).await?;
        let mut blocks = if queue.has_begun.load(Ordering::SeqCst) {
            blocks
        } else {
            self.with_system_prompt(blocks)
        };
        for repair in 0.. {
            if schema.is_some() {
                self.state.observer.begin_answer(session);
            }
            let prompted = self.run_turn(session, &queue, blocks).await?;
            let done = CommandDone {
                result: Some(prompted.whole.clone()),
                after: Some(prompted.number),
                answer: None,
            };
            let Some(schema) = schema else {
                return Ok(done);
            };
            let origin = AnswerOrigin::new(self.terms.request.local.is_some());
            let judged = self
                .state
                .judge_answer(session, (&prompted, origin), schema);
            let mismatch = match judged {
                None => return Ok(done),
                Some(Ok(answer)) => {
                    let answer = Some(answer);
                    return Ok(CommandDone { answer, ..done });
                }
                Some(Err(mismatch)) => mismatch,
            };
            let number = prompted.number;
            if repair >= schema.repairs() {
                return Err(CommandError::from_mismatch(&mismatch, repair, number));
            }
            let notice = mismatch.notice(repair + 1, schema.repairs());
            self.state.say.inject_notice(Some(number), notice);
            blocks = repair_blocks(&mismatch, schema);
        }
        Err("the answer was repaired too often".into())
    }

    /// One prompt, and the prompts that hooks want after it.
    async fn run_turn(
        &self,
        session: &str,
        queue: &SessionQueue,
        blocks: Vec<Json>,
    ) -> Result<PromptAnswer, CommandError> {
        let mut turn = TurnDriver::new(&self.state, session, blocks);
        loop {
            queue.unless_interrupted(turn.run_prompt_hooks()).await??;
            let prompted = self.send_prompt(&turn, queue).await;
            let prompted =
                prompted.or_else(|error| self.unless_stopped(session).and(Err(error)))?;
            // An interrupt ends the turn with the answer that is there.
            let goes_on = queue.unless_interrupted(turn.goes_on(&prompted)).await;
            self.unless_stopped(session)?;
            if !matches!(goes_on, Ok(true)) {
                return Ok(prompted);
            }
        }
    }

    /// Gives a prompt, and waits for the answer, or until the session is closed.
    async fn send_prompt(
        &self,
        turn: &TurnDriver,
        queue: &SessionQueue,
    ) -> Result<PromptAnswer, CommandError> {
        let answered = turn.give_prompt()?;
        queue.has_begun.store(true, Ordering::SeqCst);
        tokio::select! {
            biased;
            prompted = answered => Ok(prompted?),
            () = queue.closed.cancelled() => Err(CLOSED.into()),
        }
    }

    /// A turn is over. If a hook stopped it, the command has failed, even if the agent reports success.
    fn unless_stopped(&self, session: &str) -> Result<(), CommandError> {
        let mut table = self.state.lock_table();
        let stopped = table.stop_of(session);
        table.last_stop.clone_from(&stopped);
        match stopped {
            Some(stopped) => Err(stopped.message.into()),
            None => Ok(()),
        }
    }

    /// A session, and perhaps its first turn, whose result then names the session.
    async fn create_session(&self, wanted: CreateSession, came: InterruptEpoch) -> CommandOutcome {
        let opened = self.open(SessionTarget::New, Some(&wanted.cwd)).await?;
        let Some(prompt) = wanted.prompt.filter(|prompt| !prompt.is_empty()) else {
            return Ok(opened.done);
        };
        let message = SendMessage {
            session_id: Some(Text::from(opened.id.clone())),
            text: prompt,
            ..SendMessage::default()
        };
        let turn = self.send_message(message, came).await?;
        let members = turn
            .result
            .as_ref()
            .map(|result| answer_with_session(result, &opened.id));
        Ok(CommandDone {
            result: members,
            ..turn
        })
    }

    async fn list_sessions(&self, wanted: ListSessions) -> CommandOutcome {
        require_offered(self.terms.agent.offered.list, "session/list")?;
        let cwd = wanted.cwd.map(|cwd| PathBuf::from(cwd.to_string()));
        let cursor = wanted.cursor.as_ref().map(Text::to_string);
        let client = &self.state.client;
        answered_outcome(
            client
                .list_sessions(cwd.as_deref(), cursor.as_deref())
                .await,
        )
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
        let last = Instant::now() + self.grace;
        for id in &ids {
            if timeout_at(last, self.queues.queue_for(id).wait_until_free())
                .await
                .is_err()
            {
                let time = self.grace.as_secs_f64();
                let message = "`kill` ends the agent";
                return Err(
                    format!("the agent has not ended the turn in {time} s; {message}").into(),
                );
            }
        }
        Ok(CommandDone::default())
    }

    /// Asks the agent to end its turn in a session. Prompts in the session's queue are dropped.
    pub(super) fn cancel_turn(&self, session: &str) {
        self.queues.queue_for(session).interrupt_waiting();
        if let Some(hooks) = &self.state.hooks {
            hooks.cut_off(Some(session));
        }
        let is_busy = self.state.lock_table().is_busy(session);
        if is_busy {
            self.state.cancel_turn(session);
        }
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
            self.set_agent_mode(id, mode).await;
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
    pub(super) fn note_session(&self, id: &Text) -> String {
        let id = id.to_string();
        self.label.set_session(&id);
        id
    }
}

/// The agent's answer, with the id of the session.
fn answer_with_session(answer: &Json, session: &str) -> Json {
    let members = answer.token().members().map(|(name, value)| {
        let name = name.string().unwrap_or_default().into_owned();
        (name, Json::from(SharedToken::from(value)))
    });
    let members: Vec<_> = members.filter(|(name, _)| name != "sessionId").collect();
    let members = members
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    Json::object(
        [("sessionId", Json::from_value(&session))]
            .into_iter()
            .chain(members),
    )
}
