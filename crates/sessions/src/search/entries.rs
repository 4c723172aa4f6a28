//! The searchable texts of a session: messages, thoughts and tool calls, in the state at the end of its file.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::session::{
    LinePreview, MessagePart, MessageRecord, ReplayedLog, SessionToolCall, ToolCallResult,
};

use crate::scan::{self, FileSummary, RecordGlance};

/// How much of a first message counts as a title.
const TITLE: usize = 200;

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryRole {
    /// The session's summary, or else the beginning of its first message.
    Title,
    /// The user.
    User,
    /// The model: its messages and thoughts.
    Assistant,
    /// The arguments and results of tools.
    Tool,
    /// Gemini CLI itself: errors, warnings.
    Notice,
}

impl EntryRole {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Title,
        Self::User,
        Self::Assistant,
        Self::Tool,
        Self::Notice,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Notice => "notice",
        }
    }
}

/// One text of a session.
#[derive(Debug, Clone)]
pub(crate) struct TextEntry<'a> {
    pub(crate) role: EntryRole,
    /// The number of the message, from 1. None for the title.
    pub(crate) message: Option<u64>,
    pub(crate) tool: Option<Cow<'a, str>>,
    pub(crate) model: Option<Cow<'a, str>>,
    pub(crate) text: Cow<'a, str>,
}

/// Hands over every text: the title first, then message by message, until `take` returns false. A record or line for which
/// `is_worth_it` is false is not parsed if it can be classified by its beginning.
pub(crate) fn for_each_text<'a>(
    summary: &'a FileSummary,
    bytes: &'a [u8],
    is_worth_it: impl Fn(&[u8]) -> bool,
    mut take: impl FnMut(&TextEntry<'a>) -> bool,
) {
    if !take(&title_entry(summary)) {
        return;
    }
    let glance = RecordGlance::default();
    let log = ReplayedLog::read_glancing(bytes, |line| preview_line(&glance, line, &is_worth_it));
    for (place, record) in log.messages().enumerate() {
        if !is_worth_it(record.as_str().as_bytes()) {
            continue;
        }
        for entry in of_message(place as u64 + 1, &MessageRecord::from_token(record)) {
            if !entry.text.is_empty() && !take(&entry) {
                return;
            }
        }
    }
}

/// The class of a line that need not be parsed.
fn preview_line<'a>(
    glance: &RecordGlance,
    line: &'a [u8],
    is_worth_it: impl Fn(&[u8]) -> bool,
) -> LinePreview<'a> {
    if scan::time_of_touch(line).is_some() {
        return LinePreview::Nothing;
    }
    let seen = glance.line_class(line).filter(|_| !is_worth_it(line));
    // A line that is no text is no record, however it begins.
    let seen = seen.filter(|_| simdutf8::basic::from_utf8(line).is_ok());
    let id = seen.and_then(|seen| Token::parse(seen.id).ok());
    id.map_or(LinePreview::Unclear, LinePreview::Message)
}

fn title_entry(summary: &FileSummary) -> TextEntry<'_> {
    let text = summary.summary.as_deref();
    let text = text.or_else(|| {
        let first = summary.first_user_message.as_deref()?;
        Some(&first[..first.floor_char_boundary(TITLE)])
    });
    TextEntry {
        role: EntryRole::Title,
        message: None,
        tool: None,
        model: None,
        text: Cow::Borrowed(text.unwrap_or_default()),
    }
}

fn of_message<'a>(number: u64, message: &MessageRecord<'a>) -> Vec<TextEntry<'a>> {
    let kind = message.kind.and_then(Token::string);
    let role = match kind.as_deref() {
        Some("user") => EntryRole::User,
        Some("gemini") => EntryRole::Assistant,
        _ => EntryRole::Notice,
    };
    let entry = |role, tool, text| TextEntry {
        role,
        message: Some(number),
        tool,
        model: message.model.and_then(Token::string),
        text,
    };
    let mut entries = Vec::new();
    for part in message.parts() {
        match part {
            MessagePart::Text(text) | MessagePart::Thought(text) => {
                let text = text.string().filter(|text| !is_context(role, text));
                entries.extend(text.map(|text| entry(role, None, text)));
            }
            MessagePart::FunctionCall(_)
            | MessagePart::FunctionResponse
            | MessagePart::InlineData { .. }
            | MessagePart::Other(_) => {}
        }
    }
    for thought in message.thoughts() {
        let pieces = [thought.subject, thought.description];
        let text = scalar_lines(pieces.into_iter().flatten());
        entries.push(entry(role, None, Cow::Owned(text)));
    }
    for call in message.tool_calls() {
        let tool = call.name.and_then(Token::string);
        let input = scalar_lines(call.args.into_iter());
        entries.push(entry(EntryRole::Tool, tool.clone(), Cow::Owned(input)));
        entries.push(entry(EntryRole::Tool, tool, call_output(&call)));
    }
    entries
}

/// True for the message that Gemini CLI writes in the user's name when a session begins. It lists the files of the project: the
/// name of each would be found in every session.
pub(super) fn is_context(role: EntryRole, text: &str) -> bool {
    role == EntryRole::User && text.trim_start().starts_with("<session_context>")
}

/// The result of a tool call: the one for the model, and the one for the user if it differs.
fn call_output<'a>(call: &SessionToolCall<'a>) -> Cow<'a, str> {
    let told = call.result().map(ToolCallResult::token);
    let shown = call.result_display;
    match (told, shown) {
        (Some(one), None) | (None, Some(one)) if one.kind() == TokenKind::String => {
            one.string().unwrap_or_default()
        }
        (Some(told), Some(shown)) if told.as_str() == shown.as_str() => {
            Cow::Owned(scalar_lines(std::iter::once(told)))
        }
        _ => Cow::Owned(scalar_lines(told.into_iter().chain(shown))),
    }
}

/// All scalars of these values, a line each, without keys: those are words of the format.
pub(super) fn scalar_lines<'a>(values: impl Iterator<Item = Token<'a>>) -> String {
    let mut text = String::new();
    // Not by recursion: the depth of a value is not limited.
    let mut rest: Vec<_> = values.collect();
    rest.reverse();
    while let Some(value) = rest.pop() {
        match value.kind() {
            TokenKind::Null => {}
            TokenKind::Bool | TokenKind::Number => append_piece(&mut text, value.as_str()),
            TokenKind::String => append_piece(&mut text, &value.string().unwrap_or_default()),
            TokenKind::Array => {
                let from = rest.len();
                rest.extend(value.elements());
                rest[from..].reverse();
            }
            TokenKind::Object => {
                let from = rest.len();
                rest.extend(said_by(value));
                rest[from..].reverse();
            }
        }
    }
    text
}

/// The values of an object, without bytes (`data`). Beside a diff, the files before and after it are skipped.
fn said_by(object: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    let has = |name| object.members().any(|(key, _)| key.is(name));
    let is_bytes = has("mimeType") && has("data");
    let is_diff = has("fileDiff");
    object
        .members()
        .filter(move |(key, _)| {
            !(is_bytes && key.is("data"))
                && !(is_diff && (key.is("originalContent") || key.is("newContent")))
        })
        .map(|(_, value)| value)
}

fn append_piece(text: &mut String, piece: &str) {
    if !text.is_empty() && !piece.is_empty() {
        text.push('\n');
    }
    text.push_str(piece);
}
