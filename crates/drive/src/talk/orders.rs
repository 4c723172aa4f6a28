//! What somebody orders, carried out one by one and at the same time: prompts take long, and a permission has to be given meanwhile.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use lapidary_normalize::Stopped;
use lapidary_vocab::command::{Command, CreateSession, PermissionResponse, SendMessage};
use lapidary_vocab::event::{CommandResult, DecidedBy};
use lapidary_vocab::{Body, Cause, Json, Text};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::Order;
use super::asking::{Question, Reply};
use super::course::Course;
use super::ending::Broken;
use super::halts::Phase;
use super::opening::OwnedSetting;
use super::stage::Stage;
use crate::acp::{Answer, Initialized, OpenedSession, Process, RequestError};
use crate::config::PermissionMode;
use crate::run::ending::cancelled;

/// So many orders may be under way. One more is refused.
const MOST: usize = 256;

/// Carries orders out.
struct Desk {
    hands: Hands,
    under_way: JoinSet<()>,
    /// Questions that wait for an answer, the oldest first.
    questions: VecDeque<Question>,
}

/// What an order needs that is under way.
#[derive(Clone)]
struct Hands {
    stage: Arc<Stage>,
    agent: Arc<Initialized>,
    roots: Arc<[PathBuf]>,
    mcp_servers: Arc<[Json]>,
    grace: Duration,
    /// Two prompts at once, and no session yet, are for the same new one.
    first: Arc<Mutex<()>>,
}

/// What came of an order: what the agent answered and in which line, or why there is nothing.
type Outcome = Result<Done, String>;

#[derive(Default)]
struct Done {
    result: Option<Json>,
    after: Option<u64>,
}

impl Course<'_> {
    /// Carries out what is ordered until nobody orders anything any more, and all that was ordered is done.
    pub(super) async fn carry_out(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        mut questions: Option<mpsc::UnboundedReceiver<Question>>,
        process: &Process,
    ) -> Result<(), Broken> {
        let agent = self.initialize().await?;
        let mut desk = self.desk(agent);
        let mut is_open = true;
        loop {
            let phase = desk.phase();
            // All of these can be cancelled without losing anything.
            tokio::select! {
                biased;
                halt = self.halts.next(phase, &desk.hands.stage) => {
                    desk.cancel_all(if halt.is_urgent { Duration::ZERO } else { self.request.run.grace }).await;
                    return Err(halt.into());
                }
                _ = process.gone() => return Err(Broken::Told),
                Some(question) = next(questions.as_mut()) => desk.questions.push_back(question),
                Some(_) = desk.under_way.join_next() => {}
                order = orders.recv(), if is_open => match order {
                    None => is_open = false,
                    Some(Order { id, name, command: Ok(Command::Kill(_)) }) => {
                        desk.hands.tell(id, &name, Ok(Done::default()));
                        return Err(Broken::Stopped(cancelled()));
                    }
                    Some(order) => desk.take(order),
                },
            }
            if !is_open && desk.under_way.is_empty() {
                let is_told = self.stage.has_prompted();
                return if is_told { Ok(()) } else { Err(as_wished()) };
            }
        }
    }

    fn desk(&self, agent: Initialized) -> Desk {
        Desk {
            hands: Hands {
                stage: Arc::clone(&self.stage),
                agent: Arc::new(agent),
                roots: self.request.roots.clone().into(),
                mcp_servers: self.request.mcp_servers.clone().into(),
                grace: self.request.run.grace,
                first: Arc::default(),
            },
            under_way: JoinSet::new(),
            questions: VecDeque::new(),
        }
    }
}

/// Nothing was asked for, and nothing went wrong.
fn as_wished() -> Broken {
    Broken::Stopped(Stopped {
        cause: Cause::EndTurn,
        message: String::new(),
        hint: None,
    })
}

async fn next(questions: Option<&mut mpsc::UnboundedReceiver<Question>>) -> Option<Question> {
    match questions {
        Some(questions) => questions.recv().await,
        None => std::future::pending().await,
    }
}

impl Desk {
    fn phase(&self) -> Phase {
        let sessions = self.hands.stage.sessions().ids();
        if sessions.iter().any(|id| self.hands.stage.is_busy(id)) {
            Phase::Turn
        } else {
            Phase::Waiting
        }
    }

    /// What is quick is done at once, what takes time is under way.
    fn take(&mut self, order: Order) {
        let Order { id, name, command } = order;
        self.questions
            .retain(|question| !question.reply.is_closed());
        let command = match command {
            Err(message) => return self.hands.tell(id, &name, Err(message)),
            Ok(Command::PermissionResponse(response)) => {
                let answered = self.reply(&response);
                return self.hands.tell(id, &name, answered);
            }
            Ok(command) => command,
        };
        if self.under_way.len() >= MOST {
            let refused = Err(format!("{MOST} commands are under way already"));
            return self.hands.tell(id, &name, refused);
        }
        let hands = self.hands.clone();
        self.under_way.spawn(async move {
            let outcome = hands.carry_out(command).await;
            hands.tell(id, &name, outcome);
        });
    }

    /// Somebody has answered a question: the oldest of that id, for agents may use one twice.
    fn reply(&mut self, response: &PermissionResponse) -> Outcome {
        let is_meant = |question: &Question| question.request.request_id == response.request_id;
        let Some(place) = self.questions.iter().position(is_meant) else {
            return Err("no request of this id waits for an answer".to_owned());
        };
        let Some(question) = self.questions.remove(place) else {
            return Ok(Done::default());
        };
        let chosen = response.updated_input.as_ref();
        let chosen = chosen.and_then(|input| input.token().get("optionId")?.string());
        let reply = Reply {
            allowed: response.allowed,
            option_id: chosen.map(std::borrow::Cow::into_owned),
            reason: response.message.as_ref().map(Text::to_string),
            by: DecidedBy::Peer,
        };
        let session = question.session_id.to_string();
        let late = || "the request was withdrawn meanwhile".to_owned();
        question.reply.send(reply).map_err(|_| late())?;
        if response.interrupt == Some(true) {
            self.hands.stage.cancel(&session);
        }
        Ok(Done::default())
    }

    /// Ends all turns, and gives them some time to end.
    async fn cancel_all(&mut self, time: Duration) {
        let stage = &self.hands.stage;
        let ids = stage.sessions().ids();
        let busy: Vec<_> = ids.into_iter().filter(|id| stage.is_busy(id)).collect();
        for id in &busy {
            stage.cancel(id);
        }
        let ended = async {
            for id in &busy {
                stage.idle(id, time).await;
            }
            while self.under_way.join_next().await.is_some() {}
        };
        let _ = tokio::time::timeout(time, ended).await;
    }
}

impl Hands {
    /// Each order has one result.
    fn tell(&self, id: Option<Json>, command: &str, outcome: Outcome) {
        let (done, message) = match outcome {
            Ok(done) => (done, None),
            Err(message) => (Done::default(), Some(Text::from(message))),
        };
        let body = Body::CommandResult(Box::new(CommandResult {
            command_id: id,
            command: Text::from(command.to_owned()),
            is_error: message.is_some(),
            message,
            result: done.result,
        }));
        self.stage.say.body(done.after, body);
    }

    async fn carry_out(&self, command: Command) -> Outcome {
        let stage = &self.stage;
        match command {
            Command::SendMessage(message) => self.send(message).await,
            Command::CreateSession(wanted) => self.create(wanted).await,
            Command::LoadSession(wanted) => {
                let setting = self.setting(wanted.cwd.as_ref())?;
                let id = wanted.session_id.to_string();
                let opened = stage.client.load_session(&id, &setting.as_ref()).await;
                self.opened(opened)
            }
            Command::ResumeSession(wanted) => {
                let setting = self.setting(wanted.cwd.as_ref())?;
                let id = wanted.session_id.to_string();
                let opened = stage.client.resume_session(&id, &setting.as_ref()).await;
                self.opened(opened)
            }
            Command::ListSessions(wanted) => {
                let cwd = wanted
                    .cwd
                    .as_ref()
                    .map(|cwd| PathBuf::from(cwd.to_string()));
                let cursor = wanted.cursor.as_ref().map(Text::to_string);
                let listed = stage
                    .client
                    .list_sessions(cwd.as_deref(), cursor.as_deref());
                answered(listed.await)
            }
            Command::CloseSession(wanted) => {
                let id = wanted.session_id.to_string();
                let closed = answered(stage.client.close_session(&id).await)?;
                self.forget(&id).await;
                Ok(closed)
            }
            Command::DeleteSession(wanted) => {
                let id = wanted.session_id.to_string();
                let deleted = answered(stage.client.delete_session(&id).await)?;
                self.forget(&id).await;
                Ok(deleted)
            }
            Command::Authenticate(wanted) => {
                let method = wanted.method_id.to_string();
                answered(stage.client.authenticate(&method).await)
            }
            Command::Interrupt(wanted) => self.interrupt(wanted.session_id.as_ref()).await,
            Command::SetModel(wanted) => {
                let session = self.session(wanted.session_id.as_ref())?;
                answered(stage.set_model(&session, &wanted.model.to_str()).await)
            }
            Command::SetReasoningEffort(wanted) => {
                let session = self.session(wanted.session_id.as_ref())?;
                answered(stage.set_effort(&session, &wanted.effort.to_str()).await)
            }
            Command::SetConfigOption(wanted) => {
                let session = self.session(wanted.session_id.as_ref())?;
                let option = wanted.config_id.to_string();
                answered(stage.set_option(&session, &option, &wanted.value).await)
            }
            Command::SetMode(wanted) => {
                let session = self.session(wanted.session_id.as_ref())?;
                let mode = wanted.mode_id.to_string();
                answered(stage.client.set_mode(&session, &mode).await)
            }
            Command::SetPermissionMode(wanted) => self.set_permission_mode(&wanted.mode.to_str()),
            _ => Err("there is no such command".to_owned()),
        }
    }

    /// A prompt. Without a session it goes to the only one, and if there is none, to a new one.
    async fn send(&self, message: SendMessage) -> Outcome {
        let session = match &message.session_id {
            None => self.session_or_new().await?,
            named => self.session(named.as_ref())?,
        };
        let text = Json::object([
            ("type", Json::from_value(&"text")),
            ("text", Json::from(&message.text)),
        ]);
        let text = (!message.text.is_empty()).then_some(text);
        let blocks: Vec<_> = text.into_iter().chain(message.content).collect();
        self.prompt(&session, &blocks).await
    }

    async fn session_or_new(&self) -> Result<String, String> {
        let _first = self.first.lock().await;
        if !self.stage.sessions().ids().is_empty() {
            return self.session(None);
        }
        let setting = self.setting(None)?;
        let opened = self.stage.client.new_session(&setting.as_ref()).await;
        let id = opened.as_ref().ok().map(|opened| opened.id.clone());
        self.opened(opened)?;
        Ok(id.unwrap_or_default())
    }

    async fn prompt(&self, session: &str, blocks: &[Json]) -> Outcome {
        if blocks.is_empty() {
            return Err("there is nothing to be said".to_owned());
        }
        let told = |error: RequestError| error.to_string();
        let waiting = self.stage.begin(session, blocks).map_err(told)?;
        let prompted = self.stage.finish(session, waiting).await.map_err(told)?;
        Ok(Done {
            result: Some(prompted.whole),
            after: Some(prompted.number),
        })
    }

    async fn create(&self, wanted: CreateSession) -> Outcome {
        let cwd = Some(&wanted.cwd).filter(|cwd| !cwd.is_empty());
        let setting = self.setting(cwd)?;
        let opened = self.stage.client.new_session(&setting.as_ref()).await;
        let id = opened.as_ref().ok().map(|opened| opened.id.clone());
        let done = self.opened(opened)?;
        match (wanted.prompt, id) {
            (Some(prompt), Some(id)) => {
                let message = SendMessage {
                    session_id: Some(Text::from(id)),
                    text: prompt,
                    content: Vec::new(),
                };
                self.send(message).await
            }
            _ => Ok(done),
        }
    }

    fn opened(&self, opened: Result<OpenedSession, RequestError>) -> Outcome {
        let opened = opened.map_err(|error| error.to_string())?;
        if opened.id.is_empty() {
            return Err("the agent opened a session without an id".to_owned());
        }
        self.stage.opened(&opened);
        Ok(Done {
            result: Some(opened.whole),
            after: Some(opened.number),
        })
    }

    async fn forget(&self, session: &str) {
        self.stage.sessions().forget(session);
        self.stage.workspace.close_session(session).await;
    }

    /// Ends a turn, or all of them.
    async fn interrupt(&self, session: Option<&Text>) -> Outcome {
        let ids = match session {
            Some(_) => vec![self.session(session)?],
            None => self.stage.sessions().ids(),
        };
        let busy = ids.into_iter().filter(|id| self.stage.is_busy(id));
        let busy: Vec<_> = busy.collect();
        for id in &busy {
            self.stage.cancel(id);
        }
        for id in &busy {
            if !self.stage.idle(id, self.grace).await {
                let time = self.grace.as_secs_f64();
                return Err(format!(
                    "the agent has not ended the turn in {time} s; `kill` ends the agent"
                ));
            }
        }
        Ok(Done::default())
    }

    /// It holds for all sessions, from the next request on.
    fn set_permission_mode(&self, word: &str) -> Outcome {
        let Some(mode) = PermissionMode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == word)
        else {
            let words = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
            return Err(format!("there is no such mode: there are {words}"));
        };
        let mut policy = self
            .stage
            .policy
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        policy.set_mode(mode);
        Ok(Done::default())
    }

    /// The session that is meant.
    fn session(&self, named: Option<&Text>) -> Result<String, String> {
        let sessions = self.stage.sessions();
        match named {
            Some(id) => {
                let id = id.to_string();
                let known = sessions.get(&id).is_some();
                known
                    .then_some(id)
                    .ok_or_else(|| "there is no such session".to_owned())
            }
            None => sessions
                .only()
                .ok_or_else(|| "which session is meant? `sessionId` says so".to_owned()),
        }
    }

    /// Where a session works: inside the workspace.
    fn setting(&self, cwd: Option<&Text>) -> Result<OwnedSetting, String> {
        let here = &self.roots[0];
        let cwd = cwd.map_or_else(|| here.clone(), |cwd| here.join(cwd.to_string()));
        let is_inside = |root: &PathBuf| is_below(&cwd, root);
        if !self.roots.iter().any(is_inside) {
            return Err(format!(
                "`{}` is not in the workspace: --include-directories adds directories to it",
                cwd.display()
            ));
        }
        let offered = self.agent.offered;
        let additional = if offered.additional_directories {
            &self.roots[1..]
        } else {
            &[]
        };
        Ok(OwnedSetting {
            cwd,
            additional: additional.to_vec(),
            mcp_servers: self.mcp_servers.to_vec(),
        })
    }
}

/// Whether a directory is there and below another, links followed.
fn is_below(directory: &Path, root: &Path) -> bool {
    match (directory.canonicalize(), root.canonicalize()) {
        (Ok(directory), Ok(root)) => directory.starts_with(root),
        _ => false,
    }
}

fn answered(answer: Result<Answer, RequestError>) -> Outcome {
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(Done {
        result: Some(answer.result),
        after: Some(answer.number),
    })
}
