//! Calls of Claude Code's tools and their results.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, DiffBlock, TextBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Json, Text};
use lapidary_wire::claude::session::ClaudeBlock;
use lapidary_wire::claude::usage::ClaudeUsage;

use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::tools;

/// The tools that start a sub-agent: `Task` up to 2.0, `Agent` since.
pub(super) fn starts_subagent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

/// A call, and the facts that its completion needs.
pub(super) fn invocation(
    [id, name, input]: [Option<Token<'_>>; 3],
    model: Option<Text>,
) -> (ToolInvocation, CallSummary) {
    let plain = string_token(name)
        .and_then(Token::string)
        .unwrap_or_default();
    let input = input.and_then(|input| input.if_kind(TokenKind::Object));
    let argument = |key| string_token(input?.get(key)).map(own::owned_text);
    let file = argument("file_path").or_else(|| argument("notebook_path"));
    let call = ToolInvocation {
        call_id: string_token(id).map(own::owned_text).unwrap_or_default(),
        tool_name: string_token(name).map(own::owned_text).unwrap_or_default(),
        kind: tools::kind_of_any_agent(&plain),
        input: input.map_or_else(Json::empty_object, own::owned_json),
        parent_call_id: None,
        title: argument("description"),
        locations: file.or_else(|| argument("path")).into_iter().collect(),
        model,
    };
    let summary = CallSummary::new(&call.tool_name, &call.kind, input, &call.locations);
    (call, summary)
}

/// The end of a call. `result` is its result as the program has it.
pub(super) fn completion(
    call_id: Text,
    content: Option<Token<'_>>,
    is_error: bool,
    result: Option<Token<'_>>,
) -> ToolCompletion {
    ToolCompletion {
        parent_call_id: None,
        call_id,
        status: status(is_error, result),
        is_error,
        output: content.map(own::owned_json),
        content: texts(content).chain(result.and_then(diff)).collect(),
        locations: Vec::new(),
        command: None,
        command_output: None,
        mutation: None,
    }
}

/// The texts of a result that has blocks.
fn texts(content: Option<Token<'_>>) -> impl Iterator<Item = ContentBlock> {
    let blocks = content.and_then(|content| content.if_kind(TokenKind::Array));
    let blocks = blocks.into_iter().flat_map(Token::elements);
    blocks.filter_map(|block| match ClaudeBlock::from_token(block) {
        ClaudeBlock::Text(text) => Some(ContentBlock::Text(TextBlock {
            text: own::owned_text(text),
        })),
        _ => None,
    })
}

/// A command that the user stopped has `interrupted` in its result.
fn status(is_error: bool, result: Option<Token<'_>>) -> ToolCallStatus {
    let interrupted = result.and_then(|result| result.get("interrupted"));
    match is_error {
        _ if interrupted.and_then(Token::bool) == Some(true) => ToolCallStatus::Cancelled,
        true => ToolCallStatus::Failed,
        false => ToolCallStatus::Completed,
    }
}

/// A file's change. An edit tells the replaced text, a write the whole file.
fn diff(result: Token<'_>) -> Option<ContentBlock> {
    let text = |name| string_token(result.get(name)).map(own::owned_text);
    result.get("structuredPatch")?;
    Some(ContentBlock::Diff(DiffBlock {
        path: Some(text("filePath")?),
        old_text: text("oldString").or_else(|| text("originalFile")),
        new_text: text("newString").or_else(|| text("content")),
        unified: None,
    }))
}

/// The usage of a response under the names of `usage_update`. Anthropic counts tokens written to and read from the cache apart
/// from `input_tokens`; here the input is always the whole prompt.
pub(super) fn step_usage(usage: Token<'_>) -> Option<Json> {
    let used = ClaudeUsage::from_token(usage)?;
    let prompt = used.prompt();
    let counts = [
        ("input_tokens", prompt),
        ("output_tokens", used.output),
        ("cache_read_input_tokens", used.cache_read),
        ("cache_creation_input_tokens", used.cache_written),
        ("total_tokens", prompt.saturating_add(used.output)),
    ];
    let counts = counts.map(|(name, count)| (name, Json::from_value(&count)));
    Some(Json::object(counts))
}
