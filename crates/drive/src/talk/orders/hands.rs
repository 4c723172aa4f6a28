//! Carrying out one order.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use lapidary_json::SharedToken;
use lapidary_vocab::command::{Command, CreateSession, ListSessions, SendMessage};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Json, Text};
use tokio::time::{Instant, timeout_at};

use super::closings::needs;
use super::lanes::{CLOSED, Lane, Lanes, Moment};
use super::openings::{Terms, Which};
use super::results::{Done, Failed, Label, Outcome, answered};
use crate::acp::Prompted;
use crate::config::PermissionMode;
use crate::prompt_files;
use crate::talk::rounds::{Ended, Rounds};
use crate::talk::stage::Stage;

/// What an order needs that is under way.
#[derive(Debug, Clone)]
pub(super) struct Hands {
    pub(super) stage: Arc<Stage>,
    pub(super) terms: Arc<Terms>,
    pub(super) grace: Duration,
    pub(super) lanes: Arc<Lanes>,
    /// The order's.
    pub(super) label: Label,
}

impl Hands {
    /// The same, for this order.
    pub(super) fn about(&self, label: &Label) -> Self {
        Self {
            label: label.clone(),
            ..self.clone()
        }
    }

    pub(super) async fn carry_out(&self, command: Command) -> Outcome {
        let client = &self.stage.client;
        match command {
            Command::SendMessage(message) => self.send(message, self.lanes.now()).await,
            Command::CreateSession(wanted) => self.create(wanted, self.lanes.now()).await,
            Command::LoadSession(wanted) => {
                let id = wanted.session_id.to_string();
                let opened = self.open(Which::Loaded(&id), wanted.cwd.as_ref());
                Ok(opened.await?.done)
            }
            Command::ResumeSession(wanted) => {
                let id = wanted.session_id.to_string();
                let opened = self.open(Which::Resumed(&id), wanted.cwd.as_ref());
                Ok(opened.await?.done)
            }
            Command::ListSessions(wanted) => self.list(wanted).await,
            Command::CloseSession(wanted) => self.close(&wanted.session_id).await,
            Command::DeleteSession(wanted) => self.delete(&wanted.session_id).await,
            Command::Authenticate(wanted) => {
                let _opening = self.lanes.opening.lock().await; // what is opened after this needs it
                let method = wanted.method_id.to_string();
                answered(client.authenticate(&method).await)
            }
            Command::Interrupt(wanted) => self.interrupt(wanted.session_id.as_ref()).await,
            Command::SetPermissionMode(wanted) => {
                self.set_permission_mode(&wanted.mode.to_str()).await
            }
            setting => self.set(setting).await,
        }
    }

    /// What is set in one session.
    async fn set(&self, command: Command) -> Outcome {
        let named = match &command {
            Command::SetModel(wanted) => wanted.session_id.as_ref(),
            Command::SetReasoningEffort(wanted) => wanted.session_id.as_ref(),
            Command::SetConfigOption(wanted) => wanted.session_id.as_ref(),
            Command::SetMode(wanted) => wanted.session_id.as_ref(),
            _ => return Err("unknown command".into()),
        };
        let session = self.session(named).await?;
        let lane = self.lanes.of(&session);
        let _setting = lane.settings.read().await;
        let stage = &self.stage;
        let answer = match command {
            Command::SetModel(wanted) => stage.set_model(&session, &wanted.model.to_str()).await,
            Command::SetReasoningEffort(wanted) => {
                stage.set_effort(&session, &wanted.effort.to_str()).await
            }
            Command::SetConfigOption(wanted) => {
                let option = wanted.config_id.to_string();
                stage.set_option(&session, &option, &wanted.value).await
            }
            Command::SetMode(wanted) => {
                let mode = wanted.mode_id.to_string();
                let set = stage.client.set_mode(&session, &mode).await;
                set.inspect(|_| stage.is_in_mode(&session, &mode))
            }
            _ => return Err("unknown command".into()),
        };
        answered(answer)
    }

    /// A prompt. Without a session it goes to the only one, and if there is none, to a new one.
    async fn send(&self, message: SendMessage, came: Moment) -> Outcome {
        if message.text.is_empty() && message.content.is_empty() {
            return Err("the prompt is empty".into());
        }
        let session = match &message.session_id {
            None => self.session_or_new().await?,
            named => self.session(named.as_ref()).await?,
        };
        let mut blocks = self.text_blocks(&session, &message.text);
        blocks.extend(message.content);
        self.prompt(&session, blocks, came).await
    }

    /// The text of a prompt. Gemini CLI gets a link for each file that it names with `@path`, as in `run`; any other text goes as it came.
    fn text_blocks(&self, session: &str, text: &Text) -> Vec<Json> {
        if text.is_empty() {
            return Vec::new();
        }
        if self.terms.provider == Provider::Gemini {
            let roots = self.stage.cwd_of(session).into_iter();
            let roots: Vec<_> = roots.chain(self.terms.roots.iter().cloned()).collect();
            let blocks = prompt_files::blocks(&text.to_str(), &roots);
            if blocks.len() > 1 || text.to_str().starts_with('@') {
                return blocks;
            }
        }
        vec![Json::object([
            ("type", Json::from_value(&"text")),
            ("text", Json::from(text)),
        ])]
    }

    async fn session_or_new(&self) -> Result<String, Failed> {
        let _opening = self.lanes.opening.lock().await;
        if !self.stage.sessions().ids().is_empty() {
            return self.only();
        }
        Ok(self.open_now(Which::New, None).await?.id)
    }

    async fn prompt(&self, session: &str, blocks: Vec<Json>, came: Moment) -> Outcome {
        let lane = self.lanes.of(session);
        let _turn = self.lanes.turn(session, came).await?;
        let blocks = if lane.has_begun.load(Ordering::SeqCst) {
            blocks
        } else {
            self.introduced(blocks)
        };
        let mut rounds = Rounds::new(&blocks);
        let before = self.stage.before_prompt(session, &blocks);
        let mut next = lane.unless_interrupted(before).await??;
        loop {
            let prompted = self.say(session, &lane, &next).await;
            let prompted =
                prompted.or_else(|error| self.unless_stopped(session).and(Err(error)))?;
            let ended = Ended::of(&prompted);
            let again = self.stage.after_prompt(session, &mut rounds, ended);
            // Whoever interrupts it does not want the agent to go on.
            let again = lane.unless_interrupted(again).await;
            self.unless_stopped(session)?;
            let Ok(Some(more)) = again else {
                return Ok(Done {
                    result: Some(prompted.whole),
                    after: Some(prompted.number),
                });
            };
            let before = self.stage.before_prompt(session, &more);
            next = lane.unless_interrupted(before).await??;
        }
    }

    /// Gives a prompt, and waits for the answer. Who gives up waiting tells the agent so.
    async fn say(&self, session: &str, lane: &Lane, prompt: &[Json]) -> Result<Prompted, Failed> {
        let waiting = self.stage.begin(session, prompt)?;
        lane.has_begun.store(true, Ordering::SeqCst);
        tokio::select! {
            biased;
            prompted = self.stage.finish(session, waiting) => Ok(prompted?),
            () = lane.closed.cancelled() => Err(CLOSED.into()),
        }
    }

    /// A turn is over. A hook that has stopped it is why it failed, whatever the agent says.
    fn unless_stopped(&self, session: &str) -> Result<(), Failed> {
        let stopped = self.stage.stop_of(session);
        self.stage.has_ended(stopped.clone());
        match stopped {
            Some(stopped) => Err(stopped.message.into()),
            None => Ok(()),
        }
    }

    /// A session, and perhaps its first turn, whose result then names the session.
    async fn create(&self, wanted: CreateSession, came: Moment) -> Outcome {
        let opened = self.open(Which::New, Some(&wanted.cwd)).await?;
        let Some(prompt) = wanted.prompt.filter(|prompt| !prompt.is_empty()) else {
            return Ok(opened.done);
        };
        let message = SendMessage {
            session_id: Some(Text::from(opened.id.clone())),
            text: prompt,
            content: Vec::new(),
        };
        let turn = self.send(message, came).await?;
        let members = turn.result.as_ref().map(|result| with(result, &opened.id));
        Ok(Done {
            result: members,
            ..turn
        })
    }

    async fn list(&self, wanted: ListSessions) -> Outcome {
        needs(self.terms.agent.offered.list, "session/list")?;
        let cwd = wanted.cwd.map(|cwd| PathBuf::from(cwd.to_string()));
        let cursor = wanted.cursor.as_ref().map(Text::to_string);
        let client = &self.stage.client;
        answered(
            client
                .list_sessions(cwd.as_deref(), cursor.as_deref())
                .await,
        )
    }

    /// Ends a turn, or all of them, and what waits behind it.
    async fn interrupt(&self, session: Option<&Text>) -> Outcome {
        let ids = if let Some(id) = session {
            vec![self.known(id)?]
        } else {
            self.lanes.interrupt();
            self.stage.sessions().ids()
        };
        for id in &ids {
            self.cancel(id);
        }
        let last = Instant::now() + self.grace;
        for id in &ids {
            if timeout_at(last, self.lanes.of(id).free()).await.is_err() {
                let time = self.grace.as_secs_f64();
                let message = "`kill` ends the agent";
                return Err(
                    format!("the agent has not ended the turn in {time} s; {message}").into(),
                );
            }
        }
        Ok(Done::default())
    }

    /// Asks the agent to end what it does in a session. What waits behind it is not said any more.
    pub(super) fn cancel(&self, session: &str) {
        self.lanes.of(session).interrupt();
        self.stage.watcher.calls(|calls| calls.cut_off(session));
        if self.stage.is_busy(session) {
            self.stage.cancel(session);
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lanes.interrupt();
        let ids = self.stage.sessions().ids(); // the lock is not held any more
        for id in &ids {
            self.cancel(id);
        }
    }

    /// It holds for all sessions, from the next request on.
    async fn set_permission_mode(&self, word: &str) -> Outcome {
        let mut modes = PermissionMode::ALL.into_iter();
        let Some(mode) = modes.find(|mode| mode.as_str() == word) else {
            let words = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
            return Err(format!("unknown mode: the agent has {words}").into());
        };
        let policy = self.stage.policy.lock();
        policy
            .unwrap_or_else(PoisonError::into_inner)
            .set_mode(mode);
        let ids = self.stage.sessions().ids();
        for id in &ids {
            let lane = self.lanes.of(id);
            let _setting = lane.settings.read().await;
            self.set_agent_mode(id, mode).await;
        }
        Ok(Done::default())
    }

    /// The session that is meant. One that is being opened may be meant too.
    async fn session(&self, named: Option<&Text>) -> Result<String, Failed> {
        if let Some(Ok(known)) = named.map(|id| self.known(id)) {
            return Ok(known);
        }
        drop(self.lanes.opening.lock().await);
        match named {
            Some(id) => self.known(id),
            None => self.only(),
        }
    }

    fn known(&self, id: &Text) -> Result<String, Failed> {
        let id = self.named(id);
        let is_known = self.stage.sessions().get(&id).is_some();
        is_known
            .then_some(id)
            .ok_or_else(|| "unknown session".into())
    }

    fn only(&self) -> Result<String, Failed> {
        let only = self.stage.sessions().only();
        let only = only.ok_or("which session is meant? `sessionId` says so")?;
        self.label.is_about(&only);
        Ok(only)
    }

    /// The order is about this session, whether there is one or not.
    pub(super) fn named(&self, id: &Text) -> String {
        let id = id.to_string();
        self.label.is_about(&id);
        id
    }
}

/// What the agent answered, and in which session.
fn with(answer: &Json, session: &str) -> Json {
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
