//! The messages that we send, as lines with their ends. Values go out as they stand.

use std::sync::Arc;

use lapidary_vocab::Json;

use super::error::RpcError;
use super::message::RequestId;

pub(super) fn request_line(id: &RequestId, method: &str, params: Option<&Json>) -> Arc<str> {
    let id = format!(r#","id":{}"#, id.as_str());
    call_line(&id, method, params)
}

pub(super) fn notification_line(method: &str, params: Option<&Json>) -> Arc<str> {
    call_line("", method, params)
}

/// Tells the agent that the answer to this request is no longer needed.
pub(super) fn cancel_request(id: &RequestId) -> Arc<str> {
    let id = format!(r#"{{"requestId":{}}}"#, id.as_str());
    Arc::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{id}}}\n"
    ))
}

pub(super) fn answer_line(id: &RequestId, outcome: Result<&Json, &RpcError>) -> Arc<str> {
    let id = id.as_str();
    Arc::from(match outcome {
        Ok(result) => {
            let result = result.as_str();
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
        }
        Err(refusal) => {
            let error = refusal.to_json();
            let error = error.as_str();
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n")
        }
    })
}

fn call_line(id: &str, method: &str, params: Option<&Json>) -> Arc<str> {
    let method = Json::from_value(&method);
    let method = method.as_str();
    let params = params.map(|params| format!(r#","params":{}"#, params.as_str()));
    let params = params.unwrap_or_default();
    Arc::from(format!(
        "{{\"jsonrpc\":\"2.0\"{id},\"method\":{method}{params}}}\n"
    ))
}
