//! The MCP server `vault`, whose only tool, `leak`, leaves a trace when it is called. `lapidary` serves it under a hidden command, so that
//! a proof needs no other program.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::{Value, json};

/// The hidden command of `lapidary` that serves it. Its argument is the file that a call makes.
pub const VAULT_COMMAND: &str = "canary-server";

/// The answer of the tool, which must not reach a model.
pub(super) const CANARY: &str = "canary-of-mcp";

/// Longest request that is read. The requests of a client that lists and calls one tool are far shorter; a longer one ends the server.
const LONGEST_REQUEST: u64 = 1 << 20;

/// Serves until the client closes its end. `on_call` leaves the trace.
pub fn serve_vault(
    mut requests: impl BufRead,
    mut answers: impl Write,
    mut on_call: impl FnMut() -> io::Result<()>,
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
        if request["method"] == "tools/call" {
            on_call()?;
        }
        let result = result(&request);
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
}

fn result(request: &Value) -> Value {
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

    fn served(requests: &str) -> (Vec<Value>, bool) {
        let mut is_called = false;
        let mut answers = Vec::new();
        let on_call = || {
            is_called = true;
            Ok(())
        };
        serve_vault(requests.as_bytes(), &mut answers, on_call).unwrap();
        let answers = answers.split(|byte| *byte == b'\n');
        let answers = answers.filter_map(|line| serde_json::from_slice(line).ok());
        (answers.collect(), is_called)
    }

    #[test]
    fn only_a_call_of_the_tool_leaves_a_trace() {
        let start = concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            "\n",
        );
        let (answers, is_called) = served(start);
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answers[1]["id"], "a");
        assert!(!is_called);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leak"}}"#;
        let (answers, is_called) = served(call);
        assert_eq!(answers[0]["result"]["content"][0]["text"], CANARY);
        assert!(is_called);
    }
}
