//! The end of a turn that failed, held back while another attempt may follow: each prompt has one `turn_complete`.

use lapidary_vocab::event::{Diagnostic, DiagnosticKind};
use lapidary_vocab::{Body, Event, Json, Text};

use crate::raw::RawContent;
use crate::stamp::EventStamp;

/// A `turn_complete` that has not been emitted yet.
#[derive(Debug)]
pub(crate) struct HeldTurn {
    body: Body,
    raw: Option<RawContent>,
    extensions: Vec<(String, Json)>,
    timestamp: Option<Text>,
    session: Option<Text>,
}

impl HeldTurn {
    /// Holds what would be an event now.
    pub(crate) fn new(
        body: Body,
        raw: Option<RawContent>,
        extensions: Vec<(String, Json)>,
        stamp: &EventStamp,
    ) -> Self {
        Self {
            body,
            raw,
            extensions,
            timestamp: stamp.timestamp.clone(),
            session: stamp.session_id.clone(),
        }
    }

    /// Whether this is the body that is held back.
    pub(crate) fn is_due(body: &Body) -> bool {
        matches!(body, Body::TurnComplete(turn) if turn.is_error)
    }

    /// It was the last attempt.
    pub(crate) fn into_final_event(mut self, stamp: &mut EventStamp) -> Event {
        let time = std::mem::replace(&mut stamp.timestamp, self.timestamp);
        let session = std::mem::replace(&mut stamp.session_id, self.session);
        let mut event = stamp.next_event(self.body, &mut self.raw);
        event.base.extensions.extend(self.extensions);
        stamp.timestamp = time;
        stamp.session_id = session;
        event
    }

    /// Another attempt follows: the line, if it has one, belongs to the diagnostic that says so.
    pub(crate) fn into_superseded_event(
        mut self,
        message: String,
        stamp: &mut EventStamp,
    ) -> Event {
        let body = Diagnostic {
            kind: DiagnosticKind::Retry,
            message,
            count: None,
        };
        let mut event = stamp.next_event(Body::Diagnostic(body), &mut self.raw);
        event.base.extensions.extend(self.extensions);
        event
    }
}
