//! Session files.
//!
//! Up to 0.38 a session is one pretty-printed JSON document. Since 0.39 it is an append log: a header, then messages, where a
//! later record of the same id replaces the earlier one *in place*; `$set` patches the header's metadata, and with `messages`
//! in it replaces the whole conversation; `$rewindTo` cuts it back. Which of the two a file is only its content tells.

mod log;
mod message;

pub use log::{Log, Skipped};
pub use message::{MessageRecord, Part, Thought, ToolCall, ToolCallResult, parts};

use lapidary_json::{Kind, Token};

/// One record of the log.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
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
    /// Something else.
    Unknown,
}

impl<'a> Record<'a> {
    /// Tells what a record is, in the CLI's own order of precedence.
    pub fn of(record: Token<'a>) -> Self {
        let member = |name, kind| record.get(name).and_then(|token: Token<'a>| token.of(kind));
        if let Some(id) = member("$rewindTo", Kind::String) {
            return Self::RewindTo(id);
        }
        if let Some(id) = member("id", Kind::String) {
            return Self::Message { id, record };
        }
        if let Some(patch) = member("$set", Kind::Object) {
            return Self::Set(patch);
        }
        let header = member("sessionId", Kind::String).is_some();
        if header && (record.get("projectHash").is_some() || record.get("messages").is_some()) {
            return Self::Header(record);
        }
        Self::Unknown
    }
}
