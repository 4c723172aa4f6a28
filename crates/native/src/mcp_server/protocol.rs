//! The answers that have the protocol's own shapes.

use serde_json::{Value, json};

use super::McpServer;
use super::tool::{ServerTool, ToolEffect};

/// The versions that are spoken, newest first. For tools they differ only in fields that may be missing.
///
/// 2026-07-28 has no handshake: a client of it gets -32601 for `server/discover`, and then begins with `initialize`.
pub const PROTOCOL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The answer to `initialize`: the client's version if it is known, else our newest, which the client may refuse.
pub(super) fn initialize_answer(server: &McpServer, params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str().unwrap_or_default();
    let known = PROTOCOL_VERSIONS.iter().find(|version| **version == wanted);
    let mut answer = json!({
        "protocolVersion": known.unwrap_or(&PROTOCOL_VERSIONS[0]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server.name, "version": env!("CARGO_PKG_VERSION")},
    });
    if let Some(instructions) = &server.instructions {
        answer["instructions"] = instructions.as_str().into();
    }
    answer
}

/// A tool as `tools/list` has it.
pub(super) fn tool_entry(tool: &ServerTool) -> Value {
    json!({
        "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema,
        "annotations": {"readOnlyHint": tool.effect == ToolEffect::Reads},
    })
}
