//! A session file made of messages.

use std::borrow::Cow;
use std::path::Path;

use lapidary_json::{Token, TokenKind};

use super::blobs::sha256_hex;
use super::replay::{LogReplay, ReplayedMessage};

/// Header fields of a rebuilt file that replace its own.
#[derive(Debug, Clone, Default)]
pub(super) struct RebuiltHeader {
    pub(super) session_id: String,
    /// Used if the file names none.
    pub(super) project_hash: String,
    pub(super) last_updated: Option<String>,
}

/// A log of a header and the messages that should be there, one a line, as the CLI would have written it without ever loading it.
pub(super) fn rebuilt_log(replay: &LogReplay<'_>, header: &RebuiltHeader) -> Vec<u8> {
    let mut text = header_line(replay, header);
    for message in replay.kept.iter() {
        text.push('\n');
        text.push_str(&message_line(message));
    }
    for line in &replay.unknown {
        text.push('\n');
        text.push_str(line);
    }
    text.push('\n');
    text.into_bytes()
}

fn header_line(replay: &LogReplay<'_>, header: &RebuiltHeader) -> String {
    let has_hash = replay
        .get("projectHash")
        .is_some_and(|hash| hash.kind() == TokenKind::String && !hash.is(""));
    let mut members = vec![format!("\"sessionId\":{}", json_string(&header.session_id))];
    if !has_hash {
        members.push(format!(
            "\"projectHash\":{}",
            json_string(&header.project_hash)
        ));
    }
    for (key, value) in &replay.metadata {
        let given = match key.string().as_deref() {
            // `id` and the like would make it another kind of record.
            Some("sessionId" | "messages" | "id" | "$set" | "$rewindTo") => continue,
            Some("projectHash") if !has_hash => continue,
            Some("lastUpdated") if header.last_updated.is_some() => continue,
            _ => value.as_str(),
        };
        members.push(format!("{}:{}", key.as_str(), one_line(given)));
    }
    if let Some(time) = &header.last_updated {
        members.push(format!("\"lastUpdated\":{}", json_string(time)));
    }
    format!("{{{}}}", members.join(","))
}

/// A message without an id is none to the CLI: it gets one that is always the same.
pub(super) fn message_line(message: &ReplayedMessage<'_>) -> String {
    let record = one_line(&message.record);
    let has_id = Token::parse(&record)
        .ok()
        .and_then(|record| record.get("id"))
        .is_some_and(|id| id.kind() == TokenKind::String);
    if has_id {
        return record;
    }
    let id = &sha256_hex(record.as_bytes())[..32];
    let inside = record.strip_prefix('{').unwrap_or("}").trim_start();
    let comma = if inside.starts_with('}') { "" } else { "," };
    // The last of two members counts, and this one is not to be overruled by an `id` that is no text.
    let inside = inside.strip_suffix('}').unwrap_or("").trim_end();
    format!("{{{inside}{comma}\"id\":\"{id}\"}}")
}

/// Values of a pretty-printed document stand over several lines.
fn one_line(value: &str) -> String {
    let whole = Token::parse(value).map(lapidary_json::compact);
    whole.map_or_else(|_| value.to_owned(), Cow::into_owned)
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The hash by which the CLI knows a project: of its directory's path, which the marker beside the sessions has.
pub(super) fn project_hash(chats: &Path) -> String {
    let project = if chats.ends_with("chats") {
        chats.parent().unwrap_or(chats)
    } else {
        chats
    };
    let marker = std::fs::read_to_string(project.join(".project_root"));
    marker.map_or_else(
        |_| sha256_hex(project.to_string_lossy().as_bytes()),
        |path| sha256_hex(path.trim().as_bytes()),
    )
}
