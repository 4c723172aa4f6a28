//! A content as one text: the texts of its parts, and a word for each part that has none.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Text;
use lapidary_wire::gemini::session::NO_TEXTS;

use crate::own::owned_text;

/// How deep lists may lie in lists. The CLI writes one level; each costs a look at all that is in it, so that there has to be an end.
const DEEPEST: usize = 64;

/// The text of a content, be it a string, a part or a list of parts.
pub(super) fn content_text(content: Token<'_>) -> Text {
    let mut pieces = Vec::new();
    // A list may hold lists. Open lists are kept here, so that no recursion follows the input's depth.
    let mut lists = Vec::new();
    let mut next = Some(content);
    loop {
        match next {
            Some(part) if part.kind() == TokenKind::Array => {
                if lists.len() < DEEPEST {
                    lists.push(part.elements());
                }
            }
            Some(part) => pieces.extend(part_text(part)),
            None => {
                lists.pop();
            }
        }
        match lists.last_mut() {
            Some(list) => next = list.next(),
            None => break,
        }
    }
    match pieces.as_slice() {
        [] => Text::default(),
        pieces => Text::concat(pieces),
    }
}

/// True if the CLI does not send a user's record to the model: an empty one, a command, or the CLI's own context.
pub(super) fn is_ignored(said: &str) -> bool {
    let said = trim_as_javascript(said);
    said.is_empty() || said.starts_with(['/', '?']) || is_context(said)
}

/// True if the CLI or a hook put it there, and not the user.
pub(super) fn is_context(said: &str) -> bool {
    let said = trim_as_javascript(said);
    said.starts_with("<session_context>") || said.starts_with("<hook_context>")
}

/// JavaScript's `trim`, which has its own idea of white space.
pub(super) fn trim_as_javascript(text: &str) -> &str {
    text.trim_matches(|char: char| char == '\u{feff}' || (char.is_whitespace() && char != '\u{85}'))
}

/// A value as JavaScript puts it into a text.
pub(super) fn in_text(value: Option<Token<'_>>) -> Text {
    value.map_or(Text::from("undefined"), owned_text)
}

fn part_text(part: Token<'_>) -> Option<Text> {
    if part.kind() != TokenKind::Object {
        return part.if_kind(TokenKind::String).map(owned_text);
    }
    let mut marks = [None; NO_TEXTS.len()];
    let mut said = None;
    for (key, value) in part.members() {
        let key = key.string().unwrap_or_default();
        if key == "text" {
            said = value.non_null();
        } else if let Some(place) = NO_TEXTS.iter().position(|mark| *mark == key) {
            marks[place] = Some(value);
        }
    }
    let mut found = NO_TEXTS.iter().zip(marks);
    let found = found.find_map(|(mark, value)| Some((*mark, value?)));
    match found {
        Some((mark, value)) => Some(part_placeholder(mark, value)),
        None => said.map(owned_text),
    }
}

/// The word for a part that is not text.
fn part_placeholder(mark: &str, value: Token<'_>) -> Text {
    let about = |what: &'static str, value| {
        Text::concat(&[Text::from(what), in_text(value), Text::from("]")])
    };
    match mark {
        "videoMetadata" => Text::from("[Video Metadata]"),
        "thought" => about("[Thought: ", Some(value)),
        "codeExecutionResult" => Text::from("[Code Execution Result]"),
        "executableCode" => Text::from("[Executable Code]"),
        "fileData" => Text::from("[File Data]"),
        "functionCall" => about("[Function Call: ", value.get("name")),
        "functionResponse" => about("[Function Response: ", value.get("name")),
        _ => inline_data(value),
    }
}

fn inline_data(value: Token<'_>) -> Text {
    let mime_type = value.get("mimeType").and_then(Token::string);
    let mime_type = mime_type.as_deref().unwrap_or("unknown");
    let data = value.get("data").and_then(Token::string);
    let bytes = (data.map_or(0, |data| data.encode_utf16().count()) * 3).div_ceil(4);
    // One digit behind the point, and a tie goes up: not how Rust rounds.
    let tenths = (bytes * 10 + 512) / 1024;
    let family = mime_type.split_once('/').map_or("", |(family, _)| family);
    let word = match family {
        "audio" => "Audio",
        "video" => "Video",
        "image" => "Image",
        _ => "Media",
    };
    let size = format!("{}.{} KB", tenths / 10, tenths % 10);
    Text::from(format!("[{word}: {mime_type}, {size}]"))
}
