//! An agent behind the protocol's draft of streamable HTTP: each line of ours is a POST, and the agent's messages come on event streams,
//! one for the connection and one for each session.
//!
//! The draft requires HTTP/2. With TLS the server may choose it, and all requests share one connection; without TLS, and with servers
//! that only have HTTP/1.1, each stream is a connection of its own.
//!
//! Messages that a server sends while no stream is open are not sent again (draft, version 1). So a stream that ends while a request
//! waits for its answer is the end of the connection; otherwise it is opened again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_json::Token;
use lapidary_rpc::{AgentLoss, AgentLossKind};
use lapidary_wire::lines::DEFAULT_LIMIT;
use lapidary_wire::sse::EventBuffer;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::RemoteLink;
use super::loss::RESUME_HINT;
use super::message_routes::{MessageRoutes, SessionScope};
use crate::http::{HttpMethod, HttpRequest, HttpResponse};

/// The header of a connection.
const CONNECTION_ID: &str = "acp-connection-id";
/// The header of a session.
const SESSION_ID: &str = "acp-session-id";
/// How many messages of the server wait for the client to read them. When they are full, the streams are not read on.
const WAITING_MESSAGES: usize = 4;
/// The longest answer to a POST that is read.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// How often a stream is opened again that ends without a message.
const MOST_REOPENINGS: u32 = 3;
/// How long the end of a connection may take.
const DELETE_TIMEOUT: Duration = Duration::from_secs(1);

/// Passes lines on until one side hangs up.
pub(super) async fn serve_http(pipe: DuplexStream, link: Arc<RemoteLink>) -> Result<(), AgentLoss> {
    let (lines, to_client) = split(pipe);
    let (messages, incoming) = mpsc::channel(WAITING_MESSAGES);
    let (openings, to_open) = mpsc::unbounded_channel(); // one for each of our own requests at most
    let mut poster = HttpPoster {
        link,
        inbox: MessageInbox {
            routes: Arc::default(),
            openings,
            messages,
        },
        connection_id: None,
        streams: JoinSet::new(),
        open: HashMap::new(),
    };
    let hung_up = tokio::select! {
        () = pass_on(incoming, to_client) => Ok(()), // the client is gone
        hung_up = poster.run(BufReader::new(lines), to_open) => hung_up,
    };
    poster.streams.shutdown().await;
    poster.delete_connection().await;
    hung_up
}

/// Passes the server's messages on to the client.
async fn pass_on(mut incoming: mpsc::Receiver<Vec<u8>>, mut to_client: WriteHalf<DuplexStream>) {
    while let Some(message) = incoming.recv().await {
        if to_client.write_all(&message).await.is_err() {
            return;
        }
    }
}

/// Takes the server's messages, from every stream.
#[derive(Clone)]
struct MessageInbox {
    routes: Arc<Mutex<MessageRoutes>>,
    /// Sessions whose streams are to be opened.
    openings: mpsc::UnboundedSender<String>,
    messages: mpsc::Sender<Vec<u8>>,
}

impl MessageInbox {
    /// Takes a message that came on the stream of this scope. A line break in it is white space between tokens of JSON.
    async fn take_message(&self, scope: &SessionScope, mut message: Vec<u8>) {
        for byte in message
            .iter_mut()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
        {
            *byte = b' ';
        }
        let text = str::from_utf8(&message).ok();
        if let Some(token) = text.and_then(|text| Token::parse(text).ok())
            && let Some(session) = lock_routes(&self.routes).note_received(token, scope)
        {
            let _ = self.openings.send(session); // the receiver is gone once the connection is over
        }
        message.push(b'\n');
        let _ = self.messages.send(message).await; // a client that is gone ends everything
    }
}

fn lock_routes(routes: &Mutex<MessageRoutes>) -> std::sync::MutexGuard<'_, MessageRoutes> {
    routes.lock().expect("no holder panics")
}

/// Sends the client's lines, and keeps the streams open.
struct HttpPoster {
    link: Arc<RemoteLink>,
    inbox: MessageInbox,
    connection_id: Option<String>,
    /// The readers of streams. They end with the scope of the stream, or with the reason why all is over.
    streams: JoinSet<Result<EndedStream, AgentLoss>>,
    /// The streams that are open, and how often they ended without a message.
    open: HashMap<SessionScope, u32>,
}

/// A stream that the server has ended.
struct EndedStream {
    scope: SessionScope,
    has_messages: bool,
}

impl HttpPoster {
    /// Until the client hangs up.
    async fn run(
        &mut self,
        mut lines: BufReader<ReadHalf<DuplexStream>>,
        mut openings: mpsc::UnboundedReceiver<String>,
    ) -> Result<(), AgentLoss> {
        let mut line = Vec::new();
        loop {
            // A line that is only read in part stays in `line`, and is read on.
            tokio::select! {
                biased;
                Some(session) = openings.recv() => self.open_stream(Some(session), 0).await?,
                Some(ended) = self.streams.join_next() => {
                    let ended = ended.unwrap_or_else(|error| Err(self.violation_loss(&error.to_string())))?;
                    self.stream_ended(ended).await?;
                }
                read = lines.read_until(b'\n', &mut line) => {
                    let is_over = !matches!(read, Ok(1..));
                    let text = line.strip_suffix(b"\n").unwrap_or(&line);
                    if !text.is_empty() {
                        let text = String::from_utf8_lossy(text).into_owned();
                        self.post_line(&text).await?;
                    }
                    line.clear();
                    if is_over {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn post_line(&mut self, line: &str) -> Result<(), AgentLoss> {
        let route = match Token::parse(line) {
            Ok(message) => lock_routes(&self.inbox.routes).note_sent(message),
            Err(_) => return Err(self.violation_loss("cannot be sent a line that is not JSON")),
        };
        if let Some(session) = route.scope.clone() {
            self.open_stream(Some(session), 0).await?;
        }
        let mut answer = self
            .send_request(HttpMethod::Post, &route.scope, Some(line))
            .await?;
        if !(200..300).contains(&answer.status) {
            return Err(self.link.refused_request(answer, self.is_open()).await);
        }
        let body = self.answer_body(&mut answer).await?;
        if route.is_initialize {
            self.take_initialize_answer(&answer, body).await
        } else {
            // The draft has no body here. One that is a message is not lost.
            self.hand_over(body).await;
            Ok(())
        }
    }

    /// The answer to `initialize` names the connection.
    async fn take_initialize_answer(
        &mut self,
        answer: &HttpResponse,
        body: Vec<u8>,
    ) -> Result<(), AgentLoss> {
        let id = answer.headers.get(CONNECTION_ID);
        let Some(id) = id.and_then(|id| id.to_str().ok()) else {
            let reason = "is no ACP agent: its answer to `initialize` names no connection";
            return Err(self.violation_loss(reason));
        };
        self.connection_id = Some(id.to_owned());
        self.hand_over(body).await;
        self.open_stream(None, 0).await
    }

    /// The body of an answer, if it is JSON.
    async fn answer_body(&self, answer: &mut HttpResponse) -> Result<Vec<u8>, AgentLoss> {
        let is_json = has_type(answer, "application/json");
        let mut body = Vec::new();
        while let Some(bytes) = self.next_bytes(answer).await? {
            body.extend_from_slice(&bytes);
            if body.len() > LONGEST_ANSWER {
                let reason = format!("answers a message with more than {LONGEST_ANSWER} bytes");
                return Err(self.violation_loss(&reason));
            }
        }
        if !is_json && !self.is_open() {
            let reason = "is no ACP agent: its answer to `initialize` is not JSON";
            return Err(self
                .violation_loss(reason)
                .hint("check the path of the URL: `/acp` is usual"));
        }
        Ok(if is_json { body } else { Vec::new() })
    }

    async fn next_bytes(
        &self,
        answer: &mut HttpResponse,
    ) -> Result<Option<bytes::Bytes>, AgentLoss> {
        let bytes = answer.next_bytes().await;
        bytes.map_err(|error| self.link.failed_request(&error, self.is_open()))
    }

    async fn hand_over(&self, body: Vec<u8>) {
        if !body.trim_ascii().is_empty() {
            self.inbox.take_message(&None, body).await;
        }
    }

    /// Opens the stream of a scope, unless it is open.
    async fn open_stream(&mut self, scope: SessionScope, reopenings: u32) -> Result<(), AgentLoss> {
        if self.open.contains_key(&scope) {
            return Ok(());
        }
        let answer = self.send_request(HttpMethod::Get, &scope, None).await?;
        if answer.status != 200 {
            return Err(self.link.refused_request(answer, true).await);
        }
        if !has_type(&answer, "text/event-stream") {
            return Err(self.violation_loss("answers a request for events with another type"));
        }
        self.open.insert(scope.clone(), reopenings);
        let reader = EventReader {
            link: Arc::clone(&self.link),
            inbox: self.inbox.clone(),
            scope,
        };
        self.streams.spawn(reader.run(answer));
        Ok(())
    }

    /// Nothing was lost if no request waits: the stream of the connection is opened again at once, that of a session with the next
    /// message.
    async fn stream_ended(&mut self, ended: EndedStream) -> Result<(), AgentLoss> {
        let reopenings = self.open.remove(&ended.scope).unwrap_or_default();
        if ended.scope.is_some() {
            return Ok(());
        }
        let reopenings = if ended.has_messages {
            0
        } else {
            reopenings + 1
        };
        if reopenings > MOST_REOPENINGS {
            let loss = self.link.agent_loss(
                AgentLossKind::Broken,
                "ends its event stream again and again",
            );
            return Err(loss.hint(RESUME_HINT));
        }
        self.open_stream(None, reopenings).await
    }

    async fn send_request(
        &self,
        method: HttpMethod,
        scope: &SessionScope,
        json: Option<&str>,
    ) -> Result<HttpResponse, AgentLoss> {
        let own = self.link.request_headers();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let mut headers: Vec<(&str, &str)> = own.collect();
        headers.extend(self.connection_id.as_deref().map(|id| (CONNECTION_ID, id)));
        headers.extend(scope.as_deref().map(|id| (SESSION_ID, id)));
        let accept = match method {
            HttpMethod::Get => "text/event-stream",
            HttpMethod::Post | HttpMethod::Delete => "application/json",
        };
        headers.push(("accept", accept));
        let request = HttpRequest {
            method,
            url: &self.link.settings.url,
            headers: &headers,
            json,
            // A stream is silent for as long as the agent thinks: its end is the engine's to decide.
            idle_timeout: Some(match method {
                HttpMethod::Get => Duration::MAX,
                _ => self.link.settings.answer_timeout,
            }),
        };
        let answer = timeout(
            self.link.settings.answer_timeout,
            self.link.client.send(request),
        );
        let Ok(answer) = answer.await else {
            let waited = self.link.settings.answer_timeout.as_secs();
            let kind = if self.is_open() {
                AgentLossKind::Broken
            } else {
                AgentLossKind::Late
            };
            return Err(self
                .link
                .agent_loss(kind, &format!("did not answer within {waited} s")));
        };
        let answer = answer.map_err(|error| self.link.failed_request(&error, self.is_open()))?;
        self.link.keep_cookies(&answer.headers);
        Ok(answer)
    }

    /// Tells the server that the connection is over. The server's answer does not matter.
    async fn delete_connection(&mut self) {
        if self.is_open() {
            let _ = timeout(
                DELETE_TIMEOUT,
                self.send_request(HttpMethod::Delete, &None, None),
            )
            .await;
        }
    }

    fn is_open(&self) -> bool {
        self.connection_id.is_some()
    }

    fn violation_loss(&self, reason: &str) -> AgentLoss {
        self.link.agent_loss(AgentLossKind::Violation, reason)
    }
}

/// Reads one stream of events.
struct EventReader {
    link: Arc<RemoteLink>,
    inbox: MessageInbox,
    scope: SessionScope,
}

impl EventReader {
    /// Until the server ends it.
    async fn run(self, mut answer: HttpResponse) -> Result<EndedStream, AgentLoss> {
        let mut events = EventBuffer::with_limit(DEFAULT_LIMIT);
        let mut has_messages = false;
        loop {
            let bytes = match answer.next_bytes().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(error) => return Err(self.link.failed_request(&error, true).hint(RESUME_HINT)),
            };
            events.push(&bytes);
            loop {
                let event = events.next_event().map_err(|too_large| {
                    let reason = format!("sends an event of more than {} bytes", too_large.limit);
                    self.link.agent_loss(AgentLossKind::Violation, &reason)
                })?;
                let Some(event) = event else { break };
                has_messages = true;
                self.inbox.take_message(&self.scope, event.data).await;
            }
        }
        if events.unfinished().is_some() {
            return Err(self.broken_loss("ended its event stream in the middle of an event"));
        }
        if lock_routes(&self.inbox.routes).is_waiting(&self.scope) {
            return Err(self.broken_loss("ended its event stream before it had answered"));
        }
        Ok(EndedStream {
            scope: self.scope,
            has_messages,
        })
    }

    fn broken_loss(&self, reason: &str) -> AgentLoss {
        self.link
            .agent_loss(AgentLossKind::Broken, reason)
            .hint(RESUME_HINT)
    }
}

fn has_type(answer: &HttpResponse, expected: &str) -> bool {
    let kind = answer.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case(expected)
}
