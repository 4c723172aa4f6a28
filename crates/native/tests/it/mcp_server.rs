//! The MCP server, seen from its client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_native::mcp_server::{
    CallAnswer, McpServer, PROTOCOL_VERSIONS, ServerTool, ToolEffect,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A client that speaks to a server of this process.
struct McpTestClient {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    writes: tokio::io::WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    /// How often the tool `wait` has begun, and how often it has ended because it was cancelled.
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    stopped: CancellationToken,
}

impl McpTestClient {
    fn new() -> Self {
        let begun = Arc::new(AtomicUsize::new(0));
        let ended = Arc::new(AtomicUsize::new(0));
        let server = McpServer::new("scene")
            .instructions("Use it.")
            .tool(echo())
            .tool(wait(Arc::clone(&begun), Arc::clone(&ended)))
            .tool(steps())
            .tool(deaf(Arc::clone(&begun)))
            .tool(broken());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reads, writes) = tokio::io::split(ours);
        let (server_reads, server_writes) = tokio::io::split(theirs);
        let stopped = CancellationToken::new();
        let serving = server.serve(server_reads, server_writes, stopped.clone());
        Self {
            lines: BufReader::new(reads).lines(),
            writes,
            serving: tokio::spawn(serving),
            begun,
            ended,
            stopped,
        }
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.writes.write_all(line.as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send(&request).await;
        self.hear().await.unwrap()
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.request("tools/call", params).await
    }

    async fn start_call(&mut self, id: u64, name: &str) {
        let params = json!({"name": name, "_meta": {"progressToken": "p"}});
        let request = json!({"id": id, "method": "tools/call", "params": params});
        self.send(&request).await;
    }

    /// Waits until the tool has been called so often: every call of it says so.
    async fn until_begun(&self, count: usize) {
        while self.begun.load(Ordering::SeqCst) < count {
            tokio::task::yield_now().await;
        }
    }
}

fn echo() -> ServerTool {
    let schema = json!({
        "type": "object", "properties": {"word": {"type": "string"}},
        "required": ["word"], "additionalProperties": false,
    });
    ServerTool::new(
        "echo",
        "Says it again.",
        schema,
        ToolEffect::Reads,
        |call| async move { CallAnswer::from_value(json!({"word": call.text("word")})) },
    )
}

/// Runs until it is cancelled.
fn wait(begun: Arc<AtomicUsize>, ended: Arc<AtomicUsize>) -> ServerTool {
    let schema = json!({"type": "object"});
    ServerTool::new("wait", "Waits.", schema, ToolEffect::Acts, move |call| {
        let (begun, ended) = (Arc::clone(&begun), Arc::clone(&ended));
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            call.cancelled.cancelled().await;
            ended.fetch_add(1, Ordering::SeqCst);
            CallAnswer::from_text("too late")
        }
    })
}

/// Reports ten steps within a second, and keeps its handle.
fn steps() -> ServerTool {
    let kept = Arc::new(Mutex::new(None));
    let schema = json!({"type": "object"});
    ServerTool::new(
        "steps",
        "Reports.",
        schema,
        ToolEffect::Reads,
        move |call| {
            let kept = Arc::clone(&kept);
            async move {
                for step in 0..10 {
                    call.progress.report(&format!("step {step}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                let late = call.progress.clone();
                let task = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    late.report("after the answer");
                });
                *kept.lock().unwrap() = Some(task);
                CallAnswer::from_text("done")
            }
        },
    )
}

/// Does not care for cancellation.
fn deaf(begun: Arc<AtomicUsize>) -> ServerTool {
    let schema = json!({"type": "object"});
    ServerTool::new("deaf", "Hears not.", schema, ToolEffect::Acts, move |_| {
        begun.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    })
}

fn broken() -> ServerTool {
    let schema = json!({"type": "object"});
    ServerTool::new("broken", "Panics.", schema, ToolEffect::Acts, |_| async {
        panic!("on purpose")
    })
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "no"}})
}

#[tokio::test]
async fn a_client_gets_its_own_version_of_the_protocol_and_else_the_newest() {
    let mut client = McpTestClient::new();
    for version in PROTOCOL_VERSIONS {
        let answer = client
            .request("initialize", json!({"protocolVersion": version}))
            .await;
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
    for unknown in [
        json!("2024-10-07"),
        json!("2030-01-01"),
        json!(7),
        json!(null),
    ] {
        let answer = client
            .request("initialize", json!({"protocolVersion": unknown}))
            .await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], "2025-11-25");
        assert_eq!(result["capabilities"], json!({"tools": {}}));
        assert_eq!(result["serverInfo"]["name"], "scene");
        assert_eq!(result["instructions"], "Use it.");
    }
}

#[tokio::test]
async fn tools_are_listed_with_their_schemas_and_called() {
    let mut client = McpTestClient::new();
    let listed = client.request("tools/list", json!({})).await;
    let first = &listed["result"]["tools"][0];
    assert_eq!(first["name"], "echo");
    assert_eq!(first["inputSchema"]["required"], json!(["word"]));
    assert_eq!(first["annotations"]["readOnlyHint"], true);
    let answer = client.call("echo", json!({"word": "hé"})).await;
    let text = r#"{"word":"hé"}"#;
    let expected = json!({
        "content": [{"type": "text", "text": text}], "structuredContent": {"word": "hé"},
    });
    assert_eq!(answer["result"], expected);
    assert_eq!(
        client.request("ping", Value::Null).await["result"],
        json!({})
    );
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_an_answer_that_a_model_can_read() {
    let mut client = McpTestClient::new();
    for (arguments, expected) in [
        (json!({}), "arguments must have required property 'word'"),
        (json!({"word": 7}), "arguments/word must be string"),
        (
            json!({"word": "a", "x": 1}),
            "arguments must NOT have additional properties",
        ),
        (json!([1]), "arguments must be object"),
    ] {
        let answer = client.call("echo", arguments).await;
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["content"][0]["text"], expected);
    }
}

#[tokio::test]
async fn unknown_tools_and_methods_and_noise_leave_the_server_at_work() {
    let mut client = McpTestClient::new();
    let answer = client.call("nothing", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("there are echo, wait"), "{message}");
    for method in ["server/discover", "resources/list", "", "tools/CALL"] {
        assert_eq!(
            client.request(method, json!({})).await["error"]["code"],
            -32601
        );
    }
    client
        .writes
        .write_all(b"hello\n\xff\xfe\n[1]\n{\"a\":1}\n\n17\n")
        .await
        .unwrap();
    for _ in 0..10_000 {
        client
            .send(&json!({"method": "notifications/unknown", "params": {}}))
            .await;
    }
    assert_eq!(
        client.call("echo", json!({"word": "a"})).await["result"]["structuredContent"]["word"],
        "a"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_to_a_client_that_asks_and_never_after_the_answer() {
    let mut client = McpTestClient::new();
    client.start_call(3, "steps").await;
    let mut counts = Vec::new();
    loop {
        let heard = client.hear().await.unwrap();
        if heard["id"] == 3 {
            break;
        }
        assert_eq!(heard["method"], "notifications/progress");
        assert_eq!(heard["params"]["progressToken"], "p");
        counts.push(heard["params"]["progress"].as_u64().unwrap());
    }
    assert_eq!(counts, [1, 2, 3, 4, 5], "reports within 200 ms are skipped");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(client.request("ping", json!({})).await["id"], 1);
    let without_token = json!({"name": "steps"});
    let answer = client.request("tools/call", without_token).await;
    assert_eq!(answer["id"], 1);
}

#[tokio::test]
async fn a_call_that_is_cancelled_twice_is_answered_once_after_the_tool_has_ended() {
    let mut client = McpTestClient::new();
    client.start_call(7, "wait").await;
    client.until_begun(1).await;
    client.send(&cancel(8)).await; // of no call
    client.send(&cancel(7)).await;
    client.send(&cancel(7)).await;
    let answer = client.hear().await.unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32800))
    );
    assert_eq!(client.ended.load(Ordering::SeqCst), 1);
    client.send(&cancel(7)).await;
    assert_eq!(client.request("ping", json!({})).await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_cancellation_is_dropped() {
    let mut client = McpTestClient::new();
    client.start_call(7, "deaf").await;
    client.until_begun(1).await;
    client.send(&cancel(7)).await;
    assert_eq!(client.hear().await.unwrap()["error"]["code"], -32800);
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_of_that_call() {
    let mut client = McpTestClient::new();
    assert_eq!(
        client.call("broken", json!({})).await["error"]["code"],
        -32603
    );
    assert_eq!(client.request("ping", json!({})).await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_ends_the_server_and_its_calls() {
    let mut client = McpTestClient::new();
    client.start_call(1, "wait").await;
    client.start_call(2, "wait").await;
    client.until_begun(2).await;
    let McpTestClient {
        lines,
        writes,
        serving,
        ended,
        ..
    } = client;
    drop((lines, writes));
    serving.await.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_stopped_answers_its_calls_and_ends() {
    let mut client = McpTestClient::new();
    client.start_call(1, "wait").await;
    client.until_begun(1).await;
    client.stopped.cancel();
    assert_eq!(client.hear().await.unwrap()["error"]["code"], -32800);
    assert_eq!(client.hear().await, None);
    client.serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_before_the_end_of_the_input_are_answered_even_without_a_last_newline() {
    let mut client = McpTestClient::new();
    client.start_call(1, "steps").await;
    let last =
        r#"{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"word":"a"}}}"#;
    client.writes.write_all(last.as_bytes()).await.unwrap();
    client.writes.shutdown().await.unwrap();
    let mut answered = Vec::new();
    while let Some(heard) = client.hear().await {
        answered.extend(heard["id"].as_u64().filter(|_| heard["result"].is_object()));
    }
    assert_eq!(answered, [2, 1]);
    client.serving.await.unwrap();
}

#[tokio::test]
async fn a_request_of_64_mib_is_refused_wherever_its_id_is_and_the_server_goes_on() {
    let mut client = McpTestClient::new();
    let megabyte = "x".repeat(1 << 20);
    for (head, tail) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"word":""#,
            "\"}}}\n",
        ),
        (
            r#"{"method":"tools/call","params":{"name":"echo","arguments":{"word":""#,
            "\"}},\"jsonrpc\":\"2.0\",\"id\":1}\n",
        ),
    ] {
        client.writes.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..64 {
            client.writes.write_all(megabyte.as_bytes()).await.unwrap();
        }
        client.writes.write_all(tail.as_bytes()).await.unwrap();
        let answer = client.hear().await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(-32600))
        );
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_flood_of_calls_is_refused_from_the_65th_on() {
    let mut client = McpTestClient::new();
    for id in 0..70 {
        client.start_call(id, "wait").await;
    }
    for id in 64..70 {
        let answer = client.hear().await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32603))
        );
    }
    client.until_begun(64).await;
    client.stopped.cancel();
    client.serving.await.unwrap();
    assert_eq!(client.ended.load(Ordering::SeqCst), 64);
}
