//! Writing values as lines of JSON.
//!
//! Serde writes them all, except two: the events of which a stream has most, and of which serde would spend more time on the keys
//! than the values; and a session of a list, of which there may be tens of thousands. Tests compare them with what serde writes.

mod events;

mod session_rows;

use std::io::{self, Write};

use serde::Serialize;

use crate::event::Event;

pub use session_rows::{SessionRow, write_sessions};

/// Writes `value` and a newline.
pub fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes an event and a newline: the same bytes as [`write()`], faster.
pub fn write_event(out: &mut impl Write, event: &Event) -> io::Result<()> {
    if events::write_plain(out, event)? {
        return Ok(());
    }
    write(out, event)
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

/// A string that rarely needs escaping.
pub(crate) fn write_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    if lapidary_json::needs_escape(text) {
        return Ok(serde_json::to_writer(out, text)?);
    }
    out.write_all(b"\"")?;
    out.write_all(text.as_bytes())?;
    out.write_all(b"\"")
}
