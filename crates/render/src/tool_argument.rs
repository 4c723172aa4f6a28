//! The subject of a call, in a few words.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::{Json, Text};

use crate::plain;

/// Arguments that name the subject of a call, the most telling first.
const TELLING: [&str; 16] = [
    "command",
    "file_path",
    "absolute_path",
    "pattern",
    "query",
    "url",
    "urls",
    "path",
    "dir_path",
    "paths",
    "include",
    "skill_name",
    "agent_name",
    "name",
    "prompt",
    "fact",
];

/// Enough for a path or a command; the whole is in the call's details.
pub(crate) const LONGEST_ARGUMENT: usize = 100;

/// The argument that names the subject of the call, on one line; else the first that is a text.
pub(crate) fn telling_argument(input: &Json) -> Option<String> {
    let rank = |key: Token<'_>| TELLING.iter().position(|known| key.is(known));
    // Looked at once: an argument can be a file of many megabytes.
    let arguments = input
        .token()
        .members()
        .filter(|(_, value)| !value.is_null());
    let candidates =
        arguments.filter(|(key, value)| rank(*key).is_some() || value.kind() == TokenKind::String);
    let (_, value) = candidates.min_by_key(|(key, _)| rank(*key).unwrap_or(TELLING.len()))?;
    let text = value.string().unwrap_or_else(|| value.as_str().into());
    Some(plain::first_line(&text, LONGEST_ARGUMENT)).filter(|line| !line.is_empty())
}

/// The part of a title beside the tool's name: `edit a.txt` of an `edit` gives `a.txt`.
pub(crate) fn title_beside_name(name: &str, title: &Text) -> String {
    let title = plain::first_line(&title.to_str(), LONGEST_ARGUMENT);
    let rest = title
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(' '));
    rest.map(str::to_owned).unwrap_or(title)
}
