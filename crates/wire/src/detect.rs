//! Which format a text is, told by its content. Names lie: a session file may be called `.json` and be a log.

use lapidary_json::Token;

use crate::acp::transcript;
use crate::gemini::output::{self, Document, Piece};
use crate::gemini::session::Record;

/// A format this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `gemini -o stream-json`.
    StreamJson,
    /// `gemini -o json`, from stdout or stderr.
    Json,
    /// A session file of any version.
    Session,
    /// The Agent Client Protocol: a transcript of both sides, or what an agent wrote.
    Acp,
}

/// What one line gives away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It can only be this.
    Is(Format),
    /// It is a document or begins one that goes on over several lines: unless a line of a stream follows, the whole text must be
    /// looked at.
    MayBeDocument,
    /// Noise, a blank line, or an object that could be anything.
    Nothing,
}

/// Looks at one line.
pub fn line(text: &str) -> Guess {
    let opens = text.trim_start().starts_with(['{', '[']);
    match Token::parse(text) {
        Ok(token) => match of_object(token) {
            // A program may well log an object with an error in it before its stream begins.
            Some(Format::Json) => Guess::MayBeDocument,
            Some(format) => Guess::Is(format),
            None => Guess::Nothing,
        },
        Err(invalid) if opens && invalid.at >= text.len() => Guess::MayBeDocument,
        Err(_) => Guess::Nothing,
    }
}

/// Looks at a whole text.
pub fn document(text: &str) -> Option<Format> {
    if let Ok(token) = Token::parse(text)
        && let Some(format) = of_object(token)
    {
        return Some(format);
    }
    let certain = text.lines().find_map(|text| match line(text) {
        Guess::Is(format) => Some(format),
        Guess::MayBeDocument | Guess::Nothing => None,
    });
    certain.or_else(|| {
        let is_document = |piece: &Piece<'_>| matches!(piece, Piece::Document(_));
        output::pieces(text)
            .iter()
            .any(is_document)
            .then_some(Format::Json)
    })
}

fn of_object(object: Token<'_>) -> Option<Format> {
    if transcript::Record::is_message(object) || transcript::Record::of(object).is_some() {
        return Some(Format::Acp);
    }
    match Record::of(object) {
        Record::RewindTo(_) | Record::Set(_) | Record::Header(_) => return Some(Format::Session),
        // `error` is a type in both worlds, but only a session's records have an id.
        Record::Message { record, .. } if record.get("content").is_some() => {
            return Some(Format::Session);
        }
        Record::Message { .. } | Record::Unknown => {}
    }
    match object.get("type").and_then(Token::string).as_deref() {
        Some("init" | "message" | "tool_use" | "tool_result" | "error" | "result") => {
            Some(Format::StreamJson)
        }
        Some(_) => None,
        None => Document::of(object).map(|_| Format::Json),
    }
}
