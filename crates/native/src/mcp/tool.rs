//! A tool of an MCP server, for a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::McpError;
use super::client::{ListedTool, McpClient};
use crate::tool::{
    BoxFuture, CallKind, CallPreview, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput,
};

/// The longest name of a tool that the API takes.
const NAME_CHARS: usize = 63;
/// How many characters of a result the model is told.
const RESULT_CHARS: usize = 40_000;

/// A tool of a server.
#[derive(Debug)]
pub(super) struct McpTool {
    client: Arc<McpClient>,
    /// The server's name for it.
    name: String,
    server: String,
    /// How long a call may take.
    timeout: Duration,
    declaration: ToolDeclaration,
}

impl McpTool {
    pub(super) fn new(
        client: Arc<McpClient>,
        server: &str,
        tool: ListedTool,
        timeout: Duration,
    ) -> Self {
        Self {
            client,
            declaration: ToolDeclaration {
                name: model_tool_name(server, &tool.name),
                description: tool.description,
                parameters: tool.schema,
            },
            name: tool.name,
            server: server.to_owned(),
            timeout,
        }
    }
}

/// The name that the model calls: `mcp_SERVER_TOOL`, in letters that the API takes.
fn model_tool_name(server: &str, tool: &str) -> String {
    let is_valid = |letter: char| letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
    let name = format!("mcp_{server}_{tool}");
    let name = name.chars().map(|it| if is_valid(it) { it } else { '_' });
    let name: String = name.collect();
    if name.len() <= NAME_CHARS {
        return name;
    }
    // The beginning has the server, the end tells tools apart.
    let end = &name[name.len() - 30..];
    format!("{}...{end}", &name[..30])
}

impl Tool for McpTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        Ok(Box::new(McpCall {
            client: Arc::clone(&self.client),
            tool: self.name.clone(),
            arguments: Value::Object(arguments.clone()),
            timeout: self.timeout,
            preview: CallPreview {
                title: format!("{} ({} MCP Server)", self.name, self.server),
                kind: CallKind::Other,
                paths: Vec::new(),
                change: None,
                command: None,
                needs_permission: true,
            },
        }))
    }
}

#[derive(Debug)]
struct McpCall {
    client: Arc<McpClient>,
    tool: String,
    arguments: Value,
    timeout: Duration,
    preview: CallPreview,
}

impl PreparedCall for McpCall {
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let call = self
                .client
                .call_tool(&self.tool, &self.arguments, self.timeout);
            // A call that is dropped is not waited for; the server ends with the agent.
            tokio::select! {
                biased;
                () = cancelled.cancelled() => ToolOutput::from_error(ToolError::new("cancelled", "Request cancelled.")),
                result = call => tool_output(&self.tool, result),
            }
        })
    }
}

fn tool_output(tool: &str, result: Result<Value, McpError>) -> ToolOutput {
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            let message = format!("MCP tool '{tool}' failed: {error}");
            return ToolOutput::from_error(ToolError::new("mcp_tool_error", message));
        }
    };
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = blocks.clone().filter_map(block_text).collect();
    let text = shortened_middle(&texts.join("\n"));
    if result["isError"] == true {
        let message = format!("MCP tool '{tool}' reported an error: {text}");
        return ToolOutput::from_error(ToolError::new("mcp_tool_error", message));
    }
    ToolOutput {
        parts: blocks.filter_map(inline_data).collect(),
        ..ToolOutput::from_text(text)
    }
}

/// The text of a content block; images and sounds are parts of their own.
fn block_text(block: &Value) -> Option<String> {
    let resource = &block["resource"];
    let text = block["text"].as_str().or(resource["text"].as_str());
    let link = || block["uri"].as_str().or(resource["uri"].as_str());
    text.or_else(link).map(str::to_owned)
}

fn inline_data(block: &Value) -> Option<Value> {
    let (data, kind) = (block["data"].as_str()?, block["mimeType"].as_str()?);
    Some(json!({"inlineData": {"data": data, "mimeType": kind}}))
}

/// A text that fits: its first fifth and its end, as Gemini CLI cuts long results.
fn shortened_middle(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(RESULT_CHARS / 5).collect();
    let skipped = count - RESULT_CHARS + RESULT_CHARS / 5;
    let tail: String = text.chars().skip(skipped).collect();
    let omitted = count - RESULT_CHARS;
    format!("{head}\n\n... [{omitted} characters omitted] ...\n\n{tail}")
}
