//! Permission requests over ACP.

use lapidary_rpc::Connection;
use lapidary_vocab::Json;
use serde_json::{Value, json};

use super::updates::{call_update, content_of, kind_of, locations_of};
use crate::tool::{BoxFuture, CallPreview, GateAnswer, PermissionGate};

/// Asks the client about calls.
#[derive(Debug)]
pub(super) struct AcpGate {
    pub(super) connection: Connection,
    pub(super) session_id: String,
}

impl PermissionGate for AcpGate {
    fn ask<'a>(
        &'a self,
        call_id: &'a str,
        tool: &'a str,
        preview: &'a CallPreview,
    ) -> BoxFuture<'a, GateAnswer> {
        Box::pin(async move {
            let params = Json::from_value(&self.request_params(call_id, tool, preview));
            // The client has its own deadlines, and the executor stops waiting when the task is cancelled.
            let answer = self
                .connection
                .request("session/request_permission", Some(&params), None);
            let Ok(answer) = answer.await else {
                return GateAnswer::Cancelled;
            };
            let answer = serde_json::from_str(answer.result.as_str());
            let decided = gate_answer(&answer.unwrap_or(Value::Null));
            if decided == GateAnswer::Allowed {
                let started = call_update(call_id, "in_progress");
                let params = json!({"sessionId": self.session_id, "update": started});
                // A failed write needs no handling here: the agent ends when its connection does.
                let params = Json::from_value(&params);
                let _ = self.connection.notify("session/update", Some(&params));
            }
            decided
        })
    }
}

impl AcpGate {
    fn request_params(&self, call_id: &str, tool: &str, preview: &CallPreview) -> Value {
        let options = [
            ("allow_always", "Allow for this session"),
            ("allow_once", "Allow"),
            ("reject_once", "Reject"),
        ];
        let options =
            options.map(|(kind, name)| json!({"optionId": kind, "name": name, "kind": kind}));
        json!({
            "sessionId": self.session_id,
            "toolCall": {
                "toolCallId": call_id, "title": preview.title, "kind": kind_of(preview.kind), "status": "pending",
                "locations": locations_of(preview), "content": content_of(preview), "name": tool,
            },
            "options": options,
        })
    }
}

/// The meaning of a client's answer. One that cannot be read allows nothing.
fn gate_answer(answer: &Value) -> GateAnswer {
    let outcome = &answer["outcome"];
    if outcome["outcome"] == "cancelled" {
        return GateAnswer::Cancelled;
    }
    if let Some("allow_once" | "allow_always") = outcome["optionId"].as_str() {
        return GateAnswer::Allowed;
    }
    let reason = answer["_meta"]["lapidary"]["reason"].as_str();
    GateAnswer::Denied {
        reason: reason.map(str::to_owned),
    }
}
