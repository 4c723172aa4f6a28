//! A message of the client: a request, a notification, or an answer to a request of ours.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Errors of JSON-RPC.
pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const UNKNOWN_METHOD: i64 = -32601;
pub(super) const BAD_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
/// A request that the server's policy refuses.
pub(super) const REFUSED: i64 = -32001;

/// A message of the client.
#[derive(Debug)]
pub(super) enum ClientMessage {
    Request {
        id: Box<RawValue>,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// An answer: the result, or an error.
    Answer {
        id: Value,
        result: Result<Value, Value>,
    },
}

#[derive(Debug, Deserialize)]
struct RawMessage {
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

impl ClientMessage {
    /// Reads a message. An error is the answer to it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let message: RawMessage = serde_json::from_str(text).map_err(|error| {
            let code = if error.is_data() {
                INVALID_REQUEST
            } else {
                PARSE_ERROR
            };
            error_answer(
                RawValue::NULL,
                code,
                &format!("not a JSON-RPC message: {error}"),
            )
        })?;
        let params = message.params;
        match (message.method, message.id) {
            (Some(method), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(method), None) => Ok(Self::Notification { method, params }),
            (None, Some(id)) => {
                let id = serde_json::from_str(id.get()).unwrap_or_default();
                let result = match message.error {
                    Some(error) => Err(error),
                    None => Ok(message.result.unwrap_or_default()),
                };
                Ok(Self::Answer { id, result })
            }
            (None, None) => Err(error_answer(
                RawValue::NULL,
                INVALID_REQUEST,
                "a message has a `method` or an `id`",
            )),
        }
    }
}

/// The answer to a request.
pub(super) fn result_answer(id: &RawValue, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// The answer to a request that was not carried out.
pub(super) fn error_answer(id: &RawValue, code: i64, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}
