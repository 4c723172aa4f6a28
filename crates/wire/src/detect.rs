//! Which format a text is, told by its content. Names lie: a session file may be called `.json` and be a log.

use lapidary_json::{Kind, Token, scan_object};

use crate::gemini::output::{self, Document};
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
}

/// What one line gives away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It can only be this.
    Is(Format),
    /// It begins a value that goes on over several lines, so the whole text must be looked at.
    OpensDocument,
    /// Noise, a blank line, or an object that could be anything.
    Nothing,
}

/// Looks at one line.
pub fn line(text: &str) -> Guess {
    let mut named = None;
    let scanned = scan_object(text, |key, value| {
        if key.is("type") {
            named = Some(value);
        }
    });
    match scanned {
        Ok(()) => {
            let object = Token::parse(text).ok();
            object
                .and_then(|object| of_object(object, named))
                .map_or(Guess::Nothing, Guess::Is)
        }
        Err(_) if is_cut_short(text) => Guess::OpensDocument,
        Err(_) => Guess::Nothing,
    }
}

/// Looks at a whole text.
pub fn document(text: &str) -> Option<Format> {
    if let Ok(object) = Token::parse(text)
        && let Some(format) = of_object(object, object.get("type"))
    {
        return Some(format);
    }
    let certain = text.lines().find_map(|text| match line(text) {
        Guess::Is(format) => Some(format),
        Guess::OpensDocument | Guess::Nothing => None,
    });
    certain.or_else(|| {
        let found = output::pieces(text)
            .iter()
            .any(|piece| matches!(piece, output::Piece::Document(_)));
        found.then_some(Format::Json)
    })
}

fn of_object(object: Token<'_>, named: Option<Token<'_>>) -> Option<Format> {
    match Record::of(object) {
        Record::RewindTo(_) | Record::Set(_) | Record::Header(_) => return Some(Format::Session),
        // `error` is a type in both worlds, but only a session's records have an id.
        Record::Message { record, .. } if record.get("content").is_some() => {
            return Some(Format::Session);
        }
        Record::Message { .. } | Record::Unknown => {}
    }
    let named = named.filter(|name| name.kind() == Kind::String);
    match named.and_then(Token::string).as_deref() {
        Some("init" | "message" | "tool_use" | "tool_result" | "error" | "result") => {
            Some(Format::StreamJson)
        }
        Some(_) => None,
        None => Document::of(object).map(|_| Format::Json),
    }
}

/// True if the text begins an object or array that ends too early, as the first line of a pretty-printed document does.
fn is_cut_short(text: &str) -> bool {
    let begins = text.trim_start().starts_with(['{', '[']);
    begins && Token::parse(text).is_err_and(|invalid| invalid.at >= text.len())
}
