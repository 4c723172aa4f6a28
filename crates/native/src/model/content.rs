//! A conversation with a model, in parts that stay as they came.

use std::sync::Arc;

use lapidary_json::Token;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// One turn of a conversation.
#[derive(Debug, Clone, Serialize)]
pub struct Content {
    /// The speaker.
    pub role: ContentRole,
    /// The parts. Shared: a history is sent again with every request.
    #[serde(serialize_with = "raw_parts")]
    pub parts: Vec<Arc<RawValue>>,
}

/// The speaker of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentRole {
    /// The user, or the tools that the model called.
    User,
    /// The model.
    Model,
}

/// A part of an answer: verbatim, and decoded.
#[derive(Debug, Clone)]
pub struct ModelPart {
    /// The part's JSON, token for token.
    pub raw: Arc<RawValue>,
    /// The decoded part.
    pub kind: PartKind,
}

/// The kind of a part, with its content.
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Text of the answer.
    Text(String),
    /// A summary of the model's thoughts.
    Thought(String),
    /// A call of a tool.
    Call(FunctionCall),
    /// A part of another kind, such as `inlineData`.
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The API's id for it, if it gave one.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or the value that the model sent instead of one.
    pub arguments: Value,
}

impl Content {
    /// A message of the user.
    pub fn user(parts: impl IntoIterator<Item = Value>) -> Self {
        Self::from_values(ContentRole::User, parts)
    }

    /// An answer of the model. Thoughts are no part of a history, and neighbouring texts become one, unless either carries more
    /// than its text.
    pub fn from_answer(parts: &[ModelPart]) -> Self {
        let mut kept: Vec<Arc<RawValue>> = Vec::new();
        let mut open_text: Option<String> = None;
        for part in parts {
            if let Some(text) = plain_text(part) {
                let joined = open_text.get_or_insert_default();
                if !joined.is_empty() {
                    kept.pop();
                }
                joined.push_str(text);
                kept.push(raw_value(&serde_json::json!({ "text": joined })));
                continue;
            }
            open_text = None;
            if !matches!(part.kind, PartKind::Thought(_)) {
                kept.push(Arc::clone(&part.raw));
            }
        }
        Self {
            role: ContentRole::Model,
            parts: kept,
        }
    }

    /// A content of the Gemini API in JSON, such as one of an agent's initial messages.
    pub fn from_value(content: &Value) -> Self {
        let role = match content.get("role").and_then(Value::as_str) {
            Some("model") => ContentRole::Model,
            _ => ContentRole::User,
        };
        let parts = content.get("parts").and_then(Value::as_array);
        Self::from_values(role, parts.cloned().unwrap_or_default())
    }

    /// The content as JSON.
    pub fn to_value(&self) -> Value {
        let parts = self.parts.iter().map(|part| value_of(part));
        serde_json::json!({"role": self.role, "parts": parts.collect::<Vec<_>>()})
    }

    fn from_values(role: ContentRole, parts: impl IntoIterator<Item = Value>) -> Self {
        Self {
            role,
            parts: parts.into_iter().map(|part| raw_value(&part)).collect(),
        }
    }
}

impl ModelPart {
    /// A part that is plain text.
    pub fn from_text(text: &str) -> Self {
        Self {
            raw: raw_value(&serde_json::json!({ "text": text })),
            kind: PartKind::Text(text.to_owned()),
        }
    }

    /// The part as JSON.
    pub fn to_value(&self) -> Value {
        value_of(&self.raw)
    }

    /// The part that stands in an answer.
    pub(super) fn from_token(token: Token<'_>) -> Self {
        let text = || token.get("text").and_then(Token::string).map(String::from);
        let is_thought = token.get("thought").is_some_and(Token::is_truthy);
        let kind = if let Some(call) = token.get("functionCall") {
            PartKind::Call(read_call(call))
        } else {
            match text() {
                Some(text) if is_thought => PartKind::Thought(text),
                Some(text) => PartKind::Text(text),
                None => PartKind::Other,
            }
        };
        let raw = RawValue::from_string(token.as_str().to_owned());
        Self {
            raw: Arc::from(raw.expect("a token is valid JSON")),
            kind,
        }
    }
}

fn read_call(call: Token<'_>) -> FunctionCall {
    let text = |key| call.get(key).and_then(Token::string).map(String::from);
    let arguments = call.get("args").and_then(Token::non_null);
    let arguments = arguments.and_then(|args| serde_json::from_str(args.as_str()).ok());
    FunctionCall {
        id: text("id").filter(|id| !id.is_empty()),
        name: text("name").unwrap_or_default(),
        arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())),
    }
}

/// The text of a part that has nothing else.
fn plain_text(part: &ModelPart) -> Option<&str> {
    let PartKind::Text(text) = &part.kind else {
        return None;
    };
    let members = Token::parse(part.raw.get()).ok()?.members();
    (members.count() == 1).then_some(text)
}

fn raw_value(value: &Value) -> Arc<RawValue> {
    let raw = serde_json::value::to_raw_value(value);
    Arc::from(raw.expect("a JSON value can be written"))
}

fn value_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn raw_parts<S: Serializer>(parts: &[Arc<RawValue>], to: S) -> Result<S::Ok, S::Error> {
    let mut sequence = to.serialize_seq(Some(parts.len()))?;
    for part in parts {
        sequence.serialize_element(part.as_ref())?;
    }
    sequence.end()
}
