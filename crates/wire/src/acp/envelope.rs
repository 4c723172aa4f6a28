//! One line of the protocol: who asks, who answers, and under which id.

use std::borrow::Cow;

use lapidary_json::{InvalidJson, ScanError, Token, TokenKind, scan_object};

/// The id of a request. `1` and `"1"` are two ids, and either side counts its own.
#[derive(Debug, Clone, Copy)]
pub enum RpcId<'a> {
    /// A number, as it is written.
    Number(Token<'a>),
    /// A string.
    String(Token<'a>),
    /// Null, which protocol v1 allows.
    Null,
}

impl<'a> RpcId<'a> {
    /// Reads an id. A value of any other type is none.
    pub fn from_token(token: Token<'a>) -> Option<Self> {
        match token.kind() {
            TokenKind::Number => Some(Self::Number(token)),
            TokenKind::String => Some(Self::String(token)),
            TokenKind::Null => Some(Self::Null),
            TokenKind::Bool | TokenKind::Array | TokenKind::Object => None,
        }
    }

    /// A key that tells ids apart by their spelling: `1`, `"1"`, `null`.
    pub fn key(self) -> Cow<'a, str> {
        match self {
            Self::Number(token) => Cow::Borrowed(token.as_str()),
            Self::String(token) => match token.string() {
                Some(Cow::Owned(text)) => Cow::Owned(format!("\"{text}\"")),
                _ => Cow::Borrowed(token.as_str()),
            },
            Self::Null => Cow::Borrowed("null"),
        }
    }

    /// The id for reading: a string without its quotation marks.
    pub fn shown(self) -> Cow<'a, str> {
        match self {
            Self::Number(token) => Cow::Borrowed(token.as_str()),
            Self::String(token) => token.string().unwrap_or_default(),
            Self::Null => Cow::Borrowed("null"),
        }
    }
}

/// The kind of a line.
#[derive(Debug, Clone, Copy)]
pub enum RpcMessage<'a> {
    /// Wants an answer.
    Request {
        /// Under which the answer comes.
        id: RpcId<'a>,
        /// The requested method.
        method: Token<'a>,
        /// With what.
        params: Option<Token<'a>>,
    },
    /// Wants none.
    Notification {
        /// The method of the notification.
        method: Token<'a>,
        /// With what.
        params: Option<Token<'a>>,
    },
    /// The answer to a request.
    Result {
        /// The request's id.
        id: RpcId<'a>,
        /// The answer, which may be null, and is if there is none.
        result: Token<'a>,
    },
    /// The refusal of a request.
    Error {
        /// The request's id; null where it could not be read.
        id: RpcId<'a>,
        /// `code`, `message` and `data`.
        error: Token<'a>,
    },
    /// An object that is none of these.
    Unknown,
}

/// A line, read.
#[derive(Debug, Clone)]
pub enum Envelope<'a> {
    /// An object.
    Object {
        /// All of it.
        whole: Token<'a>,
        /// The message.
        message: RpcMessage<'a>,
    },
    /// JSON, but not an object.
    NotAnObject(Token<'a>),
    /// Not JSON at all.
    NotJson(InvalidJson),
}

/// Reads a line. Cannot fail: a line that is no message is [`RpcMessage`] too.
pub fn parse(text: &str) -> Envelope<'_> {
    let mut fields = EnvelopeFields::default();
    match scan_object(text, |key, value| fields.take_in(key, value)) {
        Ok(whole) => Envelope::Object {
            whole,
            message: fields.message(),
        },
        Err(ScanError::NotAnObject(token)) => Envelope::NotAnObject(token),
        Err(ScanError::Invalid(invalid)) => Envelope::NotJson(invalid),
    }
}

#[derive(Default)]
struct EnvelopeFields<'a> {
    jsonrpc: Option<Token<'a>>,
    id: Option<Token<'a>>,
    method: Option<Token<'a>>,
    params: Option<Token<'a>>,
    result: Option<Token<'a>>,
    error: Option<Token<'a>>,
}

impl<'a> EnvelopeFields<'a> {
    fn take_in(&mut self, key: Token<'a>, value: Token<'a>) {
        let field = match key.string().as_deref() {
            Some("jsonrpc") => &mut self.jsonrpc,
            Some("id") => &mut self.id,
            Some("method") => &mut self.method,
            Some("params") => &mut self.params,
            Some("result") => &mut self.result,
            Some("error") => &mut self.error,
            _ => return,
        };
        *field = Some(value);
    }

    fn message(self) -> RpcMessage<'a> {
        let method = self
            .method
            .and_then(|method| method.if_kind(TokenKind::String));
        let params = self.params;
        let error = self.error.and_then(Token::non_null);
        match (method, self.id.map(RpcId::from_token)) {
            (Some(method), Some(Some(id))) => RpcMessage::Request { id, method, params },
            (Some(method), None) => RpcMessage::Notification { method, params },
            (None, Some(Some(id))) => match (error, self.result) {
                (Some(error), _) => RpcMessage::Error { id, error },
                (None, Some(result)) => RpcMessage::Result { id, result },
                // JavaScript omits a result that is `undefined`. Without `jsonrpc` any object with an id would look like this.
                (None, None) => match (self.jsonrpc, Token::parse("null")) {
                    (Some(_), Ok(result)) => RpcMessage::Result { id, result },
                    _ => RpcMessage::Unknown,
                },
            },
            // Some agents leave out the id of a request that they could not read.
            (None, None) if error.is_some() => error.map_or(RpcMessage::Unknown, |error| {
                let id = RpcId::Null;
                RpcMessage::Error { id, error }
            }),
            _ => RpcMessage::Unknown,
        }
    }
}
