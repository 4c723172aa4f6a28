//! Calls of Codex CLI's tools, their results, and tokens.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Json, Text};
use lapidary_wire::codex::rollout::RolloutRecord;

use crate::completions::CallSummary;
use crate::own;
use crate::tools;

/// The lines of a patch that name a file.
const PATCHED: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];

/// The end of a command, from the item of its own.
#[derive(Debug)]
pub(super) struct EndedCommand {
    pub(super) exit_code: i64,
    /// All that it printed. The result is shortened for the model.
    pub(super) output: Option<Text>,
}

/// A call, and the facts that its completion needs.
pub(super) fn invocation(
    record: &RolloutRecord<'_>,
    model: Option<Text>,
) -> (ToolInvocation, CallSummary) {
    let name = record.string("name");
    let plain = name.and_then(Token::string).unwrap_or_default();
    let arguments = record.string("arguments").and_then(Token::string);
    let object = arguments
        .as_deref()
        .and_then(|text| Token::parse(text).ok());
    let object = object.and_then(|object| object.if_kind(TokenKind::Object));
    let text = record.string("input").or(record.string("arguments"));
    let patch = record.string("input").and_then(Token::string);
    let call = ToolInvocation {
        call_id: record
            .string("call_id")
            .map(own::owned_text)
            .unwrap_or_default(),
        tool_name: name.map(own::owned_text).unwrap_or_default(),
        kind: tools::kind_of_any_agent(&plain),
        input: match (object, text) {
            (Some(object), _) => own::owned_json(object),
            // Text that is no object, such as a patch.
            (None, Some(text)) => Json::object([("input", own::owned_json(text))]),
            (None, None) => Json::empty_object(),
        },
        parent_call_id: None,
        title: None,
        locations: patch.map(|patch| patched(&patch)).unwrap_or_default(),
        model,
    };
    let mut summary = CallSummary::new(&call.tool_name, &call.kind, object, &call.locations);
    let command = object.and_then(|object| object.get("cmd"));
    let command = own::string_token(command).map(own::owned_text);
    summary.command = summary.command.or(command);
    (call, summary)
}

/// The files of a patch.
fn patched(patch: &str) -> Vec<Text> {
    let name = |line: &str| {
        PATCHED
            .iter()
            .find_map(|start| line.strip_prefix(start).map(str::to_owned))
    };
    patch.lines().filter_map(name).map(Text::from).collect()
}

/// The end of a call. Only commands tell how they ended: by an item of their own since 0.166, by the output's own JSON before.
pub(super) fn completion(
    record: &RolloutRecord<'_>,
    ended: Option<EndedCommand>,
) -> ToolCompletion {
    let output = record.get("output");
    let (is_failed, printed) = match ended {
        Some(ended) => (ended.exit_code != 0, ended.output),
        None => (false, None),
    };
    let is_error = is_failed || record.has_failed();
    ToolCompletion {
        parent_call_id: None,
        call_id: record
            .string("call_id")
            .map(own::owned_text)
            .unwrap_or_default(),
        status: if is_error {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        },
        is_error,
        output: output.map(own::owned_json),
        content: Vec::new(),
        locations: Vec::new(),
        command: None,
        command_output: printed.or_else(|| printed_output(output?)),
        mutation: None,
    }
}

/// The output of a command without the lines that Codex puts before it for the model.
fn printed_output(output: Token<'_>) -> Option<Text> {
    let text = output.string()?;
    if let Ok(document) = Token::parse(&text) {
        document.get("metadata")?;
        return own::string_token(document.get("output")).map(own::owned_text);
    }
    let (about, printed) = text.split_once("\nOutput:\n")?;
    let has_header = about.starts_with("Chunk ID: ") || about.starts_with("Exit code: ");
    has_header.then(|| Text::from(printed.to_owned()))
}

/// A whole number, which may be negative: of a command that a signal ended.
pub(super) fn whole(number: Token<'_>) -> Option<i64> {
    number.if_kind(TokenKind::Number)?.as_str().parse().ok()
}

/// The tokens of a response under the names of `usage_update`. Reasoning is part of the output.
pub(super) fn step_usage(usage: Token<'_>) -> Option<Json> {
    usage.get("input_tokens")?;
    let names = [
        ("input_tokens", "input_tokens"),
        ("output_tokens", "output_tokens"),
        ("cached_input_tokens", "cache_read_input_tokens"),
        ("cache_write_input_tokens", "cache_creation_input_tokens"),
        ("reasoning_output_tokens", "reasoning_output_tokens"),
        ("total_tokens", "total_tokens"),
    ];
    let counts = names
        .iter()
        .filter_map(|(theirs, ours)| Some((*ours, own::owned_json(usage.get(theirs)?))));
    Some(Json::object(counts))
}
