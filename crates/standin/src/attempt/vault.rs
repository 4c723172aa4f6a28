//! The MCP server `vault`, whose only tool, `leak`, leaves a trace when it is called. `lapidary` serves it under a hidden command, so that
//! a proof needs no other program.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::{Value, json};

/// The hidden command of `lapidary` that serves it. Its argument is the directory in which [`trace_of`] is made.
pub const VAULT_COMMAND: &str = "canary-server";

/// The answer of the tool, which must not reach a model.
pub(super) const CANARY: &str = "canary-of-mcp";

/// Longest request that is read. The requests of a client that lists and calls one tool are far shorter; a longer one ends the server.
const LONGEST_REQUEST: u64 = 1 << 20;

/// Requests that leave a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultRequest {
    /// The client lists the tools.
    List,
    /// It calls the tool.
    Call,
}

/// The file that a request makes.
pub fn trace_of(request: VaultRequest) -> &'static str {
    match request {
        VaultRequest::List => "listed.txt",
        VaultRequest::Call => "called.txt",
    }
}

/// Serves until the client closes its end. `on_request` leaves the trace.
pub fn serve_vault(
    mut requests: impl BufRead,
    mut answers: impl Write,
    mut on_request: impl FnMut(VaultRequest) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = requests.by_ref().take(LONGEST_REQUEST);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let request: Value = serde_json::from_slice(&line)?;
        let Some(id) = request
            .get("id")
            .filter(|_| request.get("method").is_some())
        else {
            continue; // a notification
        };
        match request["method"].as_str() {
            Some("tools/list") => on_request(VaultRequest::List)?,
            Some("tools/call") => on_request(VaultRequest::Call)?,
            _ => {}
        }
        let result = tool_result(&request);
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
}

fn tool_result(request: &Value) -> Value {
    match request["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "vault", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": "leak",
            "description": "Tells a secret.",
            "inputSchema": { "type": "object", "properties": {} },
        }] }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": CANARY }] }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(requests: &str) -> (Vec<Value>, Vec<VaultRequest>) {
        let mut traces = Vec::new();
        let mut answers = Vec::new();
        let on_request = |request| {
            traces.push(request);
            Ok(())
        };
        serve_vault(requests.as_bytes(), &mut answers, on_request).unwrap();
        let answers = answers.split(|byte| *byte == b'\n');
        let answers = answers.filter_map(|line| serde_json::from_slice(line).ok());
        (answers.collect(), traces)
    }

    #[test]
    fn a_list_of_the_tools_and_a_call_leave_their_traces() {
        let start = concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            "\n",
        );
        let (answers, traces) = served(start);
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answers[1]["id"], "a");
        assert_eq!(traces, [VaultRequest::List]);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leak"}}"#;
        let (answers, traces) = served(call);
        assert_eq!(answers[0]["result"]["content"][0]["text"], CANARY);
        assert_eq!(traces, [VaultRequest::Call]);
    }
}
