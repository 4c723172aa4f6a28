//! A line of either side, as far as a replay has to understand it: its kind and its id.

use std::borrow::Cow;

use lapidary_json::Token;
use lapidary_wire::acp::envelope::{self, Envelope, RpcMessage};

/// Longer ids and methods are no client's: they would have to be kept.
const LONGEST_NAME: usize = 4096;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageId {
    /// As it is written.
    pub(super) token: String,
    /// The same for each way to write it: a client may answer `1.0` with `1`.
    pub(super) key: String,
}

/// The kind of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request {
        id: MessageId,
        method: String,
    },
    Notification {
        method: String,
    },
    /// An answer, and its decision if it is about a permission.
    Answer {
        id: MessageId,
        decision: AnswerDecision,
    },
    Noise,
}

/// The decision in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerDecision {
    Refused,
    /// An option, or that it was cancelled.
    Outcome(String),
    /// Any other answer.
    Answered,
}

impl MessageKind {
    /// In words.
    pub(super) fn message_description(&self) -> String {
        match self {
            Self::Request { method, .. } => format!("the request `{method}`"),
            Self::Notification { method } => format!("the notification `{method}`"),
            Self::Answer { id, .. } => format!("an answer to `{}`", id.token),
            Self::Noise => "nothing".to_owned(),
        }
    }

    /// Reads a line, with or without its end.
    pub(super) fn from_line(line: &[u8]) -> Self {
        Self::parse(&readable_line(line))
    }

    fn parse(text: &str) -> Self {
        let Envelope::Object { whole, message } = envelope::parse(text) else {
            return Self::Noise;
        };
        let said = match message {
            RpcMessage::Request { id, method, .. } => request_kind(id, method),
            RpcMessage::Notification { method, .. } => notification_kind(method),
            RpcMessage::Result { id, result } => answer_kind(id, answer_decision(result)),
            RpcMessage::Error { id, .. } => answer_kind(id, AnswerDecision::Refused),
            // JavaScript leaves out a result that is `undefined`.
            RpcMessage::Unknown => whole.get("jsonrpc").and_then(|_| {
                let id = whole.get("id").and_then(envelope::RpcId::from_token)?;
                answer_kind(id, AnswerDecision::Answered)
            }),
        };
        said.unwrap_or(Self::Noise)
    }
}

fn request_kind(id: envelope::RpcId<'_>, method: Token<'_>) -> Option<MessageKind> {
    let (id, method) = (read_id(id)?, method_name(method)?);
    Some(MessageKind::Request { id, method })
}

fn notification_kind(method: Token<'_>) -> Option<MessageKind> {
    method_name(method).map(|method| MessageKind::Notification { method })
}

fn answer_kind(id: envelope::RpcId<'_>, decision: AnswerDecision) -> Option<MessageKind> {
    read_id(id).map(|id| MessageKind::Answer { id, decision })
}

fn method_name(method: Token<'_>) -> Option<String> {
    let short = (method.as_str().len() <= LONGEST_NAME).then_some(method)?;
    short.string().map(Cow::into_owned)
}

fn read_id(id: envelope::RpcId<'_>) -> Option<MessageId> {
    let (token, key) = match id {
        envelope::RpcId::Number(token) => {
            (token.as_str(), normalized_number(token.as_str()).into())
        }
        envelope::RpcId::String(token) => (token.as_str(), id.key()),
        envelope::RpcId::Null => ("null", id.key()),
    };
    (token.len() <= LONGEST_NAME).then(|| MessageId {
        token: token.to_owned(),
        key: key.into_owned(),
    })
}

/// A number without the freedom there is in writing it. Whole ones that a double does not hold stay as they are.
fn normalized_number(token: &str) -> String {
    match token.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() < 9e15 => format!("{value:.0}"),
        _ => token.to_owned(),
    }
}

fn answer_decision(result: Token<'_>) -> AnswerDecision {
    let outcome = result.get("outcome").and_then(|outcome| {
        let option = outcome.get("optionId").or_else(|| outcome.get("outcome"));
        option.and_then(method_name)
    });
    outcome.map_or(AnswerDecision::Answered, AnswerDecision::Outcome)
}

/// The line with another id at its top: that of the present client's request. The rest stays, byte for byte.
pub(super) fn with_id(line: &[u8], id: &str) -> Vec<u8> {
    let text = readable_line(line);
    let Some(old) = Token::parse(&text).ok().and_then(|whole| whole.get("id")) else {
        return line.to_owned();
    };
    let start = old.as_str().as_ptr() as usize - text.as_ptr() as usize;
    let end = start + old.as_str().len();
    [&line[..start], id.as_bytes(), &line[end..]].concat()
}

/// The line as text of the same length: each byte that is no UTF-8 reads as `?`, so that places in it are places in the line.
fn readable_line(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[u8], id: &str, expected: &[u8]) {
        let line = with_id(line, id);
        assert_eq!(line, expected, "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn a_replayed_message_replaces_only_its_top_level_id() {
        check(
            b"{\"id\" : 1 , \"result\":{\"id\":1,\"n\":1.10}}\r\n",
            "\"x\"",
            b"{\"id\" : \"x\" , \"result\":{\"id\":1,\"n\":1.10}}\r\n",
        );
        check(
            b"{\"result\":[{\"id\":7}],\"id\":\"a\"}",
            "null",
            b"{\"result\":[{\"id\":7}],\"id\":null}",
        );
        check(b"{\"id\":1,\"id\":2}", "3", b"{\"id\":1,\"id\":3}");
        check(b"{\"i\\u0064\":1}", "2", b"{\"i\\u0064\":2}");
        check(
            b"{\"result\":\"\xff\xc3\",\"id\":1}\n",
            "22",
            b"{\"result\":\"\xff\xc3\",\"id\":22}\n",
        );
        check(b"no json", "1", b"no json");
    }

    #[test]
    fn ids_are_compared_by_their_json_value() {
        let key = |id: &str| match MessageKind::from_line(
            format!(r#"{{"id":{id},"result":1}}"#).as_bytes(),
        ) {
            MessageKind::Answer { id, .. } => id.key,
            other => panic!("{other:?}"),
        };
        for same in ["1", "1.0", "1e0", "10e-1"] {
            assert_eq!(key(same), key("1"));
        }
        assert_eq!(key(r#""\u0031""#), key(r#""1""#));
        let mut all = ["1", r#""1""#, "2", "null", r#""null""#, "1.5"]
            .map(key)
            .to_vec();
        all.extend(["9007199254740992", "9007199254740993"].map(key));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 8, "{all:?}");
    }

    #[test]
    fn an_answer_may_lack_its_result() {
        let said = MessageKind::from_line(br#"{"jsonrpc":"2.0","id":4}"#);
        assert!(matches!(said, MessageKind::Answer { .. }), "{said:?}");
        assert_eq!(MessageKind::from_line(br#"{"id":4}"#), MessageKind::Noise);
    }
}
