//! Events as a client reads them: server-sent events, or one JSON per line.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use lapidary::Event;
use lapidary::engine::run::{SubscribeError, Subscription};
use lapidary::normalize::EventBuffer;
use lapidary::render::html::{FragmentWriter, TranscriptFacts};
use lapidary::vocab::line;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Bytes that are collected before a piece is sent.
const PIECE: usize = 32 << 10;

/// A client that hears nothing for longer takes the connection for dead.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The form of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamForm {
    /// `text/event-stream`: each event has its `seq` as `id`.
    ServerSent,
    /// `application/x-ndjson`: one JSON per line, as `lapidary connect` prints them.
    Lines,
    /// `text/event-stream`: blocks of the transcript as HTML, each with the `seq` of the last event in it.
    Fragments,
}

impl StreamForm {
    /// The form that `Accept` asks for.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT);
        let accept = accept.and_then(|value| value.to_str().ok());
        let is_sse = accept.is_some_and(|value| value.contains("text/event-stream"));
        if is_sse {
            Self::ServerSent
        } else {
            Self::Lines
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::ServerSent | Self::Fragments => "text/event-stream",
            Self::Lines => "application/x-ndjson",
        }
    }
}

/// Writes events into pieces of a response.
#[derive(Debug)]
pub(crate) struct EventEncoder {
    form: StreamForm,
    /// The `seq` of the next event that the client wants.
    next_seq: u64,
    piece: Vec<u8>,
    /// Blocks of the transcript, if these are wanted.
    fragments: FragmentWriter,
    /// The facts that the client has.
    facts: TranscriptFacts,
    /// The first event that a client which comes back does not have.
    resumes_at: Option<u64>,
    has_news: bool,
}

impl EventEncoder {
    pub(crate) fn new(form: StreamForm, from_seq: u64) -> Self {
        Self {
            form,
            next_seq: from_seq,
            piece: Vec::new(),
            fragments: FragmentWriter::for_run(),
            facts: TranscriptFacts::default(),
            resumes_at: (from_seq > 0).then_some(from_seq),
            has_news: false,
        }
    }

    /// Adds an event, unless the client has it.
    pub(crate) fn push(&mut self, event: &Event) {
        let seq = event.base.seq;
        if self.form == StreamForm::Fragments {
            return self.push_to_fragments(event);
        }
        if seq < self.next_seq {
            return;
        }
        self.next_seq = seq + 1;
        if self.form == StreamForm::ServerSent {
            self.piece.extend_from_slice(b"id: ");
            self.piece.extend_from_slice(seq.to_string().as_bytes());
            self.piece.extend_from_slice(b"\ndata: ");
        }
        line::push_event(&mut self.piece, event);
        if self.form == StreamForm::ServerSent {
            self.piece.push(b'\n');
        }
    }

    /// Blocks are made of all events. A client that comes back gets only the blocks that have changed since.
    fn push_to_fragments(&mut self, event: &Event) {
        let seq = event.base.seq;
        if self.resumes_at == Some(seq) {
            let _ = self.fragments.take_changed(); // the client has these
        }
        if seq >= self.next_seq {
            self.has_news = true;
            self.next_seq = seq + 1;
        }
        self.fragments.push(event);
    }

    fn write_fragments(&mut self) {
        if !std::mem::take(&mut self.has_news) {
            return;
        }
        let seq = self.next_seq - 1;
        for fragment in self.fragments.take_changed() {
            let data = json!({"block": fragment.block, "html": fragment.html});
            self.write_sent(seq, "block", &data);
        }
        let facts = self.fragments.facts();
        if facts != self.facts {
            self.write_sent(seq, "facts", &facts_json(&facts));
            self.facts = facts;
        }
        if let Some(html) = self.fragments.footer() {
            self.write_sent(seq, "end", &json!({"html": html}));
        }
    }

    fn write_sent(&mut self, seq: u64, name: &str, data: &serde_json::Value) {
        let text = format!("id: {seq}\nevent: {name}\ndata: {data}\n\n");
        self.piece.extend_from_slice(text.as_bytes());
    }

    /// A sign of life. Lines have none: each line is an event.
    pub(crate) fn push_heartbeat(&mut self) {
        if self.form != StreamForm::Lines {
            self.piece
                .extend_from_slice(b"event: heartbeat\ndata: {}\n\n");
        }
    }

    fn has_news(&self) -> bool {
        self.has_news || !self.piece.is_empty()
    }

    /// How long news may wait for more: a block of the transcript is written again as a whole.
    fn pace(&self) -> Duration {
        match self.form {
            StreamForm::Fragments => Duration::from_millis(60),
            StreamForm::ServerSent | StreamForm::Lines => Duration::ZERO,
        }
    }

    fn is_full(&self) -> bool {
        self.piece.len() >= PIECE
    }

    pub(crate) fn take_if_full(&mut self) -> Option<Bytes> {
        if self.is_full() { self.take() } else { None }
    }

    pub(crate) fn take(&mut self) -> Option<Bytes> {
        self.write_fragments();
        let piece = std::mem::take(&mut self.piece);
        (!piece.is_empty()).then(|| piece.into())
    }
}

/// The facts of a transcript, as the page reads them.
pub(crate) fn facts_json(facts: &TranscriptFacts) -> serde_json::Value {
    json!({
        "title": facts.title, "provider": facts.provider, "model": facts.model, "cwd": facts.cwd,
        "sessionId": facts.session_id, "startedAt": facts.started_at, "durationMs": facts.duration_ms,
        "totalTokens": facts.total_tokens, "tokenParts": facts.token_parts, "cost": facts.cost,
        "costBasis": facts.cost_basis, "toolCalls": facts.tool_calls, "failedCalls": facts.failed_calls,
        "isWorking": facts.is_working,
    })
}

/// Sends the events of a run of this server until its end, or until the client is gone.
pub(crate) async fn send_live(
    mut events: Subscription,
    mut encoder: EventEncoder,
    pieces: mpsc::Sender<Bytes>,
) {
    let mut batch = EventBuffer::new();
    loop {
        // Events that are there already are sent together, without the timers of a wait.
        let next = if let Some(next) = poll_now(&mut events, &mut batch).await {
            next
        } else {
            // Each branch can be cancelled.
            tokio::select! {
                biased;
                next = events.next_batch(&mut batch) => next,
                () = sleep(encoder.pace()), if encoder.has_news() => {
                    if !send_piece(encoder.take(), &pieces).await {
                        return;
                    }
                    continue;
                }
                () = pieces.closed() => return,
                () = sleep(HEARTBEAT) => {
                    encoder.push_heartbeat();
                    continue;
                }
            }
        };
        let Some(Ok(())) = next else { break };
        for event in &batch {
            encoder.push(event);
            if !send_piece(encoder.take_if_full(), &pieces).await {
                return;
            }
        }
    }
    send_piece(encoder.take(), &pieces).await;
}

/// The next events, if they are there.
async fn poll_now(
    events: &mut Subscription,
    batch: &mut EventBuffer,
) -> Option<Option<Result<(), SubscribeError>>> {
    poll_fn(|context| match events.poll_batch(context, batch) {
        Poll::Ready(next) => Poll::Ready(Some(next)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// False if the client is gone.
async fn send_piece(piece: Option<Bytes>, pieces: &mpsc::Sender<Bytes>) -> bool {
    match piece {
        Some(piece) => pieces.send(piece).await.is_ok(),
        None => true,
    }
}
