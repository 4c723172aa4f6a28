//! Writing values as lines of JSON.
//!
//! Serde writes them all, except two: a plain chunk of text, which is nearly everything in a stream, and of which serde would spend
//! more time on the keys than the text; and a session of a list, of which there may be tens of thousands. Tests compare them with
//! what serde writes.

mod session_rows;

use std::io::{self, Write};

use serde::Serialize;

use crate::event::{Event, StreamDelta};
use crate::{Base, Body};

pub use session_rows::{SessionRow, write_sessions};

/// Writes `value` and a newline.
pub fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes an event and a newline: the same bytes as [`write()`], faster.
pub fn write_event(out: &mut impl Write, event: &Event) -> io::Result<()> {
    match &event.body {
        Body::StreamDelta(delta) if is_plain(delta, &event.base) => {
            write_plain_delta(out, delta, &event.base)
        }
        _ => write(out, event),
    }
}

impl Event {
    /// The event as one line of JSON, without the newline.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        write_event(&mut bytes, self).expect("writing to memory does not fail");
        bytes.pop();
        String::from_utf8(bytes).expect("JSON is text")
    }
}

/// True if the event has only what nearly every chunk has. What is not asked for here is not written below.
fn is_plain(delta: &StreamDelta, base: &Base) -> bool {
    let StreamDelta {
        kind: _,
        text_delta: _,
        json_delta: None,
        block_index: None,
        call_id: None,
        parent_call_id: None,
    } = delta
    else {
        return false;
    };
    let Base {
        schema: None,
        id: _,
        seq: _,
        timestamp: _,
        provider: _,
        session_id: _,
        extensions,
        raw_is_text: false,
        raw_base64: None,
        raw: _,
        other,
    } = base
    else {
        return false;
    };
    extensions.is_empty() && other.is_empty()
}

fn write_plain_delta(out: &mut impl Write, delta: &StreamDelta, base: &Base) -> io::Result<()> {
    out.write_all(b"{\"event\":\"stream_delta\",\"kind\":")?;
    string(out, delta.kind.as_str())?;
    if let Some(text) = &delta.text_delta {
        out.write_all(b",\"textDelta\":")?;
        text.write_json(out)?;
    }
    out.write_all(b",\"id\":")?;
    string(out, &base.id)?;
    out.write_all(b",\"seq\":")?;
    serde_json::to_writer(&mut *out, &base.seq)?;
    if let Some(time) = &base.timestamp {
        out.write_all(b",\"timestamp\":")?;
        time.write_json(out)?;
    }
    out.write_all(b",\"provider\":")?;
    string(out, base.provider.as_str())?;
    if let Some(session) = &base.session_id {
        out.write_all(b",\"sessionId\":")?;
        session.write_json(out)?;
    }
    if let Some(raw) = &base.raw {
        out.write_all(b",\"raw\":")?;
        out.write_all(raw.as_str().as_bytes())?;
    }
    out.write_all(b"}\n")
}

/// A string that hardly ever has something to escape.
pub(crate) fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    if lapidary_json::needs_escape(text) {
        return Ok(serde_json::to_writer(out, text)?);
    }
    out.write_all(b"\"")?;
    out.write_all(text.as_bytes())?;
    out.write_all(b"\"")
}
