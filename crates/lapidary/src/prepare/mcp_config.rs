//! MCP servers of a file, from the shape that people have them in to that of the Agent Client Protocol.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_vocab::Json;
use serde_json::{Map, Value, json};

/// Why the MCP servers of a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the MCP servers in `{}`", file.display())]
pub struct McpConfigError {
    /// The file.
    pub file: PathBuf,
    /// The mistake in it.
    pub source: McpConfigProblem,
}

/// A mistake in a file of MCP servers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpConfigProblem {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It names no servers.
    #[error("there is no object `mcpServers`")]
    NoServers,
    /// A server has no address.
    #[error("`{name}` has neither a `command` nor a `url`")]
    Unreachable {
        /// The server.
        name: String,
    },
}

/// The servers of a file.
pub(super) fn mcp_servers(file: &Path) -> Result<Vec<Json>, McpConfigError> {
    read_servers(file).map_err(|source| McpConfigError {
        file: file.to_owned(),
        source,
    })
}

fn read_servers(file: &Path) -> Result<Vec<Json>, McpConfigProblem> {
    let whole: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let servers = whole.get("mcpServers").unwrap_or(&whole);
    let servers = servers.as_object().ok_or(McpConfigProblem::NoServers)?;
    let servers = servers.iter().map(|(name, server)| {
        let name = name.clone();
        mcp_server(&name, server).ok_or(McpConfigProblem::Unreachable { name })
    });
    servers.collect()
}

fn mcp_server(name: &str, server: &Value) -> Option<Json> {
    let pairs = |key: &str| -> Vec<Value> {
        let pairs = server.get(key).and_then(Value::as_object);
        let pairs = pairs.into_iter().flatten();
        pairs
            .map(|(name, value)| json!({"name": name, "value": with_string_values(value)}))
            .collect()
    };
    let mut out = Map::new();
    out.insert("name".to_owned(), name.into());
    if let Some(command) = server.get("command").and_then(Value::as_str) {
        out.insert("command".to_owned(), command.into());
        let args = server.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().map(with_string_values).collect();
        out.insert("args".to_owned(), Value::Array(args));
        out.insert("env".to_owned(), pairs("env").into());
    } else {
        let http = server.get("httpUrl").and_then(Value::as_str);
        let url = http.or_else(|| server.get("url").and_then(Value::as_str))?;
        let kind = server.get("type").and_then(Value::as_str);
        let kind = kind.filter(|kind| *kind == "sse").unwrap_or("http");
        out.insert("type".to_owned(), kind.into());
        out.insert("url".to_owned(), url.into());
        out.insert("headers".to_owned(), pairs("headers").into());
    }
    Some(Json::from_value(&out))
}

/// Numbers and booleans become strings: the protocol has only strings here.
fn with_string_values(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}
