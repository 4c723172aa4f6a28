//! The items of a turn: words and actions.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    PermissionDenial, TextEvent, TextKind, ToolCallStatus, ToolCompletion, ToolInvocation, ToolKind,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::codex::exec::{ExecItemType, ExecLine};

use super::{CurrentLine, ExecNormalizer, LoggedAction};
use crate::completions::CallSummary;
use crate::own;

impl ExecNormalizer {
    pub(super) fn start_item(&mut self, current: &mut CurrentLine<'_, '_>) {
        match current.line.item_type() {
            Some(kind) if is_action(kind) => self.emit_call(kind, current),
            Some(_) => self.emit_protocol("an item begins", current),
            None => self.emit_unknown_item(current),
        }
    }

    pub(super) fn update_item(&mut self, current: &mut CurrentLine<'_, '_>) {
        match current.line.item_type() {
            Some(ExecItemType::TodoList) => self.emit_plan(current),
            Some(_) => self.emit_protocol("an item goes on", current),
            None => self.emit_unknown_item(current),
        }
    }

    pub(super) fn complete_item(&mut self, current: &mut CurrentLine<'_, '_>) {
        match current.line.item_type() {
            Some(ExecItemType::AgentMessage) => self.emit_words(TextKind::Text, current),
            Some(ExecItemType::Reasoning) => self.emit_words(TextKind::Thinking, current),
            Some(ExecItemType::TodoList) => self.emit_plan(current),
            Some(ExecItemType::Error) => {
                self.report_error(current.line.item_text("message"), current);
            }
            Some(kind) => self.emit_completion(kind, current),
            None => self.emit_unknown_item(current),
        }
    }

    fn emit_unknown_item(&mut self, current: &mut CurrentLine<'_, '_>) {
        let kind = current.line.item_text("type").and_then(Token::string);
        self.emit_unknown("type of item", kind.as_deref(), current);
    }

    fn emit_words(&mut self, kind: TextKind, current: &mut CurrentLine<'_, '_>) {
        let text = current.line.item_text("text").map(own::owned_text);
        self.run.has_spoken = true;
        self.emit(said(text.unwrap_or_default(), kind), current);
    }

    /// The list of steps, one on each line.
    fn emit_plan(&mut self, current: &mut CurrentLine<'_, '_>) {
        let steps = current.line.item_field("items");
        let steps = steps.into_iter().flat_map(Token::elements).map(|step| {
            let is_done = step.get("completed").and_then(Token::bool) == Some(true);
            let text = step.get("text").and_then(Token::string);
            let mark = if is_done { "x" } else { " " };
            format!("[{mark}] {}", text.unwrap_or_default())
        });
        let plan = steps.collect::<Vec<_>>().join("\n");
        self.run.has_spoken = true;
        self.emit(said(Text::from(plan), TextKind::Plan), current);
    }

    fn emit_call(&mut self, kind: ExecItemType, current: &mut CurrentLine<'_, '_>) {
        self.run.has_spoken = true;
        let (call, summary) = invocation(kind, &current.line);
        let size = summary.memory_size();
        self.calls.open(&call.call_id.to_str(), summary, size);
        self.emit(Body::ToolInvocation(Box::new(call)), current);
    }

    /// An action that has no `item.started` is called and completed by one line.
    fn emit_completion(&mut self, kind: ExecItemType, current: &mut CurrentLine<'_, '_>) {
        let id = item_id(&current.line);
        if self.calls.newest(&id.to_str()).is_none() {
            self.emit_call(kind, current);
        }
        let Some(summary) = self.calls.close_id(&id.to_str()) else {
            return;
        };
        let status = status(&current.line);
        let is_error = status != ToolCallStatus::Completed;
        if current
            .line
            .item_text("status")
            .is_some_and(|it| it.is("declined"))
        {
            self.note_denial(kind, &current.line);
        }
        let logged = self.completed_action.take();
        let sandbox = logged.as_ref().and_then(|logged| logged.sandbox);
        let printed = current.line.item_text("aggregated_output");
        let printed = printed.filter(|_| is_error).and_then(Token::string);
        let refusal = sandbox.and_then(|sandbox| sandbox.refusal(printed.as_deref()?));
        if let Some(reason) = refusal {
            let (call, _) = invocation(kind, &current.line);
            let denial = self.denial(&call, reason);
            self.run.denials.add_reported(denial);
        }
        if let Some(code) = current.line.item_field("exit_code") {
            let code = ("codex.exitCode".to_owned(), own::owned_json(code));
            current.hand.extensions.push(code);
        }
        let mut completion = ToolCompletion {
            parent_call_id: None,
            call_id: id,
            status,
            is_error,
            output: output(&current.line).map(own::owned_json),
            content: Vec::new(),
            locations: summary.locations.clone(),
            command: None,
            command_output: None,
            mutation: None,
        };
        summary.add_derived_fields(&mut completion);
        let facts = logged.map(LoggedAction::into_extensions);
        current.hand.extensions.extend(facts.into_iter().flatten());
        self.emit(Body::ToolCompletion(Box::new(completion)), current);
    }

    fn note_denial(&mut self, kind: ExecItemType, line: &ExecLine<'_>) {
        let (call, _) = invocation(kind, line);
        self.run.denials.add_reported(PermissionDenial {
            tool_name: call.tool_name,
            tool_use_id: Some(call.call_id),
            tool_input: Some(call.input),
            title: None,
            rule: None,
            reason: Text::from("Codex declined it: no person could be asked"),
            unattended: true,
        });
    }
}

fn said(text: Text, kind: TextKind) -> Body {
    Body::Text(TextEvent {
        text,
        kind,
        parent_call_id: None,
        model: None,
    })
}

fn is_action(kind: ExecItemType) -> bool {
    match kind {
        ExecItemType::CommandExecution
        | ExecItemType::FileChange
        | ExecItemType::McpToolCall
        | ExecItemType::WebSearch => true,
        ExecItemType::AgentMessage
        | ExecItemType::Reasoning
        | ExecItemType::TodoList
        | ExecItemType::Error => false,
    }
}

fn item_id(line: &ExecLine<'_>) -> Text {
    line.item_text("id")
        .map(own::owned_text)
        .unwrap_or_default()
}

/// An action as a call. The name is the item's type, or that of the MCP server's tool.
fn invocation(kind: ExecItemType, line: &ExecLine<'_>) -> (ToolInvocation, CallSummary) {
    let (tool_kind, fields): (_, &[&str]) = match kind {
        ExecItemType::CommandExecution => (ToolKind::Execute, &["command"]),
        ExecItemType::FileChange => (ToolKind::Edit, &["changes"]),
        ExecItemType::McpToolCall => (ToolKind::Mcp, &["server", "tool", "arguments"]),
        ExecItemType::WebSearch => (ToolKind::Browse, &["query"]),
        ExecItemType::AgentMessage
        | ExecItemType::Reasoning
        | ExecItemType::TodoList
        | ExecItemType::Error => (ToolKind::Unclassified, &[]),
    };
    let present = fields
        .iter()
        .filter_map(|key| Some((*key, line.item_field(key)?)));
    let input = Json::object(present.map(|(key, value)| (key, own::owned_json(value))));
    let name = line.item_text("tool").or_else(|| line.item_text("type"));
    let call = ToolInvocation {
        call_id: item_id(line),
        tool_name: name.map(own::owned_text).unwrap_or_default(),
        kind: tool_kind,
        parent_call_id: None,
        title: None,
        locations: changed_files(line),
        model: None,
        input,
    };
    let input = Some(call.input.token());
    let summary = CallSummary::new(&call.tool_name, &call.kind, input, &call.locations);
    (call, summary)
}

fn changed_files(line: &ExecLine<'_>) -> Vec<Text> {
    let changes = line.item_field("changes");
    let changes = changes.into_iter().flat_map(Token::elements);
    let paths = changes.filter_map(|change| change.get("path")?.if_kind(TokenKind::String));
    paths.map(own::owned_text).collect()
}

fn status(line: &ExecLine<'_>) -> ToolCallStatus {
    match line.item_text("status").and_then(Token::string).as_deref() {
        Some("completed") | None => ToolCallStatus::Completed,
        Some("failed" | "declined") => ToolCallStatus::Failed,
        Some(other) => ToolCallStatus::Other(other.to_owned()),
    }
}

/// The output of a command, the result or the error of an MCP server's tool.
fn output<'a>(line: &ExecLine<'a>) -> Option<Token<'a>> {
    let fields = ["aggregated_output", "error", "result"];
    fields.iter().find_map(|key| line.item_field(key))
}
