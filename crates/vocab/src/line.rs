//! Writing values as lines of JSON.
//!
//! Serde writes them all, except two: the events of which a stream has most, and of which serde would spend more time on the keys
//! than the values; and a session of a list, of which there may be tens of thousands. Tests compare them with what serde writes.

mod events;

use std::borrow::Borrow;
use std::io::{self, Write};

use serde::Serialize;

use crate::event::Event;
use crate::session::{SessionInfo, SessionList};

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

/// Writes a list of sessions and a newline: the same bytes as [`write()`] of a [`SessionList`] with these sessions, faster, and
/// without a copy of them.
pub fn write_sessions(
    out: &mut impl Write,
    list: &SessionList,
    sessions: impl Iterator<Item: Borrow<SessionInfo>>,
) -> io::Result<()> {
    let SessionList {
        schema,
        sessions: _,
        hidden_count,
        hidden,
        warnings,
    } = list;
    out.write_all(b"{\"schema\":")?;
    string(out, schema)?;
    out.write_all(b",\"sessions\":[")?;
    for (place, session) in sessions.enumerate() {
        out.write_all(if place == 0 { b"" } else { b"," })?;
        write_session(out, session.borrow())?;
    }
    write!(out, "],\"hiddenCount\":{hidden_count}")?;
    if !hidden.is_empty() {
        out.write_all(b",\"hidden\":")?;
        serde_json::to_writer(&mut *out, hidden)?;
    }
    if !warnings.is_empty() {
        out.write_all(b",\"warnings\":")?;
        serde_json::to_writer(&mut *out, warnings)?;
    }
    out.write_all(b"}\n")
}

fn write_session(out: &mut impl Write, session: &SessionInfo) -> io::Result<()> {
    let SessionInfo {
        id,
        provider,
        run,
        file,
        file_name,
        path,
        start_time,
        last_updated,
        message_count,
        user_message_count,
        display_name,
        first_user_message,
        is_current_session,
        index,
        unlisted,
        summary,
        project,
        project_id,
        size,
        endangered_by,
    } = session;
    member(out, b"{\"id\":", id)?;
    member(out, b",\"provider\":", provider.as_str())?;
    if let Some(run) = run {
        member(out, b",\"run\":", run)?;
    }
    member(out, b",\"file\":", file)?;
    member(out, b",\"fileName\":", file_name)?;
    member(out, b",\"path\":", path)?;
    member(out, b",\"startTime\":", start_time)?;
    member(out, b",\"lastUpdated\":", last_updated)?;
    count(out, b",\"messageCount\":", *message_count)?;
    count(out, b",\"userMessageCount\":", *user_message_count)?;
    member(out, b",\"displayName\":", display_name)?;
    member(out, b",\"firstUserMessage\":", first_user_message)?;
    out.write_all(if *is_current_session {
        b",\"isCurrentSession\":true"
    } else {
        b",\"isCurrentSession\":false".as_slice()
    })?;
    count(out, b",\"index\":", *index)?;
    if let Some(unlisted) = unlisted {
        member(out, b",\"unlisted\":", unlisted.as_str())?;
    }
    if let Some(summary) = summary {
        member(out, b",\"summary\":", summary)?;
    }
    if let Some(project) = project {
        member(out, b",\"project\":", project)?;
    }
    member(out, b",\"projectId\":", project_id)?;
    count(out, b",\"size\":", *size)?;
    if let Some(endangered_by) = endangered_by {
        member(out, b",\"endangeredBy\":", endangered_by)?;
    }
    out.write_all(b"}")
}

fn member(out: &mut impl Write, key: &[u8], text: &str) -> io::Result<()> {
    out.write_all(key)?;
    string(out, text)
}

/// A number. Not by `write!`, which takes as long for one as for three texts.
fn count(out: &mut impl Write, key: &[u8], number: u64) -> io::Result<()> {
    out.write_all(key)?;
    Ok(serde_json::to_writer(out, &number)?)
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
