//! MCP servers of one agent: started with it, asked for their tools, ended with it.
//!
//! A server is a process that speaks JSON-RPC, one message a line, which is what [`lapidary_rpc`] reads from any agent: nothing that a
//! server writes can hold us up. A server behind a URL has the same lines at the other end of a pipe in memory. Every request has a
//! deadline. `trust` does not count: the gate is asked about every call, so that a rule holds for each.

mod address;
mod client;
mod event_link;
mod http_link;
#[cfg(unix)]
mod process;
mod tool;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::agents::McpServer;
use lapidary_process::Supervisor;

use crate::http::HttpSettings;
use crate::tool::Tool;
use address::{AddressTransport, ServerAddress};
use client::McpClient;
use tool::McpTool;

/// The longest that a server may take to start and to name its tools.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a call may take, unless the definition says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_mins(10);

/// The means to start servers.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Ends a server with everything that it started.
    pub supervisor: Supervisor,
    /// The variables of servers, before their own.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory in which servers start.
    pub directory: PathBuf,
    /// Proxies and certificates, for servers behind a URL.
    pub http: HttpSettings,
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The definition does not say how it is reached.
    #[error("it has no `command`, `url` or `http_url`")]
    NoCommand,
    /// Its address is no `http` or `https` URL, or has a user in it.
    #[error("its address is not a usable URL")]
    InvalidUrl,
    /// Its address is a plain one of another machine.
    #[error("plain `http` is for servers on this machine only")]
    PlainHttp,
    /// The definition asks for a login that needs a person.
    #[error("it wants a login with `auth`: only `headers` are supported")]
    LoginWanted,
    /// It cannot be started.
    #[error("it cannot be started: {reason}")]
    Start {
        /// The error of the system.
        reason: String,
    },
    /// It refused a request, or is gone.
    #[error("`{method}` failed: {reason}")]
    Request {
        /// The request.
        method: &'static str,
        /// Its refusal, or how it ended.
        reason: String,
    },
    /// It took too long.
    #[error("it did not answer within {} s", waited.as_secs())]
    Silent {
        /// How long was waited.
        waited: Duration,
    },
}

/// The servers of one agent.
#[derive(Debug, Default)]
pub(crate) struct McpServers {
    clients: Vec<Arc<McpClient>>,
    /// Their tools, by the names that the model calls.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// A sentence for each server that cannot be used.
    pub(crate) notices: Vec<String>,
}

impl McpServers {
    /// Starts servers, one after the other. One that cannot be used is noted, and the others count.
    pub(crate) async fn start_servers(
        settings: Option<&McpSettings>,
        definitions: &[(String, McpServer)],
    ) -> Self {
        let mut servers = Self::default();
        for (name, definition) in definitions {
            match servers.add_server(settings, name, definition).await {
                Ok(()) => {}
                Err(error) => {
                    let notice = format!("the MCP server `{name}` is not available: {error}");
                    servers.notices.push(notice);
                }
            }
        }
        servers.remove_ambiguous_tools();
        servers
    }

    /// Removes tools whose names are the same for the model. Tool `b_c` of the server `a` and tool `c` of the server `a_b` are both
    /// `mcp_a_b_c`: one server would get the calls, and the permission, of the other.
    fn remove_ambiguous_tools(&mut self) {
        let mut counts = BTreeMap::new();
        for tool in &self.tools {
            let count: &mut usize = counts.entry(tool.declaration().name.clone()).or_default();
            *count += 1;
        }
        counts.retain(|_, count| *count > 1);
        let tools = &mut self.tools;
        tools.retain(|tool| !counts.contains_key(&tool.declaration().name));
        let notice = |(name, count)| {
            format!("the MCP tool `{name}` is not available: {count} tools have this name")
        };
        self.notices.extend(counts.iter().map(notice));
    }

    async fn add_server(
        &mut self,
        settings: Option<&McpSettings>,
        name: &str,
        definition: &McpServer,
    ) -> Result<(), McpError> {
        let timeout = call_timeout(definition);
        let waited = START_TIMEOUT.min(timeout);
        let starting = start_client(settings, definition, waited);
        let started = tokio::time::timeout(waited, starting).await;
        let (client, listed) = started.map_err(|_| McpError::Silent { waited })??;
        let client = Arc::new(client);
        if listed.left_out > 0 {
            self.notices.push(format!(
                "the MCP server `{name}` lists {} tools that are not available: {}",
                listed.left_out,
                client::TOOL_LIMITS
            ));
        }
        let chosen = listed
            .tools
            .into_iter()
            .filter(|tool| is_wanted(definition, &tool.name));
        let tools = chosen.map(|tool| -> Arc<dyn Tool> {
            Arc::new(McpTool::new(Arc::clone(&client), name, tool, timeout))
        });
        self.tools.extend(tools);
        self.clients.push(client);
        Ok(())
    }

    /// Ends the servers. Dropping them ends them, too, without a moment for themselves.
    pub(crate) async fn end_servers(self) {
        for client in self.clients {
            client.end_server().await;
        }
    }
}

async fn start_client(
    settings: Option<&McpSettings>,
    definition: &McpServer,
    waited: Duration,
) -> Result<(McpClient, client::ToolList), McpError> {
    let settings = settings.ok_or(McpError::NoCommand)?;
    let address = ServerAddress::from_definition(definition, &settings.environment)?;
    let client = match (address, &definition.command) {
        (Some(address), _) => reach_server(settings, address, definition, waited).await?,
        (None, Some(command)) => {
            let client = McpClient::start(settings, command, definition).await?;
            client.initialize_server(waited).await?;
            client
        }
        (None, None) => return Err(McpError::NoCommand),
    };
    let tools = client.list_tools(waited).await?;
    Ok((client, tools))
}

/// Connects to a server behind a URL. If both transports fail, the error is that of the first.
async fn reach_server(
    settings: &McpSettings,
    address: ServerAddress,
    definition: &McpServer,
    waited: Duration,
) -> Result<McpClient, McpError> {
    let patience = call_timeout(definition);
    let client = McpClient::reach(settings, &address, patience)?;
    let Err(error) = client.initialize_server(waited).await else {
        return Ok(client);
    };
    if address.transport != AddressTransport::Either {
        return Err(error);
    }
    let address = ServerAddress {
        transport: AddressTransport::EventStream,
        ..address
    };
    let client = McpClient::reach(settings, &address, patience)?;
    let second = client.initialize_server(waited).await;
    second.map(|()| client).map_err(|_| error)
}

fn call_timeout(definition: &McpServer) -> Duration {
    let given = definition.timeout.map(|millis| millis / 1000.0);
    let given = given.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    given.filter(|time| !time.is_zero()).unwrap_or(CALL_TIMEOUT)
}

/// `include_tools` names the only tools that count, `exclude_tools` takes tools away.
fn is_wanted(definition: &McpServer, tool: &str) -> bool {
    let names = |list: &Option<Vec<String>>| {
        let list = list.as_ref();
        list.map(|names| names.iter().any(|name| name == tool))
    };
    names(&definition.include_tools) != Some(false)
        && names(&definition.exclude_tools) != Some(true)
}
