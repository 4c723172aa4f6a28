//! Calls of Qwen Code's tools, their results, and tokens.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, DiffBlock, ImageBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Json, Text};

use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::tools;

/// The tools that start a sub-agent: `task` in 0.5, `agent` in 0.24.
pub(super) fn starts_subagent(tool: &str) -> bool {
    matches!(tool, "agent" | "task")
}

/// A call, and the facts that its completion needs.
pub(super) fn invocation(call: Token<'_>, model: Option<Text>) -> (ToolInvocation, CallSummary) {
    let name = string_token(call.get("name"));
    let plain = name.and_then(Token::string).unwrap_or_default();
    let args = call
        .get("args")
        .and_then(|it| it.if_kind(TokenKind::Object));
    let argument = |key| string_token(args?.get(key)).map(own::owned_text);
    let file = argument("file_path").or_else(|| argument("absolute_path"));
    let invocation = ToolInvocation {
        call_id: text(call.get("id")),
        tool_name: text(name),
        kind: tools::kind_of_any_agent(&plain),
        input: args.map_or_else(Json::empty_object, own::owned_json),
        parent_call_id: None,
        title: argument("description"),
        locations: file.or_else(|| argument("path")).into_iter().collect(),
        model,
    };
    let (tool, kind) = (&invocation.tool_name, &invocation.kind);
    let summary = CallSummary::new(tool, kind, args, &invocation.locations);
    (invocation, summary)
}

/// The end of a call: its response as the model sees it, and the result as the program has it.
pub(super) fn completion(response: Token<'_>, result: Option<Token<'_>>) -> ToolCompletion {
    let content = response.get("response");
    let output = content.and_then(|it| it.get("output").or_else(|| it.get("error")));
    let has_error = content.is_some_and(|it| it.get("error").is_some());
    let status = result.and_then(|result| string_token(result.get("status")));
    let status = match status.and_then(Token::string).as_deref() {
        Some("success") => ToolCallStatus::Completed,
        Some("error") => ToolCallStatus::Failed,
        Some("cancelled") => ToolCallStatus::Cancelled,
        Some(other) => ToolCallStatus::Other(other.to_owned()),
        None if has_error => ToolCallStatus::Failed,
        None => ToolCallStatus::Completed,
    };
    let display = result.and_then(|result| result.get("resultDisplay"));
    ToolCompletion {
        parent_call_id: None,
        call_id: text(response.get("id")),
        is_error: has_error || status == ToolCallStatus::Failed,
        status,
        output: output.or(content).map(own::owned_json),
        content: display
            .and_then(diff)
            .into_iter()
            .chain(images(response))
            .collect(),
        locations: Vec::new(),
        command: None,
        command_output: output.and_then(|output| printed_output(output, display)),
        mutation: None,
    }
}

/// The output of a command as Qwen Code shows it, without the lines that it puts around it for the model.
fn printed_output(output: Token<'_>, display: Option<Token<'_>>) -> Option<Text> {
    let text = output.string()?;
    let (about, rest) = text.split_once("\nOutput: ")?;
    let (printed, _) = rest.rsplit_once("\nError: ")?;
    if !about.starts_with("Command: ") || !about.contains("\nDirectory: ") {
        return None;
    }
    let shown = string_token(display).and_then(Token::string);
    match shown.filter(|shown| *shown != text) {
        Some(shown) => Some(Text::from(shown.into_owned())),
        None if printed == "(empty)" => Some(Text::default()),
        None => Some(Text::from(printed.to_owned())),
    }
}

/// The change of a file.
fn diff(display: Token<'_>) -> Option<ContentBlock> {
    let text = |name| string_token(display.get(name)).map(own::owned_text);
    Some(ContentBlock::Diff(DiffBlock {
        unified: Some(text("fileDiff")?),
        path: text("filePath").or_else(|| text("fileName")),
        old_text: text("originalContent"),
        new_text: text("newContent"),
    }))
}

/// Pictures that a tool has read.
fn images(response: Token<'_>) -> impl Iterator<Item = ContentBlock> {
    let parts = response.get("parts").into_iter().flat_map(Token::elements);
    parts.filter_map(|part| {
        let data = part.get("inlineData")?;
        let field = |name| string_token(data.get(name)).map(own::owned_text);
        Some(ContentBlock::Image(ImageBlock {
            data: Some(field("data")?),
            mime_type: field("mimeType"),
            ..ImageBlock::default()
        }))
    })
}

/// The tokens of a response under the names of `usage_update`. Thoughts are part of the output: the API is `OpenAI`'s.
pub(super) fn step_usage(usage: Token<'_>) -> Option<Json> {
    usage.get("promptTokenCount")?;
    let names = [
        ("promptTokenCount", "input_tokens"),
        ("candidatesTokenCount", "output_tokens"),
        ("cachedContentTokenCount", "cache_read_input_tokens"),
        ("thoughtsTokenCount", "reasoning_output_tokens"),
        ("totalTokenCount", "total_tokens"),
    ];
    let counts = names
        .iter()
        .filter_map(|(theirs, ours)| Some((*ours, own::owned_json(usage.get(theirs)?))));
    Some(Json::object(counts))
}

fn text(token: Option<Token<'_>>) -> Text {
    string_token(token).map(own::owned_text).unwrap_or_default()
}
