//! The answers to a client's requests.

use lapidary_rpc::{RpcError, VERSION};
use lapidary_vocab::Json;
use serde_json::{Value, json};

use super::AcpIdentity;
use super::updates::UpdateWriter;
use crate::a2a::RemoteError;
use crate::executor::{AgentOutcome, TerminateReason};
use crate::model::ModelError;

/// The answer to `initialize`.
pub(super) fn initialize_answer(identity: &AcpIdentity) -> Value {
    let name = &identity.name;
    let mut capabilities = json!({"loadSession": false});
    if identity.is_steerable {
        capabilities["_meta"]["lapidary"]["steering"] = true.into();
    }
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": capabilities,
        "agentInfo": {"name": name, "title": format!("Lapidary: {name}"), "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}

/// The answer to `session/new`. The model is an option with one choice: it cannot be changed.
pub(super) fn new_session_answer(session_id: &str, model: &str) -> Value {
    let option = json!({
        "id": "model", "name": "Model", "category": "model", "type": "select",
        "currentValue": model, "options": [{"value": model, "name": model}],
    });
    json!({"sessionId": session_id, "configOptions": [option]})
}

/// The answer to a prompt. The result of a completed task is said first: it is the agent's message.
pub(super) fn answer_of(outcome: &AgentOutcome, writer: &UpdateWriter) -> Result<Value, RpcError> {
    let stop_reason = match outcome.terminate_reason {
        TerminateReason::Goal => {
            if !outcome.is_streamed {
                writer.write_agent_text(&outcome.result);
            }
            "end_turn"
        }
        TerminateReason::Aborted => "cancelled",
        TerminateReason::MaxTurns => "max_turn_requests",
        TerminateReason::Timeout
        | TerminateReason::ErrorNoCompleteTaskCall
        | TerminateReason::Error => return Err(refusal_of(outcome)),
    };
    Ok(json!({"stopReason": stop_reason, "_meta": {"lapidary": ending_details(outcome)}}))
}

/// The answer to a prompt whose result was to fit a schema and was never handed over. The client judges the messages instead.
pub(super) fn answer_without_result(outcome: &AgentOutcome) -> Value {
    json!({"stopReason": "end_turn", "_meta": {"lapidary": ending_details(outcome)}})
}

/// How a task ended, beside ACP's own words.
fn ending_details(outcome: &AgentOutcome) -> Value {
    let mut ending = json!({
        "terminateReason": outcome.terminate_reason.as_str(), "turnCount": outcome.turn_count,
    });
    if let Some(from) = outcome.recovered_from {
        ending["recoveredFrom"] = from.as_str().into();
    }
    if let Some(output) = &outcome.output {
        ending["output"] = output.clone();
    }
    ending
}

/// A task that failed. The code is the HTTP status of the API where there is one, as Gemini CLI has it.
fn refusal_of(outcome: &AgentOutcome) -> RpcError {
    let code = match &outcome.error {
        Some(
            ModelError::Auth { status, .. }
            | ModelError::BadRequest { status, .. }
            | ModelError::Server { status, .. },
        ) => i64::from(*status),
        Some(ModelError::QuotaRetryable { .. } | ModelError::QuotaTerminal { .. }) => 429,
        _ => RpcError::INTERNAL,
    };
    let mut refusal = RpcError::new(code, outcome.result.clone());
    let mut ending = ending_details(outcome);
    let name = outcome.error.as_ref().and_then(error_name);
    let name = name.or_else(|| outcome.remote_error.as_ref().and_then(remote_error_name));
    if let Some(name) = name {
        ending["error"] = name.into();
    }
    if let Some(hint) = outcome.remote_error.as_ref().and_then(RemoteError::hint) {
        ending["hint"] = hint.into();
    }
    refusal.data = Some(Json::from_value(&json!({ "lapidary": ending })));
    refusal
}

/// The name of an error whose status does not tell it.
fn error_name(error: &ModelError) -> Option<&'static str> {
    match error {
        ModelError::Auth { .. } => Some("auth_required"),
        ModelError::QuotaRetryable { .. } => Some("quota_retryable"),
        ModelError::QuotaTerminal { .. } => Some("quota_terminal"),
        ModelError::EmptyAnswer { .. } => Some("empty_response"),
        _ => None,
    }
}

/// The name of a remote agent's error whose message does not tell it.
fn remote_error_name(error: &RemoteError) -> Option<&'static str> {
    match error {
        error if error.is_auth() => Some("auth_required"),
        RemoteError::CutStream { .. } | RemoteError::MalformedAnswer { .. } => {
            Some("protocol_error")
        }
        RemoteError::WrongVersion { .. } | RemoteError::TaskLost { .. } => Some("protocol_error"),
        RemoteError::TaskEnded { state, .. } if state == "rejected" => Some("refusal"),
        RemoteError::ForeignOrigin { .. }
        | RemoteError::UnsafeTarget { .. }
        | RemoteError::PlainHttp { .. }
        | RemoteError::NoInterface { .. }
        | RemoteError::NotACard { .. }
        | RemoteError::CardNotFound { .. } => Some("bad_config"),
        RemoteError::CardTimeout { .. } => Some("timeout_start"),
        _ => None,
    }
}
