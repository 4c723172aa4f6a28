//! One request to the stand-in, and its model.

use std::collections::BTreeMap;

use hyper::http::request::Parts;
use serde_json::Value;

use super::dialect::{Dialect, RequestTarget};

/// Headers that carry credentials: they are not kept.
const SECRET_HEADERS: [&str; 4] = ["authorization", "cookie", "x-api-key", "x-goog-api-key"];

/// A request that was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApiRequest {
    /// How many came before it.
    pub number: u64,
    /// In whose words it was asked.
    pub dialect: Dialect,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The model that was asked; empty if none is named.
    pub model: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, without the values of headers that carry credentials.
    pub headers: BTreeMap<String, String>,
    /// The body; a string if it is not JSON, `null` if there is none.
    pub body: Value,
    /// Where its answer came from.
    pub answered_by: AnswerSource,
    /// Whether the answer is wanted in pieces.
    pub(super) streams: bool,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// The conversation itself: `streamGenerateContent`, or a message or chat completion that offers
    /// tools.
    Stream,
    /// A side request of the agent: `generateContent`, or a message or chat completion without tools, with one that must be used,
    /// or for the title of a session.
    Generate,
    /// `countTokens`, `count_tokens`.
    Count,
    /// `embedContent` and `batchEmbedContents`.
    Embed,
    /// Any other request, such as a list of models.
    Other,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// The turn at this place among those for the request's kind.
    Turn(usize),
    /// The rule at this place.
    Rule(usize),
    /// No turn was left, or none was written.
    Default,
}

impl ApiRequest {
    /// Reads a request; the source of its answer is known later.
    pub(super) fn read(head: &Parts, body: &str) -> Self {
        let path = head.uri.path_and_query();
        let path = path.map_or_else(|| head.uri.path(), |path| path.as_str());
        let body = parse(body);
        let RequestTarget {
            dialect,
            kind,
            model,
            streams,
        } = RequestTarget::read(head.uri.path(), &body);
        Self {
            number: 0,
            dialect,
            kind,
            model,
            method: head.method.to_string(),
            path: path.to_owned(),
            headers: request_headers(head),
            body,
            answered_by: AnswerSource::Default,
            streams,
        }
    }

    /// The last item of `contents`, `messages` or `input`: the latest message of the user or a tool.
    pub fn last_content(&self) -> Option<&Value> {
        let contents = self.body.get("contents");
        let contents = contents.or_else(|| self.body.get("messages"));
        let contents = contents.or_else(|| self.body.get("input"));
        contents?.as_array()?.last()
    }
}

fn request_headers(head: &Parts) -> BTreeMap<String, String> {
    let text = |name: &str, value: &[u8]| {
        if SECRET_HEADERS.contains(&name) {
            "(not kept)".to_owned()
        } else {
            String::from_utf8_lossy(value).into_owned()
        }
    };
    let headers = head.headers.iter();
    headers
        .map(|(name, value)| (name.to_string(), text(name.as_str(), value.as_bytes())))
        .collect()
}

fn parse(body: &str) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(body).unwrap_or_else(|_| body.into())
}
