//! Finding JSON in an answer.

use lapidary_json::{Token, scan_prefix};
use lapidary_vocab::Json;

use crate::own;

/// How many times the text's own length may be spent on brackets that begin no JSON. Prose has few; a hostile text of nothing but
/// brackets must not cost quadratic time.
const PATIENCE: usize = 16;

/// The JSON in a text: the whole of it, else its first fenced block that is JSON, else the first object or array in the prose.
///
/// ```
/// use lapidary_normalize::extract::json;
/// assert_eq!(json("Sure:\n```json\n{\"a\": 1}\n```").unwrap().as_str(), "{\"a\": 1}");
/// assert_eq!(json("It is {\"a\": [1, 2]}, as asked.").unwrap().as_str(), "{\"a\": [1, 2]}");
/// assert_eq!(json("false").unwrap().as_str(), "false");
/// assert!(json("no JSON here").is_none());
/// ```
pub fn json(text: &str) -> Option<Json> {
    let whole = Token::parse(text.trim()).ok();
    let found = whole.or_else(|| fenced_json(text)).or_else(|| in_prose(text))?;
    Some(own::owned_json(found))
}

/// The first fenced block whose content is JSON.
fn fenced_json(text: &str) -> Option<Token<'_>> {
    let mut rest = text;
    while let Some(open) = rest.find("```") {
        let (_, body) = rest[open..].split_once('\n')?;
        let close = body.find("\n```").map_or(body.len(), |at| at + 1);
        if let Ok(token) = Token::parse(body[..close].trim()) {
            return Some(token);
        }
        rest = body[close..].strip_prefix("```").unwrap_or("");
    }
    None
}

/// The first balanced object or array.
fn in_prose(text: &str) -> Option<Token<'_>> {
    let mut patience = text.len().saturating_mul(PATIENCE);
    for (at, _) in text.match_indices(['{', '[']) {
        match scan_prefix(&text[at..]) {
            Ok((token, _)) => return Some(token),
            Err(invalid) => patience = patience.checked_sub(invalid.at + 1)?,
        }
    }
    None
}
