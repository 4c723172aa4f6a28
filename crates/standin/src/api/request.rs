//! What was asked, and of which model.

use std::collections::BTreeMap;

use hyper::http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

/// Headers that carry credentials: they are not kept.
const SECRET_HEADERS: [&str; 3] = ["authorization", "cookie", "x-goog-api-key"];

/// A request that was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// How many came before it.
    pub number: u64,
    /// What was asked for.
    pub kind: Kind,
    /// The model that was asked; empty if the path names none.
    pub model: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, without what was said in those that carry credentials.
    pub headers: BTreeMap<String, String>,
    /// The body; a string if it is not JSON, `null` if there is none.
    pub body: Value,
    /// Where its answer came from.
    pub answered_by: Source,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `streamGenerateContent`: the conversation itself.
    Stream,
    /// `generateContent`: what the agent asks on the side.
    Generate,
    /// `countTokens`.
    Count,
    /// `embedContent` and `batchEmbedContents`.
    Embed,
    /// Anything else, such as a list of models.
    Other,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The turn at this place among those for the request's kind.
    Turn(usize),
    /// The rule at this place.
    Rule(usize),
    /// No turn was left, or none was written.
    Default,
}

impl Request {
    /// Reads what came in; who answers it is known later.
    pub(super) fn read(head: &Parts, body: &str) -> Self {
        let path = head.uri.path_and_query();
        let path = path.map_or_else(|| head.uri.path(), |path| path.as_str());
        let (kind, model) = addressed(head.uri.path());
        Self {
            number: 0,
            kind,
            model: model.to_owned(),
            method: head.method.to_string(),
            path: path.to_owned(),
            headers: headers(head),
            body: parse(body),
            answered_by: Source::Default,
        }
    }

    /// The last item of `contents`: what the user or a tool said just now.
    pub fn last_content(&self) -> Option<&Value> {
        self.body.get("contents")?.as_array()?.last()
    }
}

/// The kind and model that `/v1beta/models/MODEL:verb` addresses.
fn addressed(path: &str) -> (Kind, &str) {
    let Some((_, last)) = path.rsplit_once("/models/") else {
        return (Kind::Other, "");
    };
    let (model, verb) = last.split_once(':').unwrap_or((last, ""));
    let kind = match verb {
        "streamGenerateContent" => Kind::Stream,
        "generateContent" => Kind::Generate,
        "countTokens" => Kind::Count,
        "embedContent" | "batchEmbedContents" => Kind::Embed,
        _ => Kind::Other,
    };
    (kind, model)
}

fn headers(head: &Parts) -> BTreeMap<String, String> {
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
