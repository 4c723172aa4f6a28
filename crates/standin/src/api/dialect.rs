//! The languages that model APIs speak, and how the same script sounds in each.
//!
//! A script is written in the words of Gemini's API, the first that was here; the others say the same in theirs.

mod answer_part;
mod anthropic;
mod gemini;
mod openai;
mod responses;

use serde_json::Value;

use super::chunk::{ChunkContent, ReportedUsage};
use super::error::ApiError;
use super::request::RequestKind;

/// The API that a request was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Google's `generateContent`.
    Gemini,
    /// Anthropic's messages.
    Anthropic,
    /// `OpenAI`'s chat completions, which most others have copied.
    OpenAi,
    /// `OpenAI`'s responses, which Codex speaks.
    OpenAiResponses,
}

/// The target of a request, from its address and its body.
#[derive(Debug, PartialEq)]
pub(super) struct RequestTarget {
    pub(super) dialect: Dialect,
    pub(super) kind: RequestKind,
    pub(super) model: String,
    /// Whether the answer is wanted in pieces.
    pub(super) streams: bool,
}

impl RequestTarget {
    pub(super) fn read(path: &str, body: &Value) -> Self {
        let dialect = match path {
            path if path.ends_with("/messages") => Dialect::Anthropic,
            path if path.ends_with("/messages/count_tokens") => Dialect::Anthropic,
            path if path.ends_with("/chat/completions") => Dialect::OpenAi,
            path if path.ends_with("/responses") => Dialect::OpenAiResponses,
            _ => return gemini::request_target(path),
        };
        let kind = if path.ends_with("/count_tokens") {
            RequestKind::Count
        } else {
            asked_for(body)
        };
        Self {
            dialect,
            kind,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            streams: body["stream"] == true,
        }
    }
}

/// Gemini CLI streams its conversation and no other request. Other agents stream their side requests as well: only the
/// conversation offers tools, and leaves it to the model whether it uses one. The ACP adapter of Codex names a session after a turn,
/// with all tools (2.6.0): its request is known by the one member of the JSON that it wants.
fn asked_for(body: &Value) -> RequestKind {
    let is_full = |tools: &Value| tools.as_array().is_some_and(|all| !all.is_empty());
    // Codex tells newer models of its tools by an item of the conversation.
    let mut items = body["input"].as_array().into_iter().flatten();
    let has_tools = is_full(&body["tools"]) || items.any(|item| is_full(&item["tools"]));
    let choice = &body["tool_choice"];
    let choice = choice["type"].as_str().or(choice.as_str());
    let wanted = body.pointer("/text/format/schema/properties");
    let is_title = wanted
        .and_then(Value::as_object)
        .is_some_and(|members| members.keys().eq(["title"]));
    match choice.unwrap_or("auto") {
        "auto" if has_tools && !is_title => RequestKind::Stream,
        _ => RequestKind::Generate,
    }
}

impl Dialect {
    /// The schema of the JSON that is asked for, if any is.
    pub(super) fn schema_wanted(self, body: &Value) -> Option<&Value> {
        match self {
            Self::Gemini => gemini::schema_wanted(body),
            Self::Anthropic => body.pointer("/output_config/format/schema"),
            Self::OpenAi => body.pointer("/response_format/json_schema/schema"),
            Self::OpenAiResponses => body.pointer("/text/format/schema"),
        }
    }

    /// An answer that comes in one piece.
    pub(super) fn whole(self, content: ChunkContent, model: &str, id: &str) -> Value {
        match self {
            Self::Gemini => content.into_object(model, id),
            Self::Anthropic => anthropic::whole_message(&content, model, id),
            Self::OpenAi => openai::whole_completion(&content, model, id),
            Self::OpenAiResponses => responses::whole_response(&content, model, id),
        }
    }

    /// How many tokens a prompt has.
    pub(super) fn count(self, tokens: usize) -> Value {
        match self {
            Self::Gemini | Self::OpenAi | Self::OpenAiResponses => {
                serde_json::json!({ "totalTokens": tokens })
            }
            Self::Anthropic => serde_json::json!({ "input_tokens": tokens }),
        }
    }

    /// The body of an answer that is an error.
    pub(super) fn error(self, error: &ApiError) -> Value {
        match self {
            Self::Gemini | Self::OpenAi | Self::OpenAiResponses => error.object(),
            Self::Anthropic => anthropic::error_body(error),
        }
    }
}

/// Writes an answer piece by piece.
#[derive(Debug)]
pub(super) enum AnswerWriter<'a> {
    Gemini(gemini::GeminiWriter<'a>),
    Anthropic(anthropic::AnthropicWriter<'a>),
    OpenAi(openai::OpenAiWriter<'a>),
    OpenAiResponses(responses::ResponsesWriter<'a>),
}

impl<'a> AnswerWriter<'a> {
    pub(super) fn new(dialect: Dialect, model: &'a str, id: &'a str) -> Self {
        match dialect {
            Dialect::Gemini => Self::Gemini(gemini::GeminiWriter { model, id }),
            Dialect::Anthropic => Self::Anthropic(anthropic::AnthropicWriter::new(model, id)),
            Dialect::OpenAi => Self::OpenAi(openai::OpenAiWriter::new(model, id)),
            Dialect::OpenAiResponses => {
                Self::OpenAiResponses(responses::ResponsesWriter::new(model, id))
            }
        }
    }

    /// A piece, as it stands on the wire.
    pub(super) fn say(&mut self, content: ChunkContent) -> String {
        match self {
            Self::Gemini(voice) => voice.say(content),
            Self::Anthropic(voice) => voice.say(&content),
            Self::OpenAi(voice) => voice.say(&content),
            Self::OpenAiResponses(voice) => voice.say(&content),
        }
    }

    /// The text after the last piece of a complete answer.
    pub(super) fn end(&mut self) -> String {
        match self {
            Self::Gemini(_) => String::new(), // its last piece says so itself
            Self::Anthropic(voice) => voice.end(),
            Self::OpenAi(voice) => voice.end(),
            Self::OpenAiResponses(voice) => voice.end(),
        }
    }
}

/// How an answer ended, gathered from its pieces.
#[derive(Debug, Default)]
struct AnswerClose {
    finish: Option<String>,
    usage: ReportedUsage,
    calls: usize,
}

impl AnswerClose {
    fn note(&mut self, content: &ChunkContent) {
        self.finish = content.finish.clone().or(self.finish.take());
        self.usage = content.usage.unwrap_or(self.usage);
    }

    /// The reason in another dialect's words: for a full stop, a tool call, the limit and a refusal. Others are passed on.
    fn reason(&self, words: [&str; 4]) -> Value {
        let [stop, call, limit, refusal] = words;
        match self.finish.as_deref() {
            None => Value::Null,
            Some("STOP") if self.calls > 0 => call.into(),
            Some("STOP") => stop.into(),
            Some("MAX_TOKENS") => limit.into(),
            Some("SAFETY") => refusal.into(),
            Some(other) => other.to_lowercase().into(),
        }
    }
}
