//! The methods of ACP that a client may request, and the commands of `connect` that carry them out.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::client_message::{BAD_PARAMS, UNKNOWN_METHOD};
use crate::run_request::SessionDirectory;

/// Why a request is no command: a JSON-RPC error.
pub(super) type RequestRefusal = (i64, String);

/// The command for a request. Directories and modes are checked later, as those of every command.
pub(super) fn command_for(
    method: &str,
    params: &Value,
    directory: SessionDirectory,
) -> Result<Map<String, Value>, RequestRefusal> {
    let (name, fields): (&str, &[(&str, &str)]) = match method {
        "authenticate" => ("authenticate", &[("methodId", "methodId")]),
        "session/new" => ("create_session", &[("cwd", "cwd")]),
        "session/load" => (
            "load_session",
            &[("sessionId", "sessionId"), ("cwd", "cwd")],
        ),
        "session/resume" => (
            "resume_session",
            &[("sessionId", "sessionId"), ("cwd", "cwd")],
        ),
        "session/list" => ("list_sessions", &[("cwd", "cwd"), ("cursor", "cursor")]),
        "session/close" => ("close_session", &[("sessionId", "sessionId")]),
        "session/delete" => ("delete_session", &[("sessionId", "sessionId")]),
        "session/prompt" => (
            "send_message",
            &[("sessionId", "sessionId"), ("prompt", "content")],
        ),
        "session/cancel" => ("interrupt", &[("sessionId", "sessionId")]),
        "session/set_mode" => (
            "set_mode",
            &[("sessionId", "sessionId"), ("modeId", "modeId")],
        ),
        "session/set_model" => (
            "set_model",
            &[("sessionId", "sessionId"), ("modelId", "model")],
        ),
        "session/set_config_option" => (
            "set_config_option",
            &[
                ("sessionId", "sessionId"),
                ("configId", "configId"),
                ("value", "value"),
            ],
        ),
        _ => return Err((UNKNOWN_METHOD, format!("unknown method `{method}`"))),
    };
    check_mcp_servers(params)?;
    let mut command = Map::new();
    command.insert("command".to_owned(), name.into());
    for (given, wanted) in fields {
        let value = params.get(given).filter(|value| !value.is_null());
        if let Some(value) = value {
            command.insert((*wanted).to_owned(), value.clone());
        }
    }
    match name {
        // The agent's blocks are the whole prompt.
        "send_message" => drop(command.insert("text".to_owned(), "".into())),
        "create_session" => check_directory(&command)?,
        _ => {}
    }
    if directory == SessionDirectory::AgentsOwn && command.contains_key("cwd") {
        command.insert("cwd".to_owned(), "".into());
    }
    Ok(command)
}

fn check_directory(command: &Map<String, Value>) -> Result<(), RequestRefusal> {
    let cwd = command.get("cwd").and_then(Value::as_str);
    if cwd.is_some_and(|cwd| Path::new(cwd).is_absolute()) {
        return Ok(());
    }
    Err((BAD_PARAMS, "`cwd` is not an absolute path".to_owned()))
}

/// An MCP server is a program that would run on this machine: it belongs in the agent's configuration.
fn check_mcp_servers(params: &Value) -> Result<(), RequestRefusal> {
    let servers = params.get("mcpServers").and_then(Value::as_array);
    if servers.is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let message = "MCP servers of a client are not started; hint: name them in the settings of the agent, or with `--mcp-config FILE` of `lapidary acp`";
    Err((BAD_PARAMS, message.to_owned()))
}

/// The answer to `initialize`: the agent's, without the abilities that this server does not pass on.
pub(super) fn initialize_result(agents: &str) -> Value {
    let mut result: Value = serde_json::from_str(agents).unwrap_or_else(|_| json!({}));
    if let Some(capabilities) = result
        .get_mut("agentCapabilities")
        .and_then(Value::as_object_mut)
    {
        capabilities.remove("mcpCapabilities");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "tests give it what `json!` makes"
    )]
    fn command(method: &str, params: Value) -> Result<Value, RequestRefusal> {
        command_for(method, &params, SessionDirectory::Named).map(Value::from)
    }

    #[test]
    fn requests_become_the_commands_of_connect() {
        for (method, params, expected) in [
            (
                "session/new",
                json!({"cwd": "/w", "mcpServers": []}),
                json!({"command": "create_session", "cwd": "/w"}),
            ),
            (
                "session/prompt",
                json!({"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}),
                json!({"command": "send_message", "sessionId": "s", "content": [{"type": "text", "text": "hi"}], "text": ""}),
            ),
            (
                "session/cancel",
                json!({"sessionId": "s"}),
                json!({"command": "interrupt", "sessionId": "s"}),
            ),
            (
                "session/set_model",
                json!({"sessionId": "s", "modelId": "m"}),
                json!({"command": "set_model", "sessionId": "s", "model": "m"}),
            ),
            (
                "session/load",
                json!({"sessionId": "s", "cwd": null}),
                json!({"command": "load_session", "sessionId": "s"}),
            ),
        ] {
            assert_eq!(command(method, params), Ok(expected), "{method}");
        }
    }

    #[test]
    fn a_client_adds_no_program_and_no_method() {
        let server = json!({"cwd": "/w", "mcpServers": [{"name": "x", "command": "sh"}]});
        assert_eq!(command("session/new", server).unwrap_err().0, BAD_PARAMS);
        let relative = json!({"cwd": "w"});
        assert_eq!(command("session/new", relative).unwrap_err().0, BAD_PARAMS);
        assert_eq!(
            command("session/fork", json!({})).unwrap_err().0,
            UNKNOWN_METHOD
        );
    }

    #[test]
    fn the_demo_works_in_its_own_directory() {
        let params = json!({"cwd": "/w"});
        let command = command_for("session/new", &params, SessionDirectory::AgentsOwn);
        assert_eq!(command.unwrap()["cwd"], "");
    }
}
