//! The messages of an agent, distinguished by their envelopes.

use std::borrow::Cow;
use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::{Json, Text};
use lapidary_wire::acp::envelope;

use super::error::RpcError;

/// A line as it was read, without its end. The bytes are kept even if they are invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedLine {
    text: Arc<str>,
    /// The bytes, if they are no UTF-8 and the text has replacement characters.
    bytes: Option<Arc<[u8]>>,
}

impl ReceivedLine {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self {
                text: Arc::from(text),
                bytes: None,
            },
            Err(_) => Self {
                text: Arc::from(String::from_utf8_lossy(bytes)),
                bytes: Some(Arc::from(bytes)),
            },
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Some(bytes) => bytes,
            None => self.text.as_bytes(),
        }
    }

    /// The text. Invalid UTF-8 reads as U+FFFD.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether the bytes are UTF-8, so that the text is all there is.
    pub fn is_utf8(&self) -> bool {
        self.bytes.is_none()
    }
}

/// A line from the agent and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The line. Of one that was too long, its beginning.
    pub line: ReceivedLine,
    /// The message or noise.
    pub what: MessageContent,
}

/// The meaning of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageContent {
    /// A request, which wants an answer.
    Request {
        /// The id for the answer.
        id: RequestId,
        /// The method.
        method: Text,
        /// The parameters.
        params: Option<Json>,
    },
    /// A notification of the agent.
    Notification {
        /// The method.
        method: Text,
        /// The parameters.
        params: Option<Json>,
    },
    /// An answer.
    Answer {
        /// The id of the request.
        id: RequestId,
        /// The result or the error.
        outcome: Result<Json, RpcError>,
        /// Whether a request waits for it.
        asked: AnswerExpectation,
    },
    /// No message of the protocol.
    Noise(LineNoise),
}

/// Whether a request waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerExpectation {
    /// A request does, and gets it.
    Awaited,
    /// A request did: it has been answered before, or was given up.
    Before,
    /// There never was such a request.
    Never,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineNoise {
    /// There is nothing in it.
    Blank,
    /// It is no JSON: a banner, a log, half a line.
    NotJson,
    /// It is JSON, but no object: a scalar, or a batch, which the protocol does not have.
    NotAnObject,
    /// It is an object, but neither a request nor a notification nor an answer.
    NotAMessage,
    /// It is over the limit, with so many bytes.
    TooLong(u64),
}

/// The id of a request: a number, a text or `null`, exactly as its sender wrote it. Each side has its own ids: the same id on
/// both sides means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(SharedToken);

impl RequestId {
    /// An id, if the token can be one. It is copied: an id outlives its line.
    pub(super) fn read_id(token: Token<'_>) -> Option<Self> {
        let may = matches!(
            token.kind(),
            TokenKind::Number | TokenKind::String | TokenKind::Null
        );
        may.then(|| Self(SharedToken::from(token)))
    }

    pub(super) fn of_wire(id: envelope::RpcId<'_>) -> Self {
        match id {
            envelope::RpcId::Number(token) | envelope::RpcId::String(token) => {
                Self(SharedToken::from(token))
            }
            envelope::RpcId::Null => {
                let null = SharedToken::parse("null");
                Self(null.expect("null is a JSON value"))
            }
        }
    }

    pub(super) fn from_token(number: u64) -> Self {
        let token = SharedToken::parse(&number.to_string());
        Self(token.expect("a whole number is a JSON value"))
    }

    /// It, if it is a whole number: `1` is, `"1"` is not.
    pub fn number(&self) -> Option<u64> {
        self.0.token().u64()
    }

    /// It, if it is a text.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.0.token().string()
    }

    /// It as JSON, as it came.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestAnswer {
    /// Which request it answers.
    pub id: RequestId,
    /// The [number](super::ObservedLine::number) of its line: lines with a lower number came before.
    pub number: u64,
    /// The result, as it came.
    pub result: Json,
}
