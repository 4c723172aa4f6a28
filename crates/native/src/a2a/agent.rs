//! One remote agent: its card, its conversations, and the tasks that it is given.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapidary_gemini::agents::{AgentCard, RemoteAgentDefinition, RemoteAuth};
use lapidary_json::Token;
use lapidary_wire::a2a::A2aBinding;
use lapidary_wire::a2a::reply::A2aReply;
use lapidary_wire::a2a::request::OutgoingMessage;
use lapidary_wire::a2a::update::{A2aUpdate, TaskState};
use lapidary_wire::sse::EventBuffer;
use tokio::sync::{OnceCell, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::RemoteError;
use super::auth::CredentialHeader;
use super::card::{RemoteCard, card_text, check_secrecy};
use super::link::{HeaderCache, RemoteLink, RemoteReply, malformed_answer, shortened_message};
use super::means::{RemoteLimits, RemoteMeans};
use super::result_text::{MOST_ARTIFACTS, ResultText};
use crate::http::{HttpResponse, UrlOrigin};
use crate::ids::random_uuid;

/// How many bytes the events of one stream may have together, and the text of one answer.
const STREAM_BYTES: usize = 64 * 1024 * 1024;

/// A remote agent. Nothing is fetched before it is used.
#[derive(Debug)]
pub struct RemoteAgent {
    name: String,
    source: AgentCard,
    auth: Option<RemoteAuth>,
    means: Arc<RemoteMeans>,
    /// How long a task may take.
    task_limit: Duration,
    header: Arc<HeaderCache>,
    link: OnceCell<RemoteLink>,
    /// The open conversations, by the session of the caller.
    conversations: Mutex<BTreeMap<String, RemoteConversation>>,
}

/// A conversation that the next prompt of a session continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RemoteConversation {
    context_id: Option<String>,
    task_id: Option<String>,
    /// The moment at which the task began to wait.
    waiting_since: Option<String>,
}

/// A prompt for a remote agent.
#[derive(Debug, Clone, Copy)]
pub struct RemotePrompt<'a> {
    /// The words.
    pub text: &'a str,
    /// The session of the caller: prompts of one session are one conversation.
    pub session: &'a str,
}

/// The answer of a remote agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteAnswer {
    /// The whole text, messages before artifacts.
    pub text: String,
    /// The state of its task; none if it answered without one.
    pub state: Option<TaskState>,
}

/// How far a task has come.
#[derive(Debug, Clone, Default)]
struct TaskProgress {
    /// The message is on its way: there may be a task that we do not know yet.
    is_sent: bool,
    context_id: Option<String>,
    task_id: Option<String>,
    state: Option<TaskState>,
    status_key: Option<String>,
}

impl TaskProgress {
    /// The id of a task that works on.
    fn running_task(&self) -> Option<&str> {
        let is_over = self
            .state
            .as_ref()
            .is_some_and(|state| state.is_terminal() || state.is_waiting());
        self.task_id.as_deref().filter(|_| !is_over)
    }
}

/// Receives the text of an answer as it comes. Called from the task's own future: it must not block.
type TextListener<'a> = dyn Fn(&str) + Send + Sync + 'a;

impl RemoteAgent {
    /// The agent of a definition.
    pub fn new(definition: &RemoteAgentDefinition, means: Arc<RemoteMeans>) -> Self {
        Self {
            name: definition.name.clone(),
            source: definition.card.clone(),
            auth: definition.auth.clone(),
            task_limit: task_limit(definition, means.limits),
            means,
            header: Arc::default(),
            link: OnceCell::new(),
            conversations: Mutex::default(),
        }
    }

    /// The name of its definition.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its requests go, as far as the definition says: the origin of the card's URL.
    pub fn origin(&self) -> Option<UrlOrigin> {
        let url = match &self.source {
            AgentCard::Url(url) => url.clone(),
            AgentCard::Json(text) => {
                let card = RemoteCard::parse(text, None, false).ok()?;
                card.interface.url
            }
        };
        UrlOrigin::parse(&url)
    }

    /// The longest that a prompt takes.
    pub fn longest_task(&self) -> Duration {
        let limits = self.means.limits;
        limits
            .card
            .saturating_add(self.task_limit)
            .saturating_add(limits.cancel)
    }

    /// The card, if it was fetched already.
    pub fn known_card(&self) -> Option<&RemoteCard> {
        self.link.get().map(|link| &link.card)
    }

    /// The card, which is fetched at the first call and kept.
    ///
    /// # Errors
    /// There is no usable card.
    pub async fn card(&self) -> Result<&RemoteCard, RemoteError> {
        self.connected_link().await.map(|link| &link.card)
    }

    async fn connected_link(&self) -> Result<&RemoteLink, RemoteError> {
        self.link.get_or_try_init(|| self.connect_by_card()).await
    }

    async fn connect_by_card(&self) -> Result<RemoteLink, RemoteError> {
        let source = match &self.source {
            AgentCard::Url(url) => Some(url.as_str()),
            AgentCard::Json(_) => None,
        };
        let waited = self.means.limits.card;
        let text = card_text(&self.means.http, &self.source, async || {
            self.card_header(source).await
        });
        let text = timeout(waited, text).await;
        let text = text.map_err(|_| RemoteError::CardTimeout {
            url: source.unwrap_or_default().to_owned(),
            waited,
        })??;
        let card = RemoteCard::parse(&text, source, self.auth.is_some())?;
        Ok(RemoteLink::new(
            card,
            Arc::clone(&self.means),
            self.auth.clone(),
            Arc::clone(&self.header),
        ))
    }

    /// The credentials for the card itself, if they may be sent to its URL.
    async fn card_header(
        &self,
        source: Option<&str>,
    ) -> Result<Option<Arc<CredentialHeader>>, RemoteError> {
        let (Some(auth), Some(origin)) = (&self.auth, source.and_then(UrlOrigin::parse)) else {
            return Ok(None);
        };
        check_secrecy(&origin, true)?;
        self.header
            .resolve_header(&self.means, auth)
            .await
            .map(Some)
    }

    /// Gives the agent a prompt, and waits for its answer. A task that is given up, because it is cancelled, takes too long or cannot be
    /// read, is cancelled on its server.
    ///
    /// # Errors
    /// There is no answer, or it is a failure.
    pub async fn ask(
        &self,
        prompt: RemotePrompt<'_>,
        listener: &TextListener<'_>,
        cancelled: &CancellationToken,
    ) -> Result<RemoteAnswer, RemoteError> {
        let waited = self.task_limit;
        let progress = watch::Sender::new(TaskProgress::default());
        let mut work: Pin<Box<dyn Future<Output = _> + Send + '_>> =
            Box::pin(self.run_prompt(prompt, listener, &progress));
        // Both arms only drop timers: the work itself goes on below, until the task's id is known.
        let ended = tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(RemoteError::Cancelled),
            ended = timeout(waited, &mut work) => {
                ended.unwrap_or(Err(RemoteError::TimedOut { waited }))
            }
        };
        if matches!(
            ended,
            Err(RemoteError::Cancelled | RemoteError::TimedOut { .. })
        ) {
            let stop = self.stop_unfinished(work, &progress);
            let _ = timeout(self.means.limits.cancel, stop).await;
        } else {
            drop(work);
            if ended.is_err() {
                let _ = timeout(self.means.limits.cancel, self.cancel_remote_task(&progress)).await;
            }
        }
        self.remember_conversation(prompt.session, &progress.borrow());
        ended
    }

    /// Reads on until the task is known, then cancels it. The stream stays open meanwhile: its end tells that the task is over.
    async fn stop_unfinished(
        &self,
        work: impl Future<Output = Result<RemoteAnswer, RemoteError>>,
        progress: &watch::Sender<TaskProgress>,
    ) {
        let mut changes = progress.subscribe();
        if !progress.borrow().is_sent {
            return;
        }
        tokio::select! {
            biased;
            _ = changes.wait_for(|progress| progress.task_id.is_some()) => {}
            _ = work => {}
        }
        self.cancel_remote_task(progress).await;
    }

    async fn cancel_remote_task(&self, progress: &watch::Sender<TaskProgress>) {
        let task = progress.borrow().running_task().map(str::to_owned);
        if let (Some(task), Some(link)) = (task, self.link.get()) {
            // A server that cannot cancel has no better answer for us.
            let _ = link.cancel_task(&task).await;
            progress.send_modify(|progress| progress.state = Some(TaskState::Canceled));
        }
    }

    async fn run_prompt(
        &self,
        prompt: RemotePrompt<'_>,
        listener: &TextListener<'_>,
        progress: &watch::Sender<TaskProgress>,
    ) -> Result<RemoteAnswer, RemoteError> {
        let link = self.connected_link().await?;
        let known = self.known_conversation(prompt.session);
        let mut reader = UpdateReader {
            link,
            listener,
            progress,
            text: ResultText::default(),
            stale: known.waiting_since.clone(),
            has_update: false,
        };
        let message_id = random_uuid();
        let message = OutgoingMessage {
            message_id: &message_id,
            text: prompt.text,
            context_id: known.context_id.as_deref(),
            task_id: known.task_id.as_deref(),
            tenant: link.card.interface.tenant.as_deref(),
        };
        progress.send_modify(|progress| progress.is_sent = true);
        match link.open(message).await? {
            RemoteReply::Whole(text) => reader.take_update_json(&text)?,
            RemoteReply::Stream(stream) => reader.read_stream(stream).await?,
        }
        reader.poll_to_the_end(&self.means.limits).await?;
        reader.into_answer()
    }

    fn known_conversation(&self, session: &str) -> RemoteConversation {
        let conversations = self.conversations.lock();
        let conversations = conversations.unwrap_or_else(PoisonError::into_inner);
        conversations.get(session).cloned().unwrap_or_default()
    }

    /// Keeps the conversation for the next prompt; its task only if that waits for one.
    fn remember_conversation(&self, session: &str, progress: &TaskProgress) {
        let is_waiting = progress.state.as_ref().is_some_and(TaskState::is_waiting);
        let mut conversations = self
            .conversations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let kept = conversations.entry(session.to_owned()).or_default();
        if progress.context_id.is_some() {
            kept.context_id.clone_from(&progress.context_id);
        }
        kept.task_id = progress.task_id.clone().filter(|_| is_waiting);
        kept.waiting_since = progress.status_key.clone().filter(|_| is_waiting);
    }
}

/// The limit of the definition, else the one of all agents.
fn task_limit(definition: &RemoteAgentDefinition, limits: RemoteLimits) -> Duration {
    let minutes = definition.max_time_minutes.filter(|minutes| *minutes > 0.0);
    minutes.map_or(limits.task, |minutes| {
        Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
    })
}

/// Reads the updates of one answer.
struct UpdateReader<'a> {
    link: &'a RemoteLink,
    listener: &'a TextListener<'a>,
    progress: &'a watch::Sender<TaskProgress>,
    text: ResultText,
    /// The moment before our message. Servers show the task as it was then, first (`@a2a-js/sdk` 1.3.0).
    stale: Option<String>,
    has_update: bool,
}

impl fmt::Debug for UpdateReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateReader").finish_non_exhaustive()
    }
}

impl UpdateReader<'_> {
    /// Takes up the JSON of an update.
    fn take_update_json(&mut self, text: &str) -> Result<(), RemoteError> {
        let token =
            Token::parse(text).map_err(|_| malformed_answer("an update is not valid JSON"))?;
        self.take_update(A2aUpdate::from_token(token))
    }

    fn take_update(&mut self, update: A2aUpdate<'_>) -> Result<(), RemoteError> {
        if let A2aUpdate::Unknown(_) = update {
            // Later versions may have further kinds in a stream; an answer that has nothing else is empty.
            return Ok(());
        }
        self.has_update = true;
        let status_key = update.status_key();
        let is_stale = status_key.is_some() && status_key == self.stale;
        self.progress.send_modify(|progress| {
            let owned = |id: std::borrow::Cow<'_, str>| id.into_owned();
            progress.task_id = update.task_id().map(owned).or(progress.task_id.take());
            progress.context_id = update
                .context_id()
                .map(owned)
                .or(progress.context_id.take());
            if is_stale {
                progress.state = Some(TaskState::Working);
            } else if status_key.is_some() {
                progress.state = update.state();
                progress.status_key = status_key;
            }
        });
        if is_stale {
            return Ok(());
        }
        let (link, listener) = (self.link, self.listener);
        self.text.take_update(update, &mut |piece| {
            listener(&link.redact_credentials(piece.to_owned()));
        });
        // A server that is asked again and again could send new text each time.
        if self.text.bytes() > STREAM_BYTES {
            let limit = format!("its text has more than {STREAM_BYTES} bytes");
            return Err(malformed_answer(&limit));
        }
        if self.text.artifact_count() > MOST_ARTIFACTS {
            let limit = format!("it has more than {MOST_ARTIFACTS} artifacts");
            return Err(malformed_answer(&limit));
        }
        Ok(())
    }

    /// Reads a stream until the task is over or waits, or the stream ends.
    async fn read_stream(&mut self, mut stream: HttpResponse) -> Result<(), RemoteError> {
        let mut events = EventBuffer::default();
        let mut bytes = 0;
        loop {
            let more = match stream.next_bytes().await {
                Ok(Some(more)) => more,
                Ok(None) => break,
                // The task goes on without the stream, and can be asked for.
                Err(_) if self.can_poll() => return Ok(()),
                Err(error) => {
                    return Err(RemoteError::CutStream {
                        reason: error.to_string(),
                    });
                }
            };
            bytes += more.len();
            if bytes > STREAM_BYTES {
                let limit = format!("it has more than {STREAM_BYTES} bytes");
                return Err(malformed_answer(&limit));
            }
            events.push(&more);
            let too_large = |_| malformed_answer("an event is too large");
            while let Some(event) = events.next_event().map_err(too_large)? {
                self.take_event(&event.data)?;
                if self.is_settled() {
                    return Ok(());
                }
            }
        }
        let rest = events.unfinished();
        let taken = rest.map_or(Ok(()), |event| self.take_event(&event.data));
        if self.has_update && (taken.is_ok() || self.can_poll()) {
            return Ok(());
        }
        Err(RemoteError::CutStream {
            reason: "the stream ends before the answer".to_owned(),
        })
    }

    fn take_event(&mut self, data: &[u8]) -> Result<(), RemoteError> {
        let text =
            std::str::from_utf8(data).map_err(|_| malformed_answer("an event is not UTF-8"))?;
        let token =
            Token::parse(text).map_err(|_| malformed_answer("an event is not valid JSON"))?;
        // Streams of JSON-RPC wrap each event; an error of either binding ends them.
        let is_wrapped = token.get("jsonrpc").is_some() || token.get("result").is_some();
        let binding = if is_wrapped {
            A2aBinding::JsonRpc
        } else {
            A2aBinding::HttpJson
        };
        match A2aReply::from_token(token, binding) {
            A2aReply::Result(result) => self.take_update(A2aUpdate::from_token(result)),
            A2aReply::Error(error) => Err(RemoteError::Refused {
                code: error.code,
                message: self
                    .link
                    .redact_credentials(shortened_message(&error.message)),
            }),
        }
    }

    /// Whether nothing more can come: the task is over or waits for its user.
    fn is_settled(&self) -> bool {
        let progress = self.progress.borrow();
        let state = progress.state.as_ref();
        state.is_some_and(|state| state.is_terminal() || state.is_waiting())
    }

    fn can_poll(&self) -> bool {
        self.progress.borrow().running_task().is_some()
    }

    /// Asks for the task until it is over or waits.
    async fn poll_to_the_end(&mut self, limits: &RemoteLimits) -> Result<(), RemoteError> {
        let mut wait = limits.first_poll;
        loop {
            let task = self.progress.borrow().running_task().map(str::to_owned);
            let Some(task) = task else { return Ok(()) };
            sleep(wait).await;
            wait = (wait * 3 / 2).min(limits.most_poll);
            let text = self.link.fetch_task(&task).await?;
            self.take_update_json(&text)?;
        }
    }

    fn into_answer(self) -> Result<RemoteAnswer, RemoteError> {
        if !self.has_update {
            return Err(malformed_answer("it has neither a message nor a task"));
        }
        let text = self.link.redact_credentials(self.text.whole_text());
        let state = self.progress.borrow().state.clone();
        match state {
            Some(state @ (TaskState::Failed | TaskState::Rejected | TaskState::Canceled)) => {
                Err(RemoteError::TaskEnded {
                    state: state.as_str().to_owned(),
                    message: text,
                })
            }
            Some(TaskState::AuthRequired) => {
                Err(RemoteError::AuthorizationRequired { message: text })
            }
            state => Ok(RemoteAnswer { text, state }),
        }
    }
}
