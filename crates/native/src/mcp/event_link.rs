//! An MCP server over the transport of 2024: one stream of events has all that the server says, and its first event names the URL for
//! messages of ours.

use std::sync::Arc;

use lapidary_wire::sse::{EventBuffer, ServerEvent};
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, split};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::http_link::{
    HttpLink, LONGEST_MESSAGE, NO_MESSAGE, OwnMessage, WAITING_MESSAGES, content_type, line_of,
    pass_on, refusal, too_large,
};
use crate::http::{HttpMethod, HttpResponse};

/// Passes lines on until the client hangs up or the server ends its stream.
pub(super) async fn serve_events(pipe: DuplexStream, server: Arc<HttpLink>) {
    let (lines, to_client) = split(pipe);
    let (messages, incoming) = mpsc::channel(WAITING_MESSAGES);
    let mut lines = BufReader::new(lines).lines();
    let passing = pass_on(incoming, to_client);
    tokio::pin!(passing);
    let mut stream = EventStream::open(&server).await;
    let mut posts = JoinSet::new();
    loop {
        // All of these are cancel-safe: a stream that is read in part is read on.
        tokio::select! {
            biased;
            () = &mut passing => break,
            Some(_) = posts.join_next() => {}
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { break };
                let message = OwnMessage::from_line(line.clone());
                let (server, messages) = (Arc::clone(&server), messages.clone());
                let url = stream.as_ref().map(|stream| stream.url.clone()).map_err(Clone::clone);
                posts.spawn(async move {
                    let posted = match url {
                        Ok(url) => server.post(&url, &line).await.map(drop),
                        Err(reason) => Err(reason),
                    };
                    if let Some(line) = posted.err().and_then(|it| message.error_line(&it)) {
                        let _ = messages.send(line).await;
                    }
                });
            }
            message = next_message(&mut stream) => match message {
                Ok(message) => drop(messages.send(message).await),
                // All requests that wait end with the connection.
                Err(_) => break,
            },
        }
    }
    posts.shutdown().await;
}

/// The next message of the stream. One that could not be opened has none.
async fn next_message(stream: &mut Result<EventStream, String>) -> Result<Vec<u8>, String> {
    match stream {
        Ok(stream) => {
            let event = stream.next_event().await?;
            let text = String::from_utf8(event.data).map_err(|_| NO_MESSAGE.to_owned())?;
            Ok(line_of(&text))
        }
        Err(_) => std::future::pending().await,
    }
}

struct EventStream {
    answer: HttpResponse,
    events: EventBuffer,
    /// The URL for messages of ours.
    url: String,
}

impl EventStream {
    /// Opens the stream, up to the event that names the URL for messages.
    async fn open(link: &HttpLink) -> Result<Self, String> {
        let url = &link.address.url;
        let mut answer = link.send(HttpMethod::Get, url, None).await?;
        if answer.status != 200 {
            return Err(refusal(&mut answer).await);
        }
        if content_type(&answer) != "text/event-stream" {
            return Err("it is no MCP server: its answer is no stream of events".to_owned());
        }
        let mut stream = Self {
            answer,
            events: EventBuffer::with_limit(LONGEST_MESSAGE),
            url: String::new(),
        };
        let first = stream.next_event().await?;
        if first.name.as_deref() != Some(b"endpoint") {
            return Err("it is no MCP server: its stream names no `endpoint`".to_owned());
        }
        let named = String::from_utf8_lossy(&first.data).into_owned();
        let resolved = link.address.resolve(named.trim());
        stream.url = resolved.ok_or("the server leads to another origin, which is not followed")?;
        Ok(stream)
    }

    async fn next_event(&mut self) -> Result<ServerEvent, String> {
        loop {
            if let Some(event) = self.events.next_event().map_err(|it| too_large(it.limit))? {
                return Ok(event);
            }
            let bytes = self.answer.next_bytes().await;
            let bytes = bytes.map_err(|error| error.to_string())?;
            let bytes = bytes.ok_or("the server ended its stream")?;
            self.events.push(&bytes);
        }
    }
}
