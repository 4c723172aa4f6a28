//! One MCP server: the four requests that tools need.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::agents::McpServer;
use lapidary_rpc::{
    Connection, ConnectionLimits, HandledMethods, IncomingRequests, OpenConnection, RequestError,
    Transport, connect,
};
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::address::{AddressTransport, ServerAddress};
use super::event_link::serve_events;
use super::http_link::{HttpLink, LONGEST_MESSAGE, serve_http};
#[cfg(unix)]
use super::process::ServerProcess;
use super::{McpError, McpSettings};
use crate::http::HttpClient;

/// The version of the protocol that we speak. A server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
/// How many tools of a server count. More would fill the model's window.
const MOST_TOOLS: usize = 500;
/// How many pages of a list are read. A server could hand out pages without end.
const MOST_PAGES: usize = 50;
/// The longest name of a tool, in characters.
const LONGEST_NAME: usize = 256;
/// The largest definition of a tool, in bytes: the model gets it with every request.
const LARGEST_TOOL: usize = 64 * 1024;
/// How many characters of a server's error are repeated.
const ERROR_CHARS: usize = 2000;
/// The limits of a list of tools, for people.
pub(super) const TOOL_LIMITS: &str =
    "at most 500 are read, with names of 256 characters and definitions of 64 KiB";

/// How many bytes wait between the client and the link to a server behind a URL.
const PIPE_BYTES: usize = 64 * 1024;
/// How long a link may take to end: it tells the server that the session is over.
const LINK_END: Duration = Duration::from_secs(2);

/// A running server.
#[derive(Debug)]
pub(super) struct McpClient {
    connection: Connection,
    /// Answers the server's own requests.
    answering: JoinHandle<()>,
    end: Mutex<ServerEnd>,
}

/// The other end of the connection.
#[derive(Debug)]
enum ServerEnd {
    #[cfg(unix)]
    Process(Box<ServerProcess>),
    /// The task that passes messages on to a server behind a URL.
    Link(JoinHandle<()>),
}

impl ServerEnd {
    async fn end_server(&mut self) {
        match self {
            #[cfg(unix)]
            Self::Process(process) => process.end_process().await,
            Self::Link(link) => {
                let _ = tokio::time::timeout(LINK_END, &mut *link).await;
                link.abort();
            }
        }
    }
}

impl Drop for ServerEnd {
    fn drop(&mut self) {
        if let Self::Link(link) = self {
            link.abort();
        }
    }
}

/// A tool as the server lists it.
#[derive(Debug)]
pub(super) struct ListedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

/// The tools of a server.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<ListedTool>,
    /// How many are beyond the limits.
    pub(super) left_out: usize,
}

impl McpClient {
    #[cfg(unix)]
    pub(super) async fn start(
        settings: &McpSettings,
        command: &str,
        definition: &McpServer,
    ) -> Result<Self, McpError> {
        let (process, reads, writes) = ServerProcess::start(settings, command, definition).await?;
        Ok(Self::new(
            (reads, writes),
            ServerEnd::Process(Box::new(process)),
        ))
    }

    /// Connects to a server behind a URL. Nothing is sent yet, unless the transport begins with a stream.
    pub(super) fn reach(
        settings: &McpSettings,
        address: &ServerAddress,
        patience: Duration,
    ) -> Result<Self, McpError> {
        let http = HttpClient::new(settings.http.clone()).map_err(|error| McpError::Start {
            reason: error.to_string(),
        })?;
        let link = Arc::new(HttpLink::new(http, address.clone(), patience));
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let link = match address.transport {
            AddressTransport::EventStream => tokio::spawn(serve_events(theirs, link)),
            AddressTransport::StreamableHttp | AddressTransport::Either => {
                tokio::spawn(serve_http(theirs, link))
            }
        };
        Ok(Self::new(tokio::io::split(ours), ServerEnd::Link(link)))
    }

    fn new<R, W>(streams: (R, W), end: ServerEnd) -> Self
    where
        (R, W): Transport,
    {
        let methods = HandledMethods::from_names(["ping"]);
        let OpenConnection {
            connection,
            requests,
            observer,
        } = connect(
            streams,
            methods,
            ConnectionLimits {
                line: LONGEST_MESSAGE,
                ..ConnectionLimits::default()
            },
        );
        drop(observer); // a server's lines are of no interest by themselves
        Self {
            connection,
            answering: tokio::spawn(answer_pings(requests)),
            end: Mutex::new(end),
        }
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

    pub(super) async fn list_tools(&self, waited: Duration) -> Result<ToolList, McpError> {
        let mut list = ToolList::default();
        let mut names = BTreeSet::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.send_request("tools/list", &params, waited).await?;
            for tool in page["tools"].as_array().into_iter().flatten() {
                match listed_tool(tool) {
                    Some(tool) if list.tools.len() < MOST_TOOLS => {
                        if names.insert(tool.name.clone()) {
                            list.tools.push(tool);
                        }
                    }
                    _ => list.left_out += 1,
                }
            }
            let cursor = page["nextCursor"].as_str().filter(|it| !it.is_empty());
            let Some(cursor) = cursor.filter(|_| list.tools.len() < MOST_TOOLS) else {
                break;
            };
            params = json!({ "cursor": cursor });
        }
        Ok(list)
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
            // JSON that is nested too deep is the usual reason.
            Ok(answer) => serde_json::from_str(answer.result.as_str()).map_err(|error| {
                let reason = format!("its answer cannot be read: {error}");
                McpError::Request { method, reason }
            }),
            Err(RequestError::Late { .. }) => Err(McpError::Silent { waited }),
            Err(RequestError::Refused(refusal)) => Err(McpError::Request {
                method,
                reason: shortened(&refusal.message.to_string()),
            }),
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
        self.end.lock().await.end_server().await;
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

fn shortened(message: &str) -> String {
    message.chars().take(ERROR_CHARS).collect()
}

/// A tool of a list. None if it is beyond the limits, or its name is one that no person could read in a prompt.
fn listed_tool(tool: &Value) -> Option<ListedTool> {
    let name = tool["name"].as_str()?;
    let is_unreadable = name.is_empty() || name.chars().any(char::is_control);
    if is_unreadable || name.chars().count() > LONGEST_NAME {
        return None;
    }
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
    let description = tool["description"].as_str().unwrap_or_default();
    let size = description.len() + schema.map_or(0, |schema| schema.to_string().len());
    (size <= LARGEST_TOOL).then(|| ListedTool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
    })
}
