//! Requests, in the words of a version and a binding.

use serde_json::{Map, Value, json};

use super::{A2aBinding, A2aVersion};

/// A message to an agent.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingMessage<'a> {
    /// A new id for it.
    pub message_id: &'a str,
    /// The prompt.
    pub text: &'a str,
    /// The conversation that it continues.
    pub context_id: Option<&'a str>,
    /// The task that it continues.
    pub task_id: Option<&'a str>,
    /// The tenant of the interface (1.0).
    pub tenant: Option<&'a str>,
}

/// A request to an agent.
#[derive(Debug, Clone, Copy)]
pub enum A2aRequest<'a> {
    /// Sends a message; the answer is a stream.
    Stream(OutgoingMessage<'a>),
    /// Sends a message; the answer is a message, or a task that goes on.
    Send(OutgoingMessage<'a>),
    /// Asks for a task by its id.
    GetTask(&'a str),
    /// Cancels a task by its id.
    CancelTask(&'a str),
}

/// A request as HTTP has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpForm {
    /// The path behind the URL of the interface; empty for JSON-RPC.
    pub path: String,
    /// The body; none for `GET`.
    pub body: Option<String>,
}

impl A2aRequest<'_> {
    /// The request in the form of a version and a binding.
    pub fn to_http(self, version: A2aVersion, binding: A2aBinding) -> HttpForm {
        match binding {
            A2aBinding::JsonRpc => HttpForm {
                path: String::new(),
                body: Some(self.json_rpc(version).to_string()),
            },
            A2aBinding::HttpJson => self.http_json(version),
        }
    }

    fn json_rpc(self, version: A2aVersion) -> Value {
        let (old, new, params) = match self {
            Self::Stream(message) => (
                "message/stream",
                "SendStreamingMessage",
                params(message, version, A2aBinding::JsonRpc, true),
            ),
            Self::Send(message) => (
                "message/send",
                "SendMessage",
                params(message, version, A2aBinding::JsonRpc, false),
            ),
            Self::GetTask(id) => ("tasks/get", "GetTask", json!({ "id": id })),
            Self::CancelTask(id) => ("tasks/cancel", "CancelTask", json!({ "id": id })),
        };
        let method = match version {
            A2aVersion::V0_3 => old,
            A2aVersion::V1 => new,
        };
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn http_json(self, version: A2aVersion) -> HttpForm {
        let root = match version {
            A2aVersion::V0_3 => "/v1",
            A2aVersion::V1 => "",
        };
        let (path, body) = match self {
            Self::Stream(message) => {
                let params = params(message, version, A2aBinding::HttpJson, true);
                ("/message:stream".to_owned(), Some(params))
            }
            Self::Send(message) => {
                let params = params(message, version, A2aBinding::HttpJson, false);
                ("/message:send".to_owned(), Some(params))
            }
            Self::GetTask(id) => (format!("/tasks/{}", encoded(id)), None),
            Self::CancelTask(id) => (format!("/tasks/{}:cancel", encoded(id)), Some(json!({}))),
        };
        HttpForm {
            path: format!("{root}{path}"),
            body: body.map(|body| body.to_string()),
        }
    }
}

fn params(
    message: OutgoingMessage<'_>,
    version: A2aVersion,
    binding: A2aBinding,
    is_stream: bool,
) -> Value {
    // A message that blocks until its task ends could not be cancelled: the task's id comes with the answer. Gemini CLI asks to block
    // in its streams, where servers ignore it.
    let configuration = match version {
        A2aVersion::V0_3 => json!({ "blocking": is_stream }),
        A2aVersion::V1 => json!({ "returnImmediately": !is_stream }),
    };
    let mut params = json!({"message": written(message, version, binding)});
    if !is_stream || version == A2aVersion::V0_3 {
        params["configuration"] = configuration;
    }
    if let (A2aVersion::V1, Some(tenant)) = (version, message.tenant) {
        params["tenant"] = tenant.into();
    }
    params
}

fn written(message: OutgoingMessage<'_>, version: A2aVersion, binding: A2aBinding) -> Value {
    let mut written = Map::new();
    let mut put = |key: &str, value: Value| written.insert(key.to_owned(), value);
    match (version, binding) {
        (A2aVersion::V0_3, A2aBinding::JsonRpc) => {
            put("kind", "message".into());
            put("role", "user".into());
            put("parts", json!([{"kind": "text", "text": message.text}]));
        }
        (A2aVersion::V0_3, A2aBinding::HttpJson) => {
            put("role", "ROLE_USER".into());
            put("content", json!([{"text": message.text}]));
        }
        (A2aVersion::V1, _) => {
            put("role", "ROLE_USER".into());
            put("parts", json!([{"text": message.text}]));
        }
    }
    put("messageId", message.message_id.into());
    let ids = [
        ("contextId", message.context_id),
        ("taskId", message.task_id),
    ];
    for (key, id) in ids {
        if let Some(id) = id {
            put(key, id.into());
        }
    }
    Value::Object(written)
}

/// An id as one segment of a path: a hostile id must not lead to another path.
fn encoded(id: &str) -> String {
    let mut path = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            _ => {
                let digit = |bits: u8| char::from(b"0123456789ABCDEF"[usize::from(bits)]);
                path.extend(['%', digit(byte >> 4), digit(byte & 0xF)]);
            }
        }
    }
    path
}
