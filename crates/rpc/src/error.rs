//! How a request can fail, and how a connection ends.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::{Json, Text};

use super::agent_loss::AgentLoss;
use lapidary_process::Exit;

/// Why a connection has ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// The agent has ended, or has closed its side.
    #[error("{}", closed_message(*exit))]
    Closed {
        /// How it ended. Unknown if it has closed its stdout and lives on.
        exit: Option<Exit>,
        /// The end of its stderr.
        stderr_tail: String,
    },
    /// The agent does not read its stdin.
    #[error("the agent does not read: {unread} bytes are waiting for it")]
    NotReading {
        /// How many bytes it has not read, without those in the pipe.
        unread: usize,
    },
    /// Nothing can be sent any more: the agent has closed its stdin.
    #[error("the agent has closed its stdin")]
    Deaf,
    /// The agent has written more than is recorded.
    #[error("the agent wrote more than {limit} bytes, the limit for one run")]
    TooMuch {
        /// The limit.
        limit: u64,
    },
    /// The agent has sent a message that is too long to be read, and it does not show which request it answers.
    #[error(
        "the agent sent a message of {length} bytes, of which at most {limit} are read, and its id cannot be seen"
    )]
    TooLong {
        /// How long it is.
        length: u64,
        /// How long it may be.
        limit: usize,
    },
    /// The recording cannot be written any more.
    #[error("the recording cannot be written: {kind}")]
    Unrecorded {
        /// The system's error.
        kind: io::ErrorKind,
    },
    /// The connection to a remote agent is lost, or could not be made.
    #[error(transparent)]
    Lost(AgentLoss),
    /// We have ended it.
    #[error("the connection was ended")]
    Released,
}

fn closed_message(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("the agent has ended with exit code {code}"),
        Some(Exit::Signal(signal)) => format!("the agent was ended by signal {signal}"),
        None => "the agent has closed the connection".to_owned(),
    }
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The agent has answered with an error.
    #[error("the agent refuses: {0}")]
    Refused(RpcError),
    /// The agent has not answered in time, and was sent a cancellation.
    #[error("the agent did not answer `{method}` in {} s", time.as_secs_f64())]
    Late {
        /// The method.
        method: String,
        /// How long it had.
        time: Duration,
    },
    /// Too many requests are waiting for an answer.
    #[error("{waiting} requests are waiting for an answer already")]
    TooMany {
        /// The number of waiting requests.
        waiting: usize,
    },
    /// There is no connection any more.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

/// An answer that is an error, from either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The code. 0 if the agent gave none.
    pub code: i64,
    /// The message.
    pub message: Text,
    /// Additional data.
    pub data: Option<Json>,
    /// The number of the agent's line that says so; none if it is ours.
    pub number: Option<u64>,
}

impl RpcError {
    /// The request makes no sense as one.
    pub const BAD_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const NO_METHOD: i64 = -32601;
    /// The parameters make no sense.
    pub const BAD_PARAMS: i64 = -32602;
    /// Internal error.
    pub const INTERNAL: i64 = -32603;
    /// One has to log in first.
    pub const LOG_IN: i64 = -32000;
    /// The client does not allow it. The same number as [`LOG_IN`](Self::LOG_IN), which only agents say.
    pub const DENIED: i64 = -32000;
    /// The request was cancelled.
    pub const CANCELLED: i64 = -32800;

    /// A refusal of ours.
    pub fn new(code: i64, message: impl Into<Text>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            number: None,
        }
    }

    /// Reads an agent's error. Any JSON value is accepted as one.
    pub(super) fn from_token(line: &Arc<str>, error: Token<'_>) -> Self {
        let shared = |token| SharedToken::new(line, token);
        let code = error
            .get("code")
            .and_then(|code| code.as_str().parse().ok());
        let message = error.get("message").or(error.if_kind(TokenKind::String));
        let without_words = message.is_none().then_some(error);
        let data = error.get("data").or(without_words);
        Self {
            code: code.unwrap_or_default(),
            message: message.map_or_else(Text::default, |words| Text::from_token(shared(words))),
            data: data.map(|data| Json::from(shared(data))),
            number: None, // it is known once the line is noted
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let code = ("code", Json::from_value(&self.code));
        let message = ("message", Json::from(&self.message));
        let data = self.data.clone().map(|data| ("data", data));
        Json::object([code, message].into_iter().chain(data))
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}
