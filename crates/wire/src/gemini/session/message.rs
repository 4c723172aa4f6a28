//! The fields of a message record.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};

/// A message: `user`, `gemini`, `info`, `error` or `warning`.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct MessageRecord<'a> {
    pub id: Option<Token<'a>>,
    pub timestamp: Option<Token<'a>>,
    pub kind: Option<Token<'a>>,
    /// A string, a part, or a list of parts.
    pub content: Option<Token<'a>>,
    /// The text shown instead of `content`, in the same forms.
    pub display_content: Option<Token<'a>>,
    pub tool_calls: Option<Token<'a>>,
    pub thoughts: Option<Token<'a>>,
    pub tokens: Option<Token<'a>>,
    pub model: Option<Token<'a>>,
}

impl<'a> MessageRecord<'a> {
    /// Reads a record. A field that is `null` counts as absent.
    pub fn from_token(record: Token<'a>) -> Self {
        let mut message = Self::default();
        for (key, value) in record.members() {
            let field = match key.string().as_deref() {
                Some("id") => &mut message.id,
                Some("timestamp") => &mut message.timestamp,
                Some("type") => &mut message.kind,
                Some("content") => &mut message.content,
                Some("displayContent") => &mut message.display_content,
                Some("toolCalls") => &mut message.tool_calls,
                Some("thoughts") => &mut message.thoughts,
                Some("tokens") => &mut message.tokens,
                Some("model") => &mut message.model,
                _ => continue,
            };
            *field = value.non_null();
        }
        message
    }

    /// The fields of a wrong type. The other fields of the record are read all the same.
    pub fn flaws(&self) -> Vec<&'static str> {
        let is = |field: Option<Token<'a>>, kind| field.is_none_or(|token| token.kind() == kind);
        let objects = |field: Option<Token<'a>>| {
            is(field, TokenKind::Array)
                && field
                    .into_iter()
                    .flat_map(Token::elements)
                    .all(|item| item.kind() == TokenKind::Object)
        };
        let scalar = self
            .content
            .is_some_and(|content| matches!(content.kind(), TokenKind::Number | TokenKind::Bool));
        let calls = objects(self.tool_calls)
            && self.tool_calls().iter().all(|call| {
                is(call.id, TokenKind::String)
                    && is(call.name, TokenKind::String)
                    && is(call.args, TokenKind::Object)
            });
        let checks = [
            ("type", is(self.kind, TokenKind::String)),
            ("timestamp", is(self.timestamp, TokenKind::String)),
            ("content", !scalar),
            ("thoughts", objects(self.thoughts)),
            ("toolCalls", calls),
            ("tokens", is(self.tokens, TokenKind::Object)),
            ("model", is(self.model, TokenKind::String)),
        ];
        checks
            .into_iter()
            .filter(|(_, is_sound)| !is_sound)
            .map(|(name, _)| name)
            .collect()
    }

    /// The calls of the message: its `toolCalls`, with their results; or, where a rewritten history lists none, the function
    /// calls in its content.
    pub fn tool_calls(&self) -> Vec<SessionToolCall<'a>> {
        let listed = self.tool_calls.into_iter().flat_map(Token::elements);
        let listed = listed.filter(|call| call.kind() == TokenKind::Object);
        let listed: Vec<_> = listed.map(SessionToolCall::from_token).collect();
        if !listed.is_empty() {
            return listed;
        }
        let parts = self.parts().into_iter();
        let in_content = parts.filter_map(|part| match part {
            MessagePart::FunctionCall(call) => Some(SessionToolCall::from_token(call)),
            _ => None,
        });
        in_content.collect()
    }

    /// The model's thoughts.
    pub fn thoughts(&self) -> impl Iterator<Item = ModelThought<'a>> + use<'a> {
        self.thoughts
            .into_iter()
            .flat_map(Token::elements)
            .filter(|thought| thought.kind() == TokenKind::Object)
            .map(ModelThought::from_token)
    }

    /// The parts of the content.
    pub fn parts(&self) -> Vec<MessagePart<'a>> {
        self.content.map(parts).unwrap_or_default()
    }
}

/// One thought.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct ModelThought<'a> {
    pub subject: Option<Token<'a>>,
    pub description: Option<Token<'a>>,
}

impl<'a> ModelThought<'a> {
    fn from_token(thought: Token<'a>) -> Self {
        Self {
            subject: thought.get("subject"),
            description: thought.get("description"),
        }
    }
}

/// One call of a tool, with its result inside.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct SessionToolCall<'a> {
    pub id: Option<Token<'a>>,
    pub name: Option<Token<'a>>,
    pub args: Option<Token<'a>>,
    pub result: Option<Token<'a>>,
    /// `validating`, `scheduled`, `executing`, `awaiting_approval`, `success`, `error` or `cancelled`.
    pub status: Option<Token<'a>>,
    pub timestamp: Option<Token<'a>>,
    pub agent_id: Option<Token<'a>>,
    pub display_name: Option<Token<'a>>,
    pub description: Option<Token<'a>>,
    /// A string, or an object that depends on the tool: a file's diff, a list of matches, a sub-agent's progress.
    pub result_display: Option<Token<'a>>,
}

impl<'a> SessionToolCall<'a> {
    /// Reads a call. A field that is `null` counts as absent.
    pub fn from_token(call: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in call.members() {
            let field = match key.string().as_deref() {
                Some("id") => &mut read.id,
                Some("name") => &mut read.name,
                Some("args") => &mut read.args,
                Some("result") => &mut read.result,
                Some("status") => &mut read.status,
                Some("timestamp") => &mut read.timestamp,
                Some("agentId") => &mut read.agent_id,
                Some("displayName") => &mut read.display_name,
                Some("description") => &mut read.description,
                Some("resultDisplay") => &mut read.result_display,
                _ => continue,
            };
            *field = value.non_null();
        }
        read
    }

    /// The tool's result, if it is there.
    pub fn result(&self) -> Option<ToolCallResult<'a>> {
        ToolCallResult::from_token(self.result?)
    }
}

/// The result that a tool sent back to the model. Only the first entry of a list counts, for Gemini CLI as well.
#[derive(Debug, Clone, Copy)]
pub enum ToolCallResult<'a> {
    /// `response.output`, `""` where nothing was said, or the result itself where it is a bare string.
    Output(Token<'a>),
    /// `response.error`.
    Error(Token<'a>),
    /// A response without the usual fields, or a part that is no function response: all of it.
    Whole(Token<'a>),
}

impl<'a> ToolCallResult<'a> {
    fn from_token(result: Token<'a>) -> Option<Self> {
        let first = match result.kind() {
            TokenKind::Null => return None,
            TokenKind::Array => result.elements().next()?.non_null()?,
            _ => result,
        };
        if first.kind() == TokenKind::String {
            return Some(Self::Output(first));
        }
        let Some(response) = first
            .get("functionResponse")
            .and_then(|part| part.get("response"))
        else {
            return Some(Self::Whole(first));
        };
        // An empty output falls through to the error, as in JavaScript's `output || error`.
        let said = |name| {
            response
                .get(name)
                .filter(|value: &Token<'a>| value.is_truthy())
        };
        Some(match (said("output"), said("error")) {
            (Some(output), _) => Self::Output(output),
            (None, Some(error)) => Self::Error(error),
            (None, None) if says_more(response) => Self::Whole(response),
            (None, None) => Self::Output(Token::parse("\"\"").ok()?),
        })
    }

    /// The value itself.
    pub fn token(self) -> Token<'a> {
        match self {
            Self::Output(token) | Self::Error(token) | Self::Whole(token) => token,
        }
    }
}

/// True if a response is more than an `output` and an `error` that are both empty.
fn says_more(response: Token<'_>) -> bool {
    response.kind() != TokenKind::Object
        || response
            .members()
            .any(|(key, _)| !key.is("output") && !key.is("error"))
}

/// The members that mark a part as no text, in the order in which the CLI looks for them.
pub const NO_TEXTS: [&str; 8] = [
    "videoMetadata",
    "thought",
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
];

/// One part of a message's content.
#[derive(Debug, Clone)]
pub enum MessagePart<'a> {
    /// Text.
    Text(Token<'a>),
    /// Text marked `thought: true`.
    Thought(Token<'a>),
    /// A call that the model made.
    FunctionCall(Token<'a>),
    /// A result sent back to the model.
    FunctionResponse,
    /// Bytes: `mimeType` and `data`.
    InlineData {
        /// The media type.
        mime_type: Token<'a>,
        /// The bytes in Base64.
        data: Token<'a>,
    },
    /// A part of another form.
    Other(Token<'a>),
}

/// The parts of a content, which may be a string, a part or a list of parts.
pub fn parts(content: Token<'_>) -> Vec<MessagePart<'_>> {
    match content.kind() {
        TokenKind::Array => content.elements().map(message_part).collect(),
        TokenKind::Null => Vec::new(),
        _ => vec![message_part(content)],
    }
}

fn message_part(part: Token<'_>) -> MessagePart<'_> {
    if part.kind() == TokenKind::String {
        return MessagePart::Text(part);
    }
    if let Some(call) = part.get("functionCall") {
        return MessagePart::FunctionCall(call);
    }
    if part.get("functionResponse").is_some() {
        return MessagePart::FunctionResponse;
    }
    if let Some(inline) = part.get("inlineData")
        && let (Some(mime_type), Some(data)) = (inline.get("mimeType"), inline.get("data"))
    {
        return MessagePart::InlineData { mime_type, data };
    }
    match part
        .get("text")
        .and_then(|text| text.if_kind(TokenKind::String))
    {
        Some(text) if part.get("thought").and_then(Token::bool) == Some(true) => {
            MessagePart::Thought(text)
        }
        Some(text) => MessagePart::Text(text),
        None => MessagePart::Other(part),
    }
}

impl<'a> MessagePart<'a> {
    /// The text of a text part.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => text.string(),
            _ => None,
        }
    }
}
