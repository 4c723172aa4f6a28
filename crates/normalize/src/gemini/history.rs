//! A session file → the history that Gemini CLI builds when it continues the session.
//!
//! It makes two things: the items that its screen shows ([`ui_history`]), and the turns that it tells the model
//! ([`client_history`]). Both are the CLI's own objects, as 0.61 makes them, and serialise as they do: a program that shows or
//! continues a session of Gemini's can use them in its place. Parts, arguments and results pass through token for token.
//!
//! ```
//! use lapidary_normalize::gemini::history;
//! use lapidary_wire::gemini::session::ReplayedLog;
//!
//! let log = ReplayedLog::read(br#"{"sessionId":"s","messages":[{"id":"1","type":"user","content":"Hello"},
//!     {"id":"2","type":"gemini","content":"Hi.","thoughts":[{"subject":"Greet","description":"politely"}]}]}"#);
//! let items = history::ui_history(&log);
//! assert!(matches!(&items[1], history::UiItem::Thinking { thought } if thought.subject.is_some()));
//! let turns = history::client_history(&log);
//! assert_eq!(turns[1].parts[0].as_str(), r#"{"text":"**Greet** politely","thought":true}"#);
//! ```

mod call_ids;
mod client;
mod said;
mod ui;

pub use client::{ModelContent, TurnRole, client_history};
pub use ui::{UiItem, UiThought, UiTool, UiToolStatus, ui_history};

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::session::ReplayedLog;

/// The messages that the CLI loads. In a log it knows them by their ids: one without, which only a checkpoint can hold, is
/// passed over. A session of one document may do without.
fn loaded_messages<'a>(log: &'a ReplayedLog<'a>) -> impl Iterator<Item = Token<'a>> + 'a {
    let is_document = log
        .header
        .is_some_and(|header| header.get("messages").is_some());
    log.messages().filter(move |message| {
        is_document
            || message
                .get("id")
                .is_some_and(|id| id.kind() == TokenKind::String)
    })
}

/// The elements of a list, if it is one and has any.
fn message_list<'a>(message: Token<'a>, name: &str) -> impl Iterator<Item = Token<'a>> + use<'a> {
    message
        .get(name)
        .into_iter()
        .flat_map(Token::elements)
        .filter(|item| item.kind() == TokenKind::Object)
}
