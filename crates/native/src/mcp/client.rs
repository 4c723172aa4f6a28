//! One MCP server: the four requests that tools need.

use std::time::Duration;

use lapidary_gemini::agents::McpServer;
use lapidary_rpc::{
    Connection, ConnectionLimits, HandledMethods, IncomingRequests, OpenConnection, RequestError,
    connect,
};
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

#[cfg(unix)]
use super::process::ServerProcess;
use super::{McpError, McpSettings};

/// The version of the protocol that we speak. A server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
/// How many tools of a server count. More would fill the model's window.
const MOST_TOOLS: usize = 500;
/// How many pages of a list are read. A server could hand out pages without end.
const MOST_PAGES: usize = 50;

/// A running server.
#[derive(Debug)]
pub(super) struct McpClient {
    connection: Connection,
    /// Answers the server's own requests.
    answering: JoinHandle<()>,
    #[cfg(unix)]
    process: Mutex<ServerProcess>,
}

/// A tool as the server lists it.
#[derive(Debug)]
pub(super) struct ListedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

impl McpClient {
    #[cfg(unix)]
    pub(super) async fn start(
        settings: &McpSettings,
        command: &str,
        definition: &McpServer,
    ) -> Result<Self, McpError> {
        let (process, reads, writes) = ServerProcess::start(settings, command, definition).await?;
        let methods = HandledMethods::from_names(["ping"]);
        let connected = connect((reads, writes), methods, ConnectionLimits::default());
        let OpenConnection {
            connection,
            requests,
            observer,
        } = connected;
        drop(observer); // a server's lines are of no interest by themselves
        Ok(Self {
            connection,
            answering: tokio::spawn(answer_pings(requests)),
            process: Mutex::new(process),
        })
    }

    #[cfg(not(unix))]
    pub(super) async fn start(_: &McpSettings, _: &str, _: &McpServer) -> Result<Self, McpError> {
        Err(McpError::Start {
            reason: "MCP servers are started on Unix only".to_owned(),
        })
    }

    pub(super) async fn initialize_server(&self, waited: Duration) -> Result<(), McpError> {
        let version = env!("CARGO_PKG_VERSION");
        let params = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "lapidary", "version": version},
        });
        self.send_request("initialize", &params, waited).await?;
        // A server that is gone is noticed by the next request.
        let _ = self.connection.notify("notifications/initialized", None);
        Ok(())
    }

    pub(super) async fn list_tools(&self, waited: Duration) -> Result<Vec<ListedTool>, McpError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.send_request("tools/list", &params, waited).await?;
            let listed = page["tools"].as_array().into_iter().flatten();
            tools.extend(listed.filter_map(listed_tool));
            let cursor = page["nextCursor"].as_str().filter(|it| !it.is_empty());
            let Some(cursor) = cursor.filter(|_| tools.len() < MOST_TOOLS) else {
                break;
            };
            params = json!({ "cursor": cursor });
        }
        tools.truncate(MOST_TOOLS);
        Ok(tools)
    }

    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: &Value,
        waited: Duration,
    ) -> Result<Value, McpError> {
        let params = json!({"name": tool, "arguments": arguments});
        self.send_request("tools/call", &params, waited).await
    }

    async fn send_request(
        &self,
        method: &'static str,
        params: &Value,
        waited: Duration,
    ) -> Result<Value, McpError> {
        let params = Json::from_value(params);
        let answer = self.connection.request(method, Some(&params), Some(waited));
        match answer.await {
            Ok(answer) => Ok(serde_json::from_str(answer.result.as_str()).unwrap_or_default()),
            Err(RequestError::Late { .. }) => Err(McpError::Silent { waited }),
            Err(error) => Err(McpError::Request {
                method,
                reason: error.to_string(),
            }),
        }
    }

    /// Ends the server: it sees the end of its input, and has a moment.
    pub(super) async fn end_server(&self) {
        self.connection.hang_up();
        self.answering.abort();
        #[cfg(unix)]
        self.process.lock().await.end_process().await;
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

/// Answers `ping`. The connection refuses all else by itself.
async fn answer_pings(mut requests: IncomingRequests) {
    while let Some(incoming) = requests.next().await {
        incoming.respond.answer(&Json::empty_object());
    }
}

fn listed_tool(tool: &Value) -> Option<ListedTool> {
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
    Some(ListedTool {
        name: tool["name"].as_str()?.to_owned(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
    })
}
