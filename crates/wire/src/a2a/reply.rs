//! Replies: results and errors of both bindings.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};

use super::A2aBinding;

/// The reply to a request.
#[derive(Debug, Clone)]
pub enum A2aReply<'a> {
    /// It succeeded.
    Result(Token<'a>),
    /// The server refuses it.
    Error(ReplyError<'a>),
}

/// Why a server refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError<'a> {
    /// The code: JSON-RPC's, or the HTTP status.
    pub code: i64,
    /// The server's message.
    pub message: Cow<'a, str>,
    /// The reason of `google.rpc.ErrorInfo`, such as `TASK_NOT_FOUND` (1.0).
    pub reason: Option<Cow<'a, str>>,
}

/// The meaning of an error, as far as a client acts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyErrorKind {
    /// The server does not speak this version, or does not have this method.
    WrongVersion,
    /// The server does not know the task.
    TaskNotFound,
    /// The task cannot be cancelled: mostly because it is over.
    TaskNotCancelable,
    /// Any other.
    Other,
}

impl<'a> A2aReply<'a> {
    /// Reads a body of the binding. Cannot fail: a body of HTTP+JSON that has no error is a result.
    pub fn from_token(token: Token<'a>, binding: A2aBinding) -> Self {
        if let Some(error) = object(token, "error") {
            return Self::Error(ReplyError::from_token(error));
        }
        match binding {
            A2aBinding::JsonRpc => match token.get("result") {
                Some(result) => Self::Result(result),
                None => Self::Error(ReplyError {
                    code: 0,
                    message: Cow::Borrowed("the reply has neither a result nor an error"),
                    reason: None,
                }),
            },
            A2aBinding::HttpJson if is_bare_error(token) => {
                Self::Error(ReplyError::from_token(token))
            }
            A2aBinding::HttpJson => Self::Result(token),
        }
    }
}

impl<'a> ReplyError<'a> {
    /// Reads an error object.
    pub fn from_token(token: Token<'a>) -> Self {
        let code = token.get("code").map(Token::as_str);
        let details = token.get("data").or_else(|| token.get("details"));
        let details = details.into_iter().flat_map(Token::elements);
        let mut reasons = details.filter_map(|detail| detail.get("reason")?.string());
        Self {
            code: code.and_then(|code| code.parse().ok()).unwrap_or_default(),
            message: token
                .get("message")
                .and_then(Token::string)
                .unwrap_or_default(),
            reason: reasons.next(),
        }
    }

    /// Its meaning. Servers on `@a2a-js/sdk` 0.3.14 say that a task is unknown with the code of an internal error.
    pub fn kind(&self) -> ReplyErrorKind {
        match (self.code, self.reason.as_deref()) {
            (-32009 | -32601, _) | (_, Some("VERSION_NOT_SUPPORTED")) => {
                ReplyErrorKind::WrongVersion
            }
            (-32001, _) | (_, Some("TASK_NOT_FOUND")) => ReplyErrorKind::TaskNotFound,
            (-32002, _) | (_, Some("TASK_NOT_CANCELABLE")) => ReplyErrorKind::TaskNotCancelable,
            (-32603, _) if self.message.starts_with("Task not found") => {
                ReplyErrorKind::TaskNotFound
            }
            _ => ReplyErrorKind::Other,
        }
    }
}

/// `@a2a-js/sdk` 0.3.14 writes errors of HTTP+JSON without a member around them.
fn is_bare_error(token: Token<'_>) -> bool {
    let is_number = |it: Token<'_>| it.kind() == TokenKind::Number;
    token.get("code").is_some_and(is_number) && token.get("message").is_some()
}

fn object<'a>(token: Token<'a>, key: &str) -> Option<Token<'a>> {
    token.get(key)?.if_kind(TokenKind::Object)
}
