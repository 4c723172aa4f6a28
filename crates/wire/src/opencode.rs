//! Sessions of opencode: rows of `session`, `message` and `part`.
//!
//! Up to 1.1 each row is a JSON file below `storage`. Since 1.2 it is a row of the database `opencode.db` (`SQLite`), whose column
//! `data` has the same object without the ids. `opencode export` prints both in one document.
//!
//! Checked on sessions of 1.1.65, 1.2.27 and 1.18.33.

use lapidary_json::{Token, TokenKind};

/// Types of parts that hold state of the program, or that the message tells again.
const STATE_PARTS: [&str; 4] = ["patch", "snapshot", "step-finish", "step-start"];

/// A row: its own members, and those of its content.
#[derive(Debug, Clone, Copy)]
pub struct OpencodeRow<'a> {
    row: Token<'a>,
    content: Token<'a>,
}

impl<'a> OpencodeRow<'a> {
    /// A row of the database, whose content is in `data`, or a file, which is its own content.
    pub fn from_token(row: Token<'a>) -> Self {
        let data = row.get("data").and_then(|it| it.if_kind(TokenKind::Object));
        Self {
            row,
            content: data.unwrap_or(row),
        }
    }

    /// The id of the row.
    pub fn id(&self) -> Option<Token<'a>> {
        self.row.get("id")?.if_kind(TokenKind::String)
    }

    /// A member of the content.
    pub fn get(&self, key: &str) -> Option<Token<'a>> {
        self.content.get(key).and_then(Token::non_null)
    }

    /// A text of the content.
    pub fn string(&self, key: &str) -> Option<Token<'a>> {
        self.get(key)?.if_kind(TokenKind::String)
    }

    /// `role` of a message, `type` of a part.
    pub fn kind(&self) -> Option<Token<'a>> {
        self.string("role").or_else(|| self.string("type"))
    }

    /// True for a part that no person and no model said.
    pub fn is_synthetic(&self) -> bool {
        self.get("synthetic").and_then(Token::bool) == Some(true)
    }

    /// True for a part that holds state of the program, or that the message tells again.
    pub fn is_state(&self) -> bool {
        let kind = self.string("type").and_then(Token::string);
        kind.is_some_and(|kind| STATE_PARTS.contains(&&*kind))
    }

    /// When it was created or began, in milliseconds since 1970: by its content, or by its column.
    pub fn created_ms(&self) -> Option<u64> {
        let time = self.get("time");
        let told = time.and_then(|time| time.get("created").or_else(|| time.get("start")));
        told.or_else(|| self.row.get("time_created"))?.u64()
    }

    /// The words of an error.
    pub fn error(&self) -> Option<Token<'a>> {
        let error = self.get("error")?;
        let told = error.get("data").and_then(|data| data.get("message"));
        let string = |token: Option<Token<'a>>| token?.if_kind(TokenKind::String);
        string(told)
            .or_else(|| string(error.get("name")))
            .or(string(Some(error)))
    }
}

/// Whether an object is a session's own file of a version up to 1.1.
pub fn is_session_file(object: Token<'_>) -> bool {
    let string = |key| object.get(key).and_then(|it| it.if_kind(TokenKind::String));
    is_session_id(string("id")) && string("projectID").is_some() && string("directory").is_some()
}

/// Whether an object is a document of `opencode export`: `info`, and `messages` with `info` and `parts` each.
pub fn is_export(object: Token<'_>) -> bool {
    let id = object.get("info").and_then(|info| info.get("id"));
    let messages = object.get("messages").map(Token::kind);
    is_session_id(id) && messages == Some(TokenKind::Array)
}

fn is_session_id(id: Option<Token<'_>>) -> bool {
    let id = id.and_then(Token::string);
    id.is_some_and(|id| id.starts_with("ses_"))
}

/// The first bytes of a database of `SQLite`.
pub const DATABASE_MARK: &[u8] = b"SQLite format 3\0";
