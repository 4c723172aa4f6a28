//! Calls of opencode's tools, their results, and tokens.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, DiffBlock, ImageBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Json, Text};
use lapidary_wire::opencode::OpencodeRow;

use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::tools;

/// A call, and the facts that its completion needs.
pub(super) fn invocation(
    part: &OpencodeRow<'_>,
    model: Option<Text>,
) -> (ToolInvocation, CallSummary) {
    let state = part.get("state");
    let name = part.string("tool");
    let plain = name.and_then(Token::string).unwrap_or_default();
    let input = state.and_then(|state| state.get("input"));
    let input = input.and_then(|input| input.if_kind(TokenKind::Object));
    let argument = |key| string_token(input?.get(key)).map(own::owned_text);
    let title = state.and_then(|state| string_token(state.get("title")));
    let file = argument("filePath").or_else(|| argument("path"));
    let call = ToolInvocation {
        call_id: part
            .string("callID")
            .map(own::owned_text)
            .unwrap_or_default(),
        tool_name: name.map(own::owned_text).unwrap_or_default(),
        kind: tools::kind_of_any_agent(&plain),
        input: input.map_or_else(Json::empty_object, own::owned_json),
        parent_call_id: None,
        title: title
            .map(own::owned_text)
            .or_else(|| argument("description")),
        locations: file.into_iter().collect(),
        model,
    };
    let summary = CallSummary::new(&call.tool_name, &call.kind, input, &call.locations);
    (call, summary)
}

/// The end of a call, if it has ended: a session that was interrupted has calls that run forever.
pub(super) fn completion(part: &OpencodeRow<'_>, summary: CallSummary) -> Option<ToolCompletion> {
    let state = part.get("state")?;
    let status = string_token(state.get("status")).and_then(Token::string);
    let status = match status.as_deref() {
        Some("completed") => ToolCallStatus::Completed,
        Some("error") => ToolCallStatus::Failed,
        Some("pending" | "running") | None => return None,
        Some(other) => ToolCallStatus::Other(other.to_owned()),
    };
    let output = state.get("output").or_else(|| state.get("error"));
    let mut completion = ToolCompletion {
        parent_call_id: None,
        call_id: part
            .string("callID")
            .map(own::owned_text)
            .unwrap_or_default(),
        is_error: status == ToolCallStatus::Failed,
        status,
        output: output.map(own::owned_json),
        content: diff(state).into_iter().chain(images(state)).collect(),
        locations: summary.locations.clone(),
        command: None,
        command_output: None,
        mutation: None,
    };
    summary.add_derived_fields(&mut completion);
    Some(completion)
}

/// The change of a file.
fn diff(state: Token<'_>) -> Option<ContentBlock> {
    let about = state.get("metadata")?;
    let unified = string_token(about.get("diff"))?;
    let path = state.get("input").and_then(|input| input.get("filePath"));
    Some(ContentBlock::Diff(DiffBlock {
        path: string_token(path).map(own::owned_text),
        old_text: None,
        new_text: None,
        unified: Some(own::owned_text(unified)),
    }))
}

/// Pictures that a tool has read.
fn images(state: Token<'_>) -> impl Iterator<Item = ContentBlock> {
    let files = state.get("attachments").into_iter();
    let files = files.flat_map(Token::elements);
    files.filter_map(|file| {
        let (media_type, data) = picture(string_token(file.get("url"))?)?;
        Some(ContentBlock::Image(ImageBlock {
            data: Some(data.into()),
            mime_type: Some(media_type.into()),
            ..ImageBlock::default()
        }))
    })
}

/// The media type and the Base64 of a `data:` address.
pub(super) fn picture(address: Token<'_>) -> Option<(String, String)> {
    let address = address.string()?;
    let (about, data) = address.strip_prefix("data:")?.split_once(',')?;
    let media_type = about.strip_suffix(";base64")?;
    Some((media_type.to_owned(), data.to_owned()))
}

/// The tokens of a response under the names of `usage_update`. opencode counts cache reads, cache writes and reasoning apart; in
/// our events the input is the whole prompt, and the output includes the reasoning.
pub(super) fn step_usage(tokens: Token<'_>) -> Option<Json> {
    let count = |token: Option<Token<'_>>| token.and_then(Token::u64);
    let (input, output) = (count(tokens.get("input"))?, count(tokens.get("output"))?);
    let cache = |key| count(tokens.get("cache").and_then(|cache| cache.get(key)));
    let read = cache("read").unwrap_or_default();
    let written = cache("write").unwrap_or_default();
    let reasoning = count(tokens.get("reasoning")).unwrap_or_default();
    let prompt = input.saturating_add(read).saturating_add(written);
    let output = output.saturating_add(reasoning);
    if prompt == 0 && output == 0 {
        return None;
    }
    let counts = [
        ("input_tokens", prompt),
        ("output_tokens", output),
        ("cache_read_input_tokens", read),
        ("cache_creation_input_tokens", written),
        ("reasoning_output_tokens", reasoning),
        ("total_tokens", prompt.saturating_add(output)),
    ];
    let counts = counts.map(|(name, count)| (name, Json::from_value(&count)));
    Some(Json::object(counts))
}
