//! Session files.
//!
//! Up to 0.38 a session is one pretty-printed JSON document. Since 0.39 it is an append log: a header, then messages, where a
//! later record of the same id replaces the earlier one *in place*; `$set` patches the header's metadata, and with `messages`
//! in it replaces the whole conversation; `$rewindTo` cuts it back. The content of a file decides which of the two it is.

mod log;
mod message;
mod write;

pub use log::{LinePreview, ReplayedLog, SkippedRecords};
pub use message::{
    MessagePart, MessageRecord, ModelThought, NO_TEXTS, SessionToolCall, ToolCallResult, parts,
};

use lapidary_json::{Token, TokenKind};

/// One record of the log.
#[derive(Debug, Clone, Copy)]
pub enum SessionRecord<'a> {
    /// `{"$rewindTo": id}`: that message and all after it are gone; with an unknown id, all are.
    RewindTo(Token<'a>),
    /// A message, told by its string `id`.
    Message {
        /// Its id.
        id: Token<'a>,
        /// All of it.
        record: Token<'a>,
    },
    /// `{"$set": {…}}`: metadata, and with `messages` a checkpoint.
    Set(Token<'a>),
    /// A header, or a whole session in one object.
    Header(Token<'a>),
    /// Any other record.
    Unknown,
}

impl<'a> SessionRecord<'a> {
    /// Classifies a record, in the CLI's own order of precedence.
    pub fn from_token(record: Token<'a>) -> Self {
        let mut rewind = None;
        let mut id = None;
        let mut patch = None;
        let mut is_session = false;
        let mut is_header = false;
        for (key, value) in record.members() {
            match key.string().as_deref() {
                Some("$rewindTo") => rewind = value.if_kind(TokenKind::String),
                Some("id") => id = value.if_kind(TokenKind::String),
                Some("$set") => patch = value.if_kind(TokenKind::Object),
                Some("sessionId") => is_session = value.kind() == TokenKind::String,
                Some("projectHash" | "messages") => is_header = true,
                _ => {}
            }
        }
        match (rewind, id, patch) {
            (Some(id), _, _) => Self::RewindTo(id),
            (None, Some(id), _) => Self::Message { id, record },
            (None, None, Some(patch)) => Self::Set(patch),
            (None, None, None) if is_session && is_header => Self::Header(record),
            (None, None, None) => Self::Unknown,
        }
    }
}
