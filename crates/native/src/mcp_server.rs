//! An MCP server of ours: tools that a client calls, over any pair of streams.
//!
//! The connection is [`lapidary_rpc`]'s: it reads any line, answers unknown methods, and bounds the memory that a client can
//! take. This module adds the methods of the protocol that tools need. A tool is a row, [`ServerTool`]: its schema may be known
//! only at run time.
//!
//! * Arguments that do not fit the tool's schema are an answer with `isError`, in the words of [`crate::schema`], so that a
//!   model can correct itself. An unknown tool is an error of the protocol.
//! * A cancelled call is answered too, once the tool has ended: after the answer, nothing of the call runs.
//! * Work that outlives its call is ended by [`McpServer::at_end`].
//! * When the client closes its end, running calls have `LAST_CALLS` to end by themselves and `CANCELLED_CALLS` to end when
//!   cancelled. Then the server ends.
//!
//! ```
//! use lapidary_native::mcp_server::{CallAnswer, McpServer, ServerTool, ToolEffect};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
//! let echo = ServerTool::new("echo", "Says a word again.", schema, ToolEffect::Reads, |call| async move {
//!     call.progress.report("thinking of the word");
//!     CallAnswer::from_text(call.text("word").unwrap_or_default())
//! });
//! let server = McpServer::new("parrot").tool(echo);
//! assert_eq!(server.tool_names(), ["echo"]);
//! ```

mod call;
mod closing;
mod progress;
mod protocol;
mod streams;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use lapidary_json::SharedToken;
use lapidary_rpc::{
    Connection, ConnectionLimits, HandledMethods, IncomingRequest, OpenConnection, RpcError,
    connect,
};
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use call::{CallRequest, carry_out};
use closing::ClosingStep;
pub use progress::CallProgress;
pub use protocol::PROTOCOL_VERSIONS;
use streams::{InputEnd, OutputEnd};
pub use tool::{CallAnswer, ServerCall, ServerTool, ToolEffect};

/// How long calls may go on by themselves once the client has closed its end: a script may write its requests and close.
const LAST_CALLS: Duration = Duration::from_secs(2);
/// How long a cancelled call may take to end its processes. Then it is dropped.
const CANCELLED_CALLS: Duration = Duration::from_secs(10);
/// How long the last answers may take to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A request has a prompt and options, so 8 MiB is ample. A client can have 64 calls at once; one more is refused.
fn connection_limits() -> ConnectionLimits {
    ConnectionLimits {
        line: 8 << 20,
        open: 64,
        open_bytes: 16 << 20,
        unread_bytes: 16 << 20,
        ..ConnectionLimits::default()
    }
}

/// A server with its tools.
#[derive(Debug, Clone)]
pub struct McpServer {
    name: String,
    instructions: Option<String>,
    tools: Vec<ServerTool>,
    closing: Vec<ClosingStep>,
}

impl McpServer {
    /// A server without tools.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            instructions: None,
            tools: Vec::new(),
            closing: Vec::new(),
        }
    }

    /// Tells the client's model the purpose of the tools.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: ServerTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a step for the end of the server: it ends work of tools that outlives their calls, and has `CANCELLED_CALLS` for it.
    #[must_use]
    pub fn at_end<F, A>(mut self, step: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        self.closing.push(ClosingStep::new(step));
        self
    }

    /// The names of its tools.
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Serves one client until it closes its end or is gone, or until `stopped` is cancelled. Nothing of a call runs
    /// afterwards.
    pub async fn serve(
        self,
        reads: impl AsyncRead + Send + Unpin + 'static,
        writes: impl AsyncWrite + Send + Unpin + 'static,
        stopped: CancellationToken,
    ) {
        let (input_ended, output_ended) = (CancellationToken::new(), CancellationToken::new());
        let transport = (
            InputEnd::new(reads, input_ended.clone()),
            OutputEnd::new(writes, output_ended.clone()),
        );
        let methods =
            HandledMethods::from_names(["initialize", "ping", "tools/list", "tools/call"]);
        let OpenConnection {
            connection,
            mut requests,
            observer,
        } = connect(transport, methods, connection_limits());
        drop(observer); // the client's lines are of no interest by themselves
        let mut serving = ServerTasks {
            server: self,
            connection,
            calls: JoinSet::new(),
            ending: CancellationToken::new(),
        };
        loop {
            // All of these are cancel-safe. Requests come first: those from before the end of the input still count.
            tokio::select! {
                biased;
                () = stopped.cancelled() => break,
                incoming = requests.next() => match incoming {
                    Some(incoming) => serving.handle_request(incoming),
                    None => break,
                },
                () = input_ended.cancelled() => {
                    serving.finish_calls(LAST_CALLS, &stopped).await;
                    break;
                }
                Some(_) = serving.calls.join_next() => {}
            }
        }
        let closing = closing::run_steps(serving.server.closing.clone());
        tokio::join!(serving.end_calls(&output_ended), closing);
    }
}

/// A server at work.
struct ServerTasks {
    server: McpServer,
    connection: Connection,
    calls: JoinSet<()>,
    /// Cancels every call.
    ending: CancellationToken,
}

impl ServerTasks {
    fn handle_request(&mut self, incoming: IncomingRequest) {
        let params = incoming.params.as_ref();
        let params = params.and_then(|params| serde_json::from_str(params.as_str()).ok());
        let params: Value = params.unwrap_or(Value::Null);
        let method = incoming.method.to_str().into_owned();
        match method.as_str() {
            "initialize" => {
                let answer = protocol::initialize_answer(&self.server, &params);
                incoming.respond.answer(&Json::from_value(&answer));
            }
            "tools/list" => {
                let tools: Vec<_> = self.server.tools.iter().map(protocol::tool_entry).collect();
                let answer = json!({ "tools": tools });
                incoming.respond.answer(&Json::from_value(&answer));
            }
            "tools/call" => self.start_call(incoming, params),
            _ => incoming.respond.answer(&Json::empty_object()),
        }
    }

    fn start_call(&mut self, incoming: IncomingRequest, mut params: Value) {
        let name = params["name"].as_str().unwrap_or_default();
        let tool = self.server.tools.iter().find(|tool| tool.name == name);
        let Some(tool) = tool.cloned() else {
            let names = self.server.tool_names().join(", ");
            let message = format!("unknown tool `{}`: there are {names}", shortened_text(name));
            let refusal = RpcError::new(RpcError::BAD_PARAMS, message);
            return incoming.respond.refuse(&refusal);
        };
        let written = incoming.params.as_ref().map(Json::token);
        let written = written.and_then(|params| params.get("arguments")?.non_null());
        let written_arguments = written.map_or_else(Json::empty_object, |arguments| {
            Json::from(SharedToken::from(arguments))
        });
        let progress = CallProgress::new(&self.connection, &params["_meta"]["progressToken"]);
        let arguments = match params.get_mut("arguments") {
            None | Some(Value::Null) => json!({}),
            Some(arguments) => arguments.take(),
        };
        match tool.check_arguments(arguments) {
            Err(answer) => incoming.respond.answer(&answer.to_json()),
            Ok(arguments) => {
                let request = CallRequest {
                    tool: Arc::new(tool),
                    call: ServerCall {
                        arguments,
                        written_arguments,
                        cancelled: CancellationToken::new(),
                        progress,
                    },
                    respond: incoming.respond,
                    ending: self.ending.clone(),
                };
                self.calls.spawn(carry_out(request));
            }
        }
    }

    /// Waits for the calls to end by themselves.
    async fn finish_calls(&mut self, time: Duration, stopped: &CancellationToken) {
        let finished = async { while self.calls.join_next().await.is_some() {} };
        // Both are cancel-safe: a call that has not ended stays in the set.
        tokio::select! {
            _ = timeout(time, finished) => {}
            () = stopped.cancelled() => {}
        }
    }

    /// Ends every call, then writes the last answers.
    async fn end_calls(mut self, output_ended: &CancellationToken) {
        self.ending.cancel();
        let finished = async { while self.calls.join_next().await.is_some() {} };
        let _ = timeout(CANCELLED_CALLS + LAST_ANSWERS, finished).await;
        self.calls.shutdown().await;
        self.connection.hang_up();
        let _ = timeout(LAST_ANSWERS, output_ended.cancelled()).await; // a client that is gone reads none
    }
}

/// The beginning of a text that a client sent, for a message about it.
fn shortened_text(text: &str) -> String {
    text.chars().take(64).collect()
}
