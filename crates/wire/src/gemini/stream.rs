//! `gemini -o stream-json`: one JSON object a line, six types, told apart by `type`.
//!
//! A line is scanned once. Its type may stand anywhere in it, so all known fields are collected first and the exact struct is
//! taken from them after; what is left over is an unknown field.

use lapidary_json::{Invalid, Kind, ScanError, Token, scan_object};

/// One line.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each variant's struct says what it is")]
pub enum StreamLine<'a> {
    Init(Init<'a>),
    Message(Message<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    Error(Notice<'a>),
    Result(Outcome<'a>),
}

/// The first line: the stream begins.
#[derive(Debug, Clone)]
pub struct Init<'a> {
    /// The session's id.
    pub session_id: Option<Token<'a>>,
    /// The model that was *asked for*; `auto` where the CLI chooses. The real ones are in the result's statistics.
    pub model: Option<Token<'a>>,
}

/// The user's prompt, once, or a chunk of the assistant's answer.
#[derive(Debug, Clone)]
pub struct Message<'a> {
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
pub struct Notice<'a> {
    /// `warning` or `error`.
    pub severity: Option<Token<'a>>,
    /// In words.
    pub message: Option<Token<'a>>,
}

/// The last line: how it went.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// `success` or `error`.
    pub status: Option<Token<'a>>,
    /// `type` and `message`; absent in some results of status `error`.
    pub error: Option<Token<'a>>,
    /// Token counts and timing: see [`Stats`].
    pub stats: Option<Token<'a>>,
}

/// The statistics of a result.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct Stats<'a> {
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

impl<'a> Stats<'a> {
    /// Reads the statistics, or those of one model.
    pub fn of(token: Token<'a>) -> Self {
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
pub struct Parsed<'a> {
    /// What it is.
    pub content: Content<'a>,
    /// When, in the CLI's own words.
    pub timestamp: Option<Token<'a>>,
    /// Fields that this type of line does not have.
    pub unknown_fields: Vec<(Token<'a>, Token<'a>)>,
    /// Keys that stand more than once. The last value was taken.
    pub repeated_keys: Vec<Token<'a>>,
}

/// What a line is, if we know.
#[derive(Debug, Clone)]
pub enum Content<'a> {
    /// One of the six types.
    Known(StreamLine<'a>),
    /// An object of a type we do not know.
    UnknownType(Token<'a>),
    /// An object whose `type` is missing or not a string.
    Untyped,
    /// JSON, but not an object.
    NotAnObject(Kind),
    /// Not JSON at all.
    NotJson(Invalid),
}

/// Reads a line. Cannot fail: what is not understood is said in the content.
pub fn parse(text: &str) -> Parsed<'_> {
    let mut fields = Fields::default();
    let scanned = scan_object(text, |key, value| fields.take_in(key, value));
    match scanned {
        Ok(()) => fields.into_parsed(),
        Err(ScanError::NotAnObject(token)) => Parsed::nothing(Content::NotAnObject(token.kind())),
        Err(ScanError::Invalid(invalid)) => Parsed::nothing(Content::NotJson(invalid)),
    }
}

impl<'a> Parsed<'a> {
    fn nothing(content: Content<'a>) -> Self {
        Self {
            content,
            timestamp: None,
            unknown_fields: Vec::new(),
            repeated_keys: Vec::new(),
        }
    }
}

/// Every field that any type of line has.
#[derive(Debug, Clone, Copy)]
enum Field {
    Type,
    Timestamp,
    SessionId,
    Model,
    Role,
    Content,
    Delta,
    ToolName,
    ToolId,
    Parameters,
    Status,
    Output,
    Error,
    Severity,
    Message,
    Stats,
}

const FIELDS: usize = 16;

impl Field {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Self::Type,
            "timestamp" => Self::Timestamp,
            "session_id" => Self::SessionId,
            "model" => Self::Model,
            "role" => Self::Role,
            "content" => Self::Content,
            "delta" => Self::Delta,
            "tool_name" => Self::ToolName,
            "tool_id" => Self::ToolId,
            "parameters" => Self::Parameters,
            "status" => Self::Status,
            "output" => Self::Output,
            "error" => Self::Error,
            "severity" => Self::Severity,
            "message" => Self::Message,
            "stats" => Self::Stats,
            _ => return None,
        })
    }
}

#[derive(Debug, Default)]
struct Fields<'a> {
    known: [Option<(Token<'a>, Token<'a>)>; FIELDS],
    unknown: Vec<(Token<'a>, Token<'a>)>,
    repeated: Vec<Token<'a>>,
}

impl<'a> Fields<'a> {
    fn take_in(&mut self, key: Token<'a>, value: Token<'a>) {
        let text = key.as_str();
        let plain = &text[1..text.len() - 1];
        // Only a key that nobody knows can be one that is spelt with escapes.
        let field = Field::named(plain).or_else(|| Field::named(&key.string()?));
        let Some(field) = field else {
            if self.unknown.iter().any(|(known, _)| *known == key) {
                self.repeated.push(key);
            }
            self.unknown.push((key, value));
            return;
        };
        if self.known[field as usize].replace((key, value)).is_some() {
            self.repeated.push(key);
        }
    }

    fn take(&mut self, field: Field) -> Option<Token<'a>> {
        self.known[field as usize].take().map(|(_, value)| value)
    }

    fn into_parsed(mut self) -> Parsed<'a> {
        let timestamp = self.take(Field::Timestamp);
        let content = match self.take(Field::Type) {
            Some(name) if name.kind() == Kind::String => match self.line(name) {
                Some(line) => Content::Known(line),
                None => Content::UnknownType(name),
            },
            _ => Content::Untyped,
        };
        // Fields of a line we know that belong to another type are as unknown as any. Of other lines all is in `raw`.
        if let Content::Known(_) = content {
            self.unknown
                .extend(self.known.iter_mut().filter_map(Option::take));
        } else {
            self.unknown.clear();
        }
        Parsed {
            content,
            timestamp,
            unknown_fields: self.unknown,
            repeated_keys: self.repeated,
        }
    }

    fn line(&mut self, name: Token<'a>) -> Option<StreamLine<'a>> {
        Some(match name.string().as_deref()? {
            "init" => StreamLine::Init(Init {
                session_id: self.take(Field::SessionId),
                model: self.take(Field::Model),
            }),
            "message" => StreamLine::Message(Message {
                role: self.take(Field::Role),
                content: self.take(Field::Content),
                delta: self.take(Field::Delta),
            }),
            "tool_use" => StreamLine::ToolUse(ToolUse {
                tool_name: self.take(Field::ToolName),
                tool_id: self.take(Field::ToolId),
                parameters: self.take(Field::Parameters),
            }),
            "tool_result" => StreamLine::ToolResult(ToolResult {
                tool_id: self.take(Field::ToolId),
                status: self.take(Field::Status),
                output: self.take(Field::Output),
                error: self.take(Field::Error),
            }),
            "error" => StreamLine::Error(Notice {
                severity: self.take(Field::Severity),
                message: self.take(Field::Message),
            }),
            "result" => StreamLine::Result(Outcome {
                status: self.take(Field::Status),
                error: self.take(Field::Error),
                stats: self.take(Field::Stats),
            }),
            _ => return None,
        })
    }
}
