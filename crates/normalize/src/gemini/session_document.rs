//! A session file → one document with all its messages.

use std::io::{self, Write};

use lapidary_vocab::session_document::{DocumentInfo, SCHEMA};
use lapidary_vocab::{Json, Text, line};
use lapidary_wire::gemini::session::ReplayedLog;

use super::session_messages;
use crate::own::{owned_json, owned_text, string_token};

/// Writes a session as a [`SessionDocument`](lapidary_vocab::session_document::SessionDocument), message by message: a large one is never
/// held whole.
pub fn write(log: &ReplayedLog<'_>, redacted: bool, out: &mut impl Write) -> io::Result<()> {
    let skipped = &log.skipped;
    let left_out = skipped.superseded
        + skipped.removed
        + skipped.rewound
        + skipped.unreadable
        + skipped.unknown;
    let info = Json::from_value(&document_info(log));
    write!(out, r#"{{"schema":"{SCHEMA}","info":{},"#, info.as_str())?;
    write!(
        out,
        r#""redacted":{redacted},"leftOut":{left_out},"messages":["#
    )?;
    for (number, message) in session_messages::messages(log).enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b"," })?;
        line::write_message(out, &message)?;
    }
    out.write_all(b"]}\n")
}

fn document_info(log: &ReplayedLog<'_>) -> DocumentInfo {
    let said = |name| string_token(log.get(name)).map(owned_text);
    let metadata = log.metadata().map(|(key, value)| {
        let key = key.string().unwrap_or_default().into_owned();
        (key, owned_json(value))
    });
    let metadata: Vec<(String, Json)> = metadata.collect();
    let members = metadata.iter();
    DocumentInfo {
        id: said("sessionId"),
        provider: Text::from("gemini"),
        start_time: said("startTime"),
        last_updated: said("lastUpdated"),
        summary: said("summary"),
        metadata: Json::object(members.map(|(key, value)| (key.as_str(), value.clone()))),
    }
}
