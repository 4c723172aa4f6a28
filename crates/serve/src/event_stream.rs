//! Events as a client reads them: server-sent events, or one JSON per line.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use lapidary::Event;
use lapidary::engine::run::Subscription;
use lapidary::render::html::FragmentWriter;
use lapidary::vocab::line;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Bytes that are collected before a piece is sent.
const PIECE: usize = 32 << 10;

/// A client that hears nothing for longer takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(10);

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
            fragments: FragmentWriter::default(),
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
        let _ = line::write_event(&mut self.piece, event); // a vector takes all
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
        if let Some(html) = self.fragments.footer() {
            self.write_sent(seq, "end", &json!({"html": html}));
        }
    }

    fn write_sent(&mut self, seq: u64, name: &str, data: &serde_json::Value) {
        let text = format!("id: {seq}\nevent: {name}\ndata: {data}\n\n");
        self.piece.extend_from_slice(text.as_bytes());
    }

    /// A sign of life. Lines have none: each line is an event.
    fn push_heartbeat(&mut self) {
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

/// Sends the events of a run of this server until its end, or until the client is gone.
pub(crate) async fn send_live(
    mut events: Subscription,
    mut encoder: EventEncoder,
    pieces: mpsc::Sender<Bytes>,
) {
    loop {
        // Each branch can be cancelled. Events that are there already come first, so they are sent together.
        let next = tokio::select! {
            biased;
            next = events.next() => next,
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
        };
        let Some(Ok(event)) = next else { break };
        encoder.push(&event);
        if !send_piece(encoder.take_if_full(), &pieces).await {
            return;
        }
    }
    send_piece(encoder.take(), &pieces).await;
}

/// False if the client is gone.
async fn send_piece(piece: Option<Bytes>, pieces: &mpsc::Sender<Bytes>) -> bool {
    match piece {
        Some(piece) => pieces.send(piece).await.is_ok(),
        None => true,
    }
}
