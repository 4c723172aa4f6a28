//! Rollouts of Codex CLI: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.
//!
//! A rollout is an append log. `response_item` records are the conversation as the model sees it; `event_msg` records tell most of it
//! again, for the screen. Checked on files of 0.60.1 and 0.166.0, which adds `ordinal`, `world_state` and `token_usage_record`.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind, scan_object};

use crate::lines::RawLine;

/// Types of records.
const TYPES: [&str; 7] = [
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "world_state",
    "token_usage_record",
];

/// Types of `event_msg` that repeat a `response_item`, or hold state of the program.
const REPEATING: [&str; 7] = [
    "agent_message",
    "agent_reasoning",
    "item_completed",
    "task_started",
    "thread_settings_applied",
    "token_count",
    "user_message",
];

/// One record. Any field may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct RolloutRecord<'a> {
    /// `type`.
    pub kind: Option<Token<'a>>,
    /// RFC 3339, UTC.
    pub timestamp: Option<Token<'a>>,
    /// The content, by type.
    pub payload: Option<Token<'a>>,
}

impl<'a> RolloutRecord<'a> {
    /// Reads the fields of a record.
    pub fn from_token(record: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in record.members() {
            read.take(key, value);
        }
        read
    }

    /// Reads the fields of the object that a line is, in one go. None if it is no object.
    pub fn from_line(line: RawLine<'a>) -> Option<Self> {
        let mut read = Self::default();
        scan_object(line.text()?, |key, value| read.take(key, value)).ok()?;
        Some(read)
    }

    fn take(&mut self, key: Token<'a>, value: Token<'a>) {
        match key.string().as_deref() {
            Some("type") => self.kind = value.if_kind(TokenKind::String),
            Some("timestamp") => self.timestamp = value.if_kind(TokenKind::String),
            Some("payload") => self.payload = value.if_kind(TokenKind::Object),
            _ => {}
        }
    }

    /// Whether an object is a record of a rollout.
    pub fn is_record(object: Token<'_>) -> bool {
        let record = RolloutRecord::from_token(object);
        let kind = record.kind.and_then(Token::string);
        let is_known = kind.is_some_and(|kind| TYPES.contains(&&*kind));
        is_known && record.payload.is_some() && record.timestamp.is_some()
    }

    /// A field of the payload.
    pub fn get(&self, key: &str) -> Option<Token<'a>> {
        self.payload?.get(key).and_then(Token::non_null)
    }

    /// A text of the payload.
    pub fn string(&self, key: &str) -> Option<Token<'a>> {
        self.get(key)?.if_kind(TokenKind::String)
    }

    /// True for an `event_msg` that repeats another record, or holds state of the program.
    pub fn is_repeating_event(&self) -> bool {
        let kind = self.string("type").and_then(Token::string);
        kind.is_some_and(|kind| REPEATING.contains(&&*kind))
    }

    /// True for a message that no person and no model said: instructions and facts that the program adds. Since 0.166 the message
    /// says where each part comes from; before, its beginning tells.
    pub fn is_context(&self) -> bool {
        if !self.string("role").is_some_and(|role| role.is("user")) {
            return true;
        }
        let about = self.get("internal_chat_message_metadata_passthrough");
        let parts = about.and_then(|about| about.get("content_item_metadata"));
        let mut parts = parts.into_iter().flat_map(Token::elements).peekable();
        if parts.peek().is_some() {
            let is_users = |part: Token<'_>| {
                let from = part.get("provenance").and_then(|from| from.get("type"));
                from.is_some_and(|from| from.is("user"))
            };
            return !parts.any(is_users);
        }
        let starts = ["<environment_context>", "<turn_aborted>"];
        let said = self.texts().next().and_then(Token::string);
        said.is_some_and(|said| starts.iter().any(|start| said.starts_with(start)))
    }

    /// The sentence with which Codex (0.166) answers a call that its approval policy or its rules refuse.
    pub fn refusal(&self) -> Option<Cow<'a, str>> {
        let output = self.string("output")?.string()?;
        let starts = ["patch rejected: ", "approval policy is "];
        let ends = ["` rejected: blocked by policy", "rejected by user"];
        let is_told = starts.iter().any(|start| output.starts_with(start))
            || ends.iter().any(|end| output.ends_with(end))
            || output.contains("` rejected: policy forbids commands starting with `");
        is_told.then_some(output)
    }

    /// The exit code that the result of a command tells: in JSON (0.60.1), or in the lines before its output (0.166), where a command
    /// that ends at once may have no item of its own.
    pub fn printed_exit_code(&self) -> Option<i64> {
        let text = self.string("output")?.string()?;
        if let Ok(told) = Token::parse(&text) {
            let code = told.get("metadata")?.get("exit_code")?;
            return code.if_kind(TokenKind::Number)?.as_str().parse().ok();
        }
        let (about, _) = text.split_once("\nOutput:\n")?;
        let code = |line: &str| line.strip_prefix("Process exited with code ")?.parse().ok();
        about.lines().find_map(code)
    }

    /// True for the result of a call that failed, was refused, or called a tool that Codex does not have.
    pub fn has_failed(&self) -> bool {
        let output = self.string("output").and_then(Token::string);
        let unknown = ["unsupported call: ", "unsupported custom tool call: "];
        let is_unknown = |said: &str| unknown.iter().any(|start| said.starts_with(start));
        output.is_some_and(|said| is_unknown(&said))
            || self.printed_exit_code().is_some_and(|code| code != 0)
            || self.refusal().is_some()
    }

    /// The texts of a message's content.
    pub fn texts(&self) -> impl Iterator<Item = Token<'a>> {
        let content = self.get("content");
        let parts = content.into_iter().flat_map(Token::elements);
        parts.filter_map(|part| part.get("text")?.if_kind(TokenKind::String))
    }

    /// The pictures of a message's content, as `data:` addresses.
    pub fn images(&self) -> impl Iterator<Item = Token<'a>> {
        let content = self.get("content");
        let parts = content.into_iter().flat_map(Token::elements);
        parts.filter_map(|part| part.get("image_url")?.if_kind(TokenKind::String))
    }
}
