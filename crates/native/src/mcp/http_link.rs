//! An MCP server over streamable HTTP: each message of ours is a POST, and its answer is JSON or a stream of events.
//!
//! The client speaks lines through a pipe in memory, as to a process. A request that the server does not answer as it should is answered
//! here with an error, so that no request waits for longer than the server does. The stream that a server may open for messages of its own
//! is not asked for: a list of tools is read once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapidary_json::{Token, TokenKind};
use lapidary_wire::sse::EventBuffer;
use serde_json::json;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf, split,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::address::ServerAddress;
use crate::http::{HttpClient, HttpMethod, HttpRequest, HttpResponse};

/// The header of a session.
const SESSION_ID: &str = "mcp-session-id";
/// The header of the protocol's version, once it is agreed on.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The largest message that is read.
pub(super) const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// Messages that wait for the client. When they are full, streams are not read on.
pub(super) const WAITING_MESSAGES: usize = 4;
/// How many requests are under way at the same time. The others wait.
const MOST_REQUESTS: usize = 32;
/// How long the end of a session may take.
const DELETE_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of an error's body is repeated.
const ERROR_CHARS: usize = 200;

/// A server behind a URL.
#[derive(Debug)]
pub(super) struct HttpLink {
    pub(super) client: HttpClient,
    pub(super) address: ServerAddress,
    /// How long the server may be silent.
    pub(super) patience: Duration,
    session: Mutex<SessionHeaders>,
}

/// The headers that the server's answer to `initialize` decides.
#[derive(Debug, Clone, Default)]
struct SessionHeaders {
    id: Option<String>,
    version: Option<String>,
}

/// One message of ours.
pub(super) struct OwnMessage {
    line: String,
    /// Its id, as it stands, if it is a request.
    id: Option<String>,
    is_initialize: bool,
}

impl OwnMessage {
    pub(super) fn from_line(line: String) -> Self {
        let token = Token::parse(&line).ok();
        let member = |name: &str| token.and_then(|token| token.get(name));
        let method = member("method");
        let id = member("id").filter(|_| method.is_some());
        Self {
            id: id.map(|id| id.as_str().to_owned()),
            is_initialize: method.is_some_and(|method| method.is("initialize")),
            line,
        }
    }

    /// The line that answers it with an error; none if it wants no answer.
    pub(super) fn error_line(&self, reason: &str) -> Option<Vec<u8>> {
        let id = self.id.as_ref()?;
        let error = json!({"code": -32000, "message": reason});
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n");
        Some(line.into_bytes())
    }

    fn is_answered_by(&self, message: Token<'_>) -> bool {
        let id = message.get("id").map(Token::as_str);
        message.get("method").is_none() && id == self.id.as_deref()
    }
}

impl HttpLink {
    pub(super) fn new(client: HttpClient, address: ServerAddress, patience: Duration) -> Self {
        Self {
            client,
            address,
            patience,
            session: Mutex::default(),
        }
    }

    /// Sends a request with the headers of the definition.
    pub(super) async fn send(
        &self,
        method: HttpMethod,
        url: &str,
        json: Option<&str>,
    ) -> Result<HttpResponse, String> {
        let session = self.lock_session().clone();
        let own = self.address.headers.iter();
        let mut headers: Vec<_> = own.map(|(name, value)| (&**name, &**value)).collect();
        headers.extend(session.id.as_deref().map(|id| (SESSION_ID, id)));
        headers.extend(session.version.as_deref().map(|it| (PROTOCOL_VERSION, it)));
        headers.push(match method {
            HttpMethod::Get => ("accept", "text/event-stream"),
            _ => ("accept", "application/json, text/event-stream"),
        });
        let request = HttpRequest {
            method,
            url,
            headers: &headers,
            json,
            // A stream is silent for as long as no message comes. Each request has a deadline of its own.
            idle_timeout: Some(match method {
                HttpMethod::Get => Duration::MAX,
                HttpMethod::Post | HttpMethod::Delete => self.patience,
            }),
        };
        let answer = self.client.send(request).await;
        answer.map_err(|error| error.to_string())
    }

    /// The answer to a message of ours, unless it is an error.
    pub(super) async fn post(&self, url: &str, line: &str) -> Result<HttpResponse, String> {
        let mut answer = self.send(HttpMethod::Post, url, Some(line)).await?;
        if !(200..300).contains(&answer.status) {
            return Err(refusal(&mut answer).await);
        }
        Ok(answer)
    }

    fn lock_session(&self) -> std::sync::MutexGuard<'_, SessionHeaders> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the session and the version that the answer to `initialize` names.
    fn note_session(&self, answer: &HttpResponse, message: Token<'_>) {
        let version = message
            .get("result")
            .and_then(|it| it.get("protocolVersion"));
        let version = version.and_then(Token::string);
        let mut session = self.lock_session();
        session.id = answer.header(SESSION_ID).map(str::to_owned);
        session.version = version.map(std::borrow::Cow::into_owned);
    }

    /// Tells the server that the session is over. Its answer does not matter.
    async fn delete_session(&self) {
        if self.lock_session().id.is_some() {
            let request = self.send(HttpMethod::Delete, &self.address.url, None);
            let _ = timeout(DELETE_TIMEOUT, request).await;
        }
    }
}

/// The sentence about an answer with an error status.
pub(super) async fn refusal(answer: &mut HttpResponse) -> String {
    let status = answer.status;
    if matches!(status, 401 | 403) {
        return format!("the server wants a login ({status}): give it a header in `headers`");
    }
    let body = String::from_utf8_lossy(&answer.error_body().await).into_owned();
    let words: String = body.trim().chars().take(ERROR_CHARS).collect();
    if words.is_empty() || words.starts_with('<') {
        return format!("the server answers with the status {status}");
    }
    format!("the server answers with the status {status}: {words}")
}

/// Passes lines on until the client hangs up.
pub(super) async fn serve_http(pipe: DuplexStream, server: Arc<HttpLink>) {
    let (lines, to_client) = split(pipe);
    let (messages, incoming) = mpsc::channel(WAITING_MESSAGES);
    let mut lines = BufReader::new(lines).lines();
    let mut posts = JoinSet::new();
    let passing = pass_on(incoming, to_client);
    tokio::pin!(passing);
    loop {
        // All of these are cancel-safe.
        tokio::select! {
            biased;
            () = &mut passing => break,
            Some(_) = posts.join_next() => {}
            line = lines.next_line(), if posts.len() < MOST_REQUESTS => {
                let Ok(Some(line)) = line else { break };
                let poster = MessagePoster { link: Arc::clone(&server), messages: messages.clone() };
                let message = OwnMessage::from_line(line);
                if message.id.is_some() {
                    posts.spawn(async move { poster.post_message(&message).await });
                } else {
                    // The server has a notification before the request behind it.
                    poster.post_message(&message).await;
                }
            }
        }
    }
    posts.shutdown().await;
    server.delete_session().await;
}

/// Passes the server's messages on to the client.
pub(super) async fn pass_on(
    mut incoming: mpsc::Receiver<Vec<u8>>,
    mut to_client: WriteHalf<DuplexStream>,
) {
    while let Some(message) = incoming.recv().await {
        if to_client.write_all(&message).await.is_err() {
            return;
        }
    }
}

struct MessagePoster {
    link: Arc<HttpLink>,
    messages: mpsc::Sender<Vec<u8>>,
}

impl MessagePoster {
    async fn post_message(&self, message: &OwnMessage) {
        let unanswered = match self.exchange(message).await {
            Ok(true) => return,
            Ok(false) => "the server has not answered".to_owned(),
            Err(reason) => reason,
        };
        if let Some(line) = message.error_line(&unanswered) {
            let _ = self.messages.send(line).await; // a client that is gone ends everything
        }
    }

    /// Sends a message and passes the answer on. Returns whether the message is answered.
    async fn exchange(&self, message: &OwnMessage) -> Result<bool, String> {
        let url = &self.link.address.url;
        let mut answer = self.link.post(url, &message.line).await?;
        if message.id.is_none() {
            return Ok(true); // an acknowledgement
        }
        match content_type(&answer).as_str() {
            "application/json" => {
                let body = answer.bytes(LONGEST_MESSAGE).await;
                let body = body.map_err(|error| error.to_string())?;
                self.hand_over(message, &answer, body).await
            }
            "text/event-stream" => self.read_events(message, answer).await,
            other => Err(format!(
                "it is no MCP server: its answer is `{}`",
                other.chars().take(80).collect::<String>()
            )),
        }
    }

    async fn read_events(
        &self,
        message: &OwnMessage,
        mut answer: HttpResponse,
    ) -> Result<bool, String> {
        let mut events = EventBuffer::with_limit(LONGEST_MESSAGE);
        let mut is_answered = false;
        while !is_answered {
            let bytes = answer.next_bytes().await;
            let Some(bytes) = bytes.map_err(|error| error.to_string())? else {
                return Err("the server ended its stream before it had answered".to_owned());
            };
            events.push(&bytes);
            while let Some(event) = events.next_event().map_err(|it| too_large(it.limit))? {
                is_answered |= self.hand_over(message, &answer, event.data).await?;
            }
        }
        Ok(true)
    }

    /// Passes a message of the server on. Returns whether it answers ours.
    async fn hand_over(
        &self,
        message: &OwnMessage,
        answer: &HttpResponse,
        body: Vec<u8>,
    ) -> Result<bool, String> {
        let text = String::from_utf8(body).map_err(|_| NO_MESSAGE.to_owned())?;
        let token = Token::parse(&text).ok();
        let token = token.filter(|token| token.kind() == TokenKind::Object);
        let token = token.ok_or_else(|| NO_MESSAGE.to_owned())?;
        let is_answer = message.is_answered_by(token);
        if is_answer && message.is_initialize {
            self.link.note_session(answer, token);
        }
        let _ = self.messages.send(line_of(&text)).await; // a client that is gone ends everything
        Ok(is_answer)
    }
}

pub(super) const NO_MESSAGE: &str = "the server sends text that is no message of MCP";

pub(super) fn too_large(limit: usize) -> String {
    format!("the server sends an event of more than {limit} bytes")
}

/// A message as a line. A line break in it is white space between tokens of JSON.
pub(super) fn line_of(message: &str) -> Vec<u8> {
    let mut line = message.replace(['\n', '\r'], " ").into_bytes();
    line.push(b'\n');
    line
}

/// The type of an answer's body, without its parameters.
pub(super) fn content_type(answer: &HttpResponse) -> String {
    let kind = answer.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}
