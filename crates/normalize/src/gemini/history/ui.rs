//! The items that the CLI's screen shows of a session that it continues.

use lapidary_json::Token;
use lapidary_vocab::{Json, Text};
use lapidary_wire::gemini::session::ReplayedLog;
use serde::Serialize;

use super::said::{content_text, is_context, trim_as_javascript};
use super::{loaded_messages, message_list};
use crate::own::{owned_json, string_token};

/// One item of the screen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub enum UiItem {
    /// The user's message.
    User { text: Text },
    /// The model's message.
    Gemini { text: Text },
    /// A note of the CLI.
    Info { text: Text },
    /// What went wrong.
    Error { text: Text },
    /// What may go wrong.
    Warning { text: Text },
    /// A thought of the model.
    Thinking { thought: UiThought },
    /// The model's tool calls.
    ToolGroup { tools: Vec<UiTool> },
}

/// A thought.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct UiThought {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Json>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiTool {
    /// The call's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Json>,
    /// The name that is shown, or the tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Json>,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// A description of the call; `""` where there is none.
    pub description: Json,
    /// Whether its output is Markdown, which is the default.
    pub render_output_as_markdown: Json,
    /// How it ended, as the screen has it.
    pub status: UiToolStatus,
    /// The shown result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_display: Option<Json>,
}

/// Whether a call succeeded. A cancelled or open one counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub enum UiToolStatus {
    Success,
    Error,
}

/// The items of a session's final state. A message of the CLI's own context is not shown, and neither are its calls.
pub fn ui_history(log: &ReplayedLog<'_>) -> Vec<UiItem> {
    let mut items = Vec::new();
    for message in loaded_messages(log) {
        add_ui_items(message, &mut items);
    }
    items
}

fn add_ui_items(message: Token<'_>, items: &mut Vec<UiItem>) {
    let kind = message.get("type").and_then(Token::string);
    let kind = kind.as_deref().unwrap_or_default();
    if kind == "gemini" {
        items.extend(message_list(message, "thoughts").map(thought_item));
    }
    let shown = display_text(message);
    if is_context(&shown.to_str()) {
        return;
    }
    if !trim_as_javascript(&shown.to_str()).is_empty() {
        items.push(text_item(kind, shown));
    }
    if kind != "user" {
        let tools: Vec<_> = message_list(message, "toolCalls").map(ui_tool).collect();
        if !tools.is_empty() {
            items.push(UiItem::ToolGroup { tools });
        }
    }
}

/// The text that was shown, or else the message's own.
fn display_text(message: Token<'_>) -> Text {
    let read = |name| {
        message
            .get(name)
            .map(content_text)
            .filter(|text| !text.is_empty())
    };
    read("displayContent")
        .or_else(|| read("content"))
        .unwrap_or_default()
}

fn text_item(kind: &str, text: Text) -> UiItem {
    match kind {
        "user" => UiItem::User { text },
        "info" => UiItem::Info { text },
        "error" => UiItem::Error { text },
        "warning" => UiItem::Warning { text },
        // Another type makes the CLI give up; there is no reason to.
        _ => UiItem::Gemini { text },
    }
}

fn thought_item(thought: Token<'_>) -> UiItem {
    let thought = UiThought {
        subject: thought.get("subject").map(owned_json),
        description: thought.get("description").map(owned_json),
    };
    UiItem::Thinking { thought }
}

fn ui_tool(call: Token<'_>) -> UiTool {
    let truthy = |name| call.get(name).filter(|value: &Token<'_>| value.is_truthy());
    let succeeded = string_token(call.get("status")).is_some_and(|status| status.is("success"));
    UiTool {
        call_id: call.get("id").map(owned_json),
        name: truthy("displayName")
            .or_else(|| call.get("name"))
            .map(owned_json),
        args: call.get("args").map(owned_json),
        description: truthy("description").map_or_else(|| Json::from(&Text::from("")), owned_json),
        render_output_as_markdown: call
            .get("renderOutputAsMarkdown")
            .and_then(Token::non_null)
            .map_or_else(|| Json::from_value(&true), owned_json),
        status: if succeeded {
            UiToolStatus::Success
        } else {
            UiToolStatus::Error
        },
        result_display: call.get("resultDisplay").map(owned_json),
    }
}

impl UiItem {
    /// The text of an item that is one.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Self::User { text }
            | Self::Gemini { text }
            | Self::Info { text }
            | Self::Error { text }
            | Self::Warning { text } => Some(text),
            Self::Thinking { .. } | Self::ToolGroup { .. } => None,
        }
    }
}
