//! Transcripts of a connection: one record a line that says which side wrote what.
//!
//! Two spellings are in use, `{t_ms, dir: client|agent|stderr, line}` and `{t, dir: client->agent|agent->client|note, msg|raw}`.
//! A line that is no record is a bare message, whose side [`SideTracker`](super::sides::SideTracker) tells: so the stdout of an agent
//! is a transcript too.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};

/// The side that wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineAuthor {
    /// The agent, on its stdout.
    Agent,
    /// The client, to the agent's stdin.
    Client,
    /// The agent, on its stderr.
    Stderr,
    /// The program that made the transcript.
    Recorder,
}

/// A record.
#[derive(Debug, Clone)]
pub struct TranscriptRecord<'a> {
    /// The side that wrote it.
    pub author: LineAuthor,
    /// The line itself.
    pub line: Cow<'a, str>,
}

impl<'a> TranscriptRecord<'a> {
    /// Reads a line that is a record. Any other is none.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        Self::from_token(Token::parse(text).ok()?)
    }

    /// Reads a record; `None` for any other object.
    pub fn from_token(object: Token<'a>) -> Option<Self> {
        let author = match object.get("dir")?.string()?.as_ref() {
            "agent" | "agent->client" | "agent-truncated" => LineAuthor::Agent,
            "client" | "client->agent" => LineAuthor::Client,
            "stderr" => LineAuthor::Stderr,
            "note" => LineAuthor::Recorder,
            _ => return None,
        };
        let text = |name| object.get(name).and_then(Token::string);
        let message = || Some(Cow::Borrowed(object.get("msg")?.as_str()));
        let line = text("line").or_else(message).or_else(|| text("raw"))?;
        Some(Self { author, line })
    }

    /// True for a message of the protocol.
    pub fn is_message(object: Token<'_>) -> bool {
        let version = object.get("jsonrpc");
        let is_versioned = version.is_some_and(|version| version.kind() == TokenKind::String);
        is_versioned
            && ["method", "id"]
                .iter()
                .any(|name| object.get(name).is_some())
    }
}
