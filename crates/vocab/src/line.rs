//! Writing values as lines of JSON.
//!
//! Serde writes them all, except two: the events of which a stream has most, and of which serde would spend more time on the keys
//! than the values; and a session of a list, of which there may be tens of thousands. Tests compare them with what serde writes.

mod events;

mod session_rows;

use std::io::{self, Write};

use serde::Serialize;

use crate::event::Event;
use crate::message::Message;
use crate::runtime::RuntimeEvent;

pub use session_rows::{SessionRow, write_sessions};

/// Writes `value` and a newline. The line is put together in memory: one serializer of a type serves all writers.
pub fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)
}

// The lines of which there are many. These functions are not generic, so this crate compiles them, for speed: crates that call them
// are compiled for size.

/// Appends an event and a newline: the same bytes as [`write()`], faster.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn push_event(lines: &mut Vec<u8>, event: &Event) {
    let is_written = events::write_plain(lines, event).expect(MEMORY);
    if !is_written {
        push_value(lines, event);
    }
}

/// Appends a runtime event and a newline.
pub fn push_runtime_event(lines: &mut Vec<u8>, event: &RuntimeEvent) {
    push_value(lines, event);
}

/// Writes a message and a newline. A message may have megabytes, which are not copied on their way.
pub fn write_message(out: &mut dyn Write, message: &Message) -> io::Result<()> {
    serde_json::to_writer(&mut *out, message)?;
    out.write_all(b"\n")
}

const MEMORY: &str = "writing to memory does not fail";

fn push_value(lines: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *lines, value).expect(MEMORY);
    lines.push(b'\n');
}

impl Event {
    /// The event as one line of JSON, without the newline.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        push_event(&mut bytes, self);
        bytes.pop();
        String::from_utf8(bytes).expect("JSON is text")
    }
}

/// A string that rarely needs escaping.
pub(crate) fn write_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    if lapidary_json::needs_escape(text) {
        return Ok(serde_json::to_writer(out, text)?);
    }
    out.write_all(b"\"")?;
    out.write_all(text.as_bytes())?;
    out.write_all(b"\"")
}
