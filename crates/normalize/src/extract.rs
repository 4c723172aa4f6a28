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
    let found = whole
        .or_else(|| fenced_json(text))
        .or_else(|| in_prose(text))?;
    Some(own::owned_json(found))
}

/// How many values of one text are looked at.
const MOST_CANDIDATES: usize = 64;

/// Every JSON value that an answer may mean, in order: the whole of it; else its fenced blocks that are JSON, and if there are none, the
/// objects and arrays in the prose. A value that is cut off at the end of the text ends the search: its parts are no answer.
///
/// ```
/// use lapidary_normalize::extract::candidates;
/// let found = candidates("First {\"a\": 1}, then {\"a\": 2}.");
/// assert_eq!(found.len(), 2);
/// assert!(candidates("{\"a\": {\"b\": 1}, \"c\": [").is_empty());
/// ```
pub fn candidates(text: &str) -> Vec<Json> {
    let text = text.trim();
    if let Ok(whole) = Token::parse(text) {
        return vec![own::owned_json(whole)];
    }
    let mut found = all_fenced(text);
    if found.is_empty() {
        found = all_in_prose(text);
    }
    found.into_iter().map(own::owned_json).collect()
}

fn all_fenced(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(open) = rest.find("```")
        && let Some((_, body)) = rest[open..].split_once('\n')
        && found.len() < MOST_CANDIDATES
    {
        let close = body.find("\n```").map_or(body.len(), |at| at + 1);
        found.extend(Token::parse(body[..close].trim()));
        rest = body[close..].strip_prefix("```").unwrap_or("");
    }
    found
}

fn all_in_prose(text: &str) -> Vec<Token<'_>> {
    let mut patience = text.len().saturating_mul(PATIENCE);
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find(['{', '[']).map(|at| from + at)
        && found.len() < MOST_CANDIDATES
    {
        match scan_prefix(&text[at..]) {
            Ok((token, rest)) => {
                found.push(token);
                from = text.len() - rest.len();
            }
            Err(invalid) if at + invalid.at >= text.len() => break,
            Err(invalid) => {
                let Some(left) = patience.checked_sub(invalid.at + 1) else {
                    break;
                };
                (patience, from) = (left, at + 1);
            }
        }
    }
    found
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
