//! `gemini -o stream-json`: one JSON object a line, six types, distinguished by `type`.
//!
//! A line is scanned once. Its type may stand anywhere in it, so all known fields are collected first and the exact struct is
//! taken from them after; the remaining fields are unknown.

use std::borrow::Cow;
use std::collections::HashSet;

use lapidary_json::{InvalidJson, ScanError, Token, TokenKind, scan_object, scan_template};

/// One line.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each variant's struct says what it is")]
pub enum StreamLine<'a> {
    Init(StreamInit<'a>),
    Message(StreamMessage<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    Error(StreamNotice<'a>),
    Result(StreamResult<'a>),
}

/// The first line: the stream begins.
#[derive(Debug, Clone)]
pub struct StreamInit<'a> {
    /// The session's id.
    pub session_id: Option<Token<'a>>,
    /// The model that was *asked for*; `auto` where the CLI chooses. The real ones are in the result's statistics.
    pub model: Option<Token<'a>>,
}

/// The user's prompt, once, or a chunk of the assistant's answer.
#[derive(Debug, Clone)]
pub struct StreamMessage<'a> {
    /// `user` or `assistant`.
    pub role: Option<Token<'a>>,
    /// The text. Thoughts never appear.
    pub content: Option<Token<'a>>,
    /// True on every chunk of an answer, absent on the prompt.
    pub delta: Option<Token<'a>>,
}

/// The model calls a tool.
#[derive(Debug, Clone)]
pub struct ToolUse<'a> {
    /// The tool's name.
    pub tool_name: Option<Token<'a>>,
    /// The call's id.
    pub tool_id: Option<Token<'a>>,
    /// The arguments as the model gave them, before any hook changed them.
    pub parameters: Option<Token<'a>>,
}

/// Answers the `tool_use` line that carries the same `tool_id`.
#[derive(Debug, Clone)]
pub struct ToolResult<'a> {
    /// The call's id.
    pub tool_id: Option<Token<'a>>,
    /// `success` or `error`; `success` also for a call that the user cancelled and for a command that failed.
    pub status: Option<Token<'a>>,
    /// Text for display: absent for edits, `""` for whole-file reads (0.61.0).
    pub output: Option<Token<'a>>,
    /// `type` and `message`.
    pub error: Option<Token<'a>>,
}

/// A warning or an error that does not end the stream.
#[derive(Debug, Clone)]
pub struct StreamNotice<'a> {
    /// `warning` or `error`.
    pub severity: Option<Token<'a>>,
    /// In words.
    pub message: Option<Token<'a>>,
}

/// The last line: how it went.
#[derive(Debug, Clone)]
pub struct StreamResult<'a> {
    /// `success` or `error`.
    pub status: Option<Token<'a>>,
    /// `type` and `message`; absent in some results of status `error`.
    pub error: Option<Token<'a>>,
    /// Token counts and timing: see [`StreamStats`].
    pub stats: Option<Token<'a>>,
}

/// The statistics of a result.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct StreamStats<'a> {
    pub total_tokens: Option<Token<'a>>,
    pub input_tokens: Option<Token<'a>>,
    pub output_tokens: Option<Token<'a>>,
    pub cached: Option<Token<'a>>,
    /// `input_tokens` less `cached`.
    pub input: Option<Token<'a>>,
    /// 0 in error results.
    pub duration_ms: Option<Token<'a>>,
    pub tool_calls: Option<Token<'a>>,
    /// By model id: an object of the same counts. Absent in 0.24.
    pub models: Option<Token<'a>>,
}

impl<'a> StreamStats<'a> {
    /// Reads the statistics, or those of one model.
    pub fn from_token(token: Token<'a>) -> Self {
        let mut stats = Self::default();
        for (key, value) in token.members() {
            let field = match key.string().as_deref() {
                Some("total_tokens") => &mut stats.total_tokens,
                Some("input_tokens") => &mut stats.input_tokens,
                Some("output_tokens") => &mut stats.output_tokens,
                Some("cached") => &mut stats.cached,
                Some("input") => &mut stats.input,
                Some("duration_ms") => &mut stats.duration_ms,
                Some("tool_calls") => &mut stats.tool_calls,
                Some("models") => &mut stats.models,
                _ => continue,
            };
            *field = Some(value);
        }
        stats
    }
}

/// A line, read.
#[derive(Debug, Clone)]
pub struct ParsedLine<'a> {
    /// All of it, if it is an object.
    pub whole: Option<Token<'a>>,
    /// The line by its type.
    pub content: LineContent<'a>,
    /// When, in the CLI's own words.
    pub timestamp: Option<Token<'a>>,
    /// Fields that this type of line does not have: the first [`MOST_UNKNOWN`] of them.
    pub unknown_fields: Vec<(Cow<'a, str>, Token<'a>)>,
    /// How many more there are.
    pub more_unknown: usize,
    /// Keys that stand more than once, the first few of them. The last value was taken.
    pub repeated_keys: Vec<Cow<'a, str>>,
}

/// How many unknown fields of a line are taken out of it. A line of nothing but keys shall not cost many times its size.
pub const MOST_UNKNOWN: usize = 4096;

/// How many repeated keys of a line are named.
const MOST_REPEATED: usize = 64;

/// The types of lines.
#[derive(Debug, Clone)]
pub enum LineContent<'a> {
    /// One of the six types.
    Known(StreamLine<'a>),
    /// An object of a type we do not know.
    UnknownType(Token<'a>),
    /// An object whose `type` is missing or not a string.
    Untyped,
    /// JSON, but not an object.
    NotAnObject(TokenKind),
    /// Not JSON at all.
    NotJson(InvalidJson),
}

/// A chunk of an answer, as every version so far spells it.
#[derive(Debug, Clone, Copy)]
pub struct AnswerChunk<'a> {
    /// All of it.
    pub whole: Token<'a>,
    /// When.
    pub timestamp: Token<'a>,
    /// Its text.
    pub content: Token<'a>,
}

/// Reads a line that is a chunk of an answer in the exact spelling of the CLI, which is nearly every line of a stream. Comparing
/// is several times cheaper than parsing; any other spelling is left to [`parse`].
#[inline]
pub fn chunk(text: &str) -> Option<AnswerChunk<'_>> {
    let (whole, [timestamp, content]) = scan_template(
        text,
        [
            r#"{"type":"message","timestamp":"#,
            r#","role":"assistant","content":"#,
            r#","delta":true}"#,
        ],
    )?;
    Some(AnswerChunk {
        whole,
        timestamp,
        content,
    })
}

/// Reads a line. Cannot fail: an unknown type or a missing field is part of the content.
pub fn parse(text: &str) -> ParsedLine<'_> {
    let mut fields = LineFields::default();
    let scanned = scan_object(text, |key, value| fields.take_in(key, value));
    match scanned {
        Ok(whole) => fields.into_parsed(whole),
        Err(ScanError::NotAnObject(token)) => {
            ParsedLine::nothing(LineContent::NotAnObject(token.kind()))
        }
        Err(ScanError::Invalid(invalid)) => ParsedLine::nothing(LineContent::NotJson(invalid)),
    }
}

impl<'a> ParsedLine<'a> {
    fn nothing(content: LineContent<'a>) -> Self {
        Self {
            whole: None,
            content,
            timestamp: None,
            unknown_fields: Vec::new(),
            more_unknown: 0,
            repeated_keys: Vec::new(),
        }
    }
}

/// Every field that any type of line has.
const FIELDS: [&str; 16] = [
    "type",
    "timestamp",
    "session_id",
    "model",
    "role",
    "content",
    "delta",
    "tool_name",
    "tool_id",
    "parameters",
    "status",
    "output",
    "error",
    "severity",
    "message",
    "stats",
];

/// The values of a line, one place for each of [`FIELDS`].
#[derive(Debug, Default)]
struct LineFields<'a> {
    known: [Option<Token<'a>>; FIELDS.len()],
    unknown: Vec<(Cow<'a, str>, Token<'a>)>,
    /// The names of the unknown fields, to notice a name that occurs twice.
    names: HashSet<Cow<'a, str>>,
    more_unknown: usize,
    repeated: Vec<Cow<'a, str>>,
}

impl<'a> LineFields<'a> {
    #[inline]
    fn take_in(&mut self, key: Token<'a>, value: Token<'a>) {
        match place_of(key) {
            Some(place) => {
                if self.known[place].replace(value).is_some() {
                    self.repeat(Cow::Borrowed(FIELDS[place]));
                }
            }
            None => self.take_in_unknown(key, value),
        }
    }

    #[cold]
    fn take_in_unknown(&mut self, key: Token<'a>, value: Token<'a>) {
        let name = key.string().unwrap_or_default();
        if self.names.contains(&name) {
            self.repeat(name.clone());
        }
        if self.unknown.len() < MOST_UNKNOWN {
            self.names.insert(name.clone());
            self.unknown.push((name, value));
        } else {
            self.more_unknown += 1;
        }
    }

    #[cold]
    fn repeat(&mut self, name: Cow<'a, str>) {
        if self.repeated.len() < MOST_REPEATED && !self.repeated.contains(&name) {
            self.repeated.push(name);
        }
    }

    #[inline]
    fn take(&mut self, name: &str) -> Option<Token<'a>> {
        let place = FIELDS.iter().position(|field| *field == name)?;
        self.known[place].take()
    }

    fn into_parsed(mut self, whole: Token<'a>) -> ParsedLine<'a> {
        let timestamp = self.take("timestamp");
        let content = match self.take("type") {
            Some(name) if name.kind() == TokenKind::String => match self.line(name) {
                Some(line) => LineContent::Known(line),
                None => LineContent::UnknownType(name),
            },
            _ => LineContent::Untyped,
        };
        // Fields of a line we know that belong to another type are as unknown as any. Of other lines all is in `raw`.
        if let LineContent::Known(_) = content {
            for (name, value) in FIELDS.iter().zip(&mut self.known) {
                self.unknown
                    .extend(value.take().map(|value| (Cow::Borrowed(*name), value)));
            }
        } else {
            self.unknown.clear();
            self.more_unknown = 0;
        }
        ParsedLine {
            whole: Some(whole),
            content,
            timestamp,
            unknown_fields: self.unknown,
            more_unknown: self.more_unknown,
            repeated_keys: self.repeated,
        }
    }

    fn line(&mut self, name: Token<'a>) -> Option<StreamLine<'a>> {
        Some(match name.string().as_deref()? {
            "message" => StreamLine::Message(StreamMessage {
                role: self.take("role"),
                content: self.take("content"),
                delta: self.take("delta"),
            }),
            "tool_use" => StreamLine::ToolUse(ToolUse {
                tool_name: self.take("tool_name"),
                tool_id: self.take("tool_id"),
                parameters: self.take("parameters"),
            }),
            "tool_result" => StreamLine::ToolResult(ToolResult {
                tool_id: self.take("tool_id"),
                status: self.take("status"),
                output: self.take("output"),
                error: self.take("error"),
            }),
            "init" => StreamLine::Init(StreamInit {
                session_id: self.take("session_id"),
                model: self.take("model"),
            }),
            "error" => StreamLine::Error(StreamNotice {
                severity: self.take("severity"),
                message: self.take("message"),
            }),
            "result" => StreamLine::Result(StreamResult {
                status: self.take("status"),
                error: self.take("error"),
                stats: self.take("stats"),
            }),
            _ => return None,
        })
    }
}

/// Where a key's value goes. A key that matches no known spelling may still be a known key spelt with escapes.
#[inline]
fn place_of(key: Token<'_>) -> Option<usize> {
    let text = key.as_str();
    let plain = &text[1..text.len() - 1];
    let place = |name: &str| FIELDS.iter().position(|field| *field == name);
    place(plain).or_else(|| place(&key.string().filter(|name| matches!(name, Cow::Owned(_)))?))
}
