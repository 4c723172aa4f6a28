//! A session file → messages: the mapping of `specs/0`.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Text;
use lapidary_vocab::content::{TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock};
use lapidary_vocab::message::{
    Content, ImageSource, Message, MessageBlock, MessageImage, MessageUsage, Role,
};
use lapidary_wire::gemini::session::{
    MessagePart, MessageRecord, ModelThought, ReplayedLog, SessionToolCall, ToolCallResult,
};

use super::turn::optional_number;
use crate::own::{owned_json, owned_text, string_token};
use crate::{time, tools};

/// The messages of a session, one for each record of its final state.
pub fn messages<'a>(log: &'a ReplayedLog<'a>) -> impl Iterator<Item = Message> + 'a {
    log.messages().map(message)
}

/// One record as a message.
pub fn message(record: Token<'_>) -> Message {
    let read = MessageRecord::from_token(record);
    let role = if read.kind.is_some_and(|kind| kind.is("user")) {
        Role::User
    } else {
        Role::Assistant
    };
    Message {
        id: string_token(read.id).map(owned_text).unwrap_or_default(),
        role,
        content: message_content(&read),
        timestamp: string_token(read.timestamp)
            .and_then(Token::string)
            .and_then(|time| time::epoch_ms(&time)),
        tool: "gemini".into(),
        model: string_token(read.model).map(owned_text),
        usage: read
            .tokens
            .and_then(|tokens| tokens.if_kind(TokenKind::Object))
            .map(message_usage),
        original: owned_json(record),
    }
}

/// Thinking, then each call with its result, then text. Without any block, the text as it stands.
fn message_content(message: &MessageRecord<'_>) -> Content {
    let parts = message.parts();
    let mut blocks = Vec::new();
    let thoughts: Vec<_> = message.thoughts().collect();
    blocks.extend(thoughts.iter().map(thought_text).map(thinking_block));
    if thoughts.is_empty() {
        blocks.extend(parts.iter().filter_map(|part| match part {
            MessagePart::Thought(thought) => Some(thinking_block(owned_text(*thought))),
            _ => None,
        }));
    }
    for call in message.tool_calls() {
        blocks.extend(call_blocks(&call));
    }
    let said = content_text(&parts);
    if !said.to_str().trim().is_empty() {
        blocks.push(MessageBlock::Text(TextBlock { text: said.clone() }));
    }
    blocks.extend(parts.iter().filter_map(image_block));
    if blocks.is_empty() {
        Content::Plain(said)
    } else {
        Content::Blocks(blocks)
    }
}

/// All text of a content, its parts joined as they stand.
pub(crate) fn content_text(parts: &[MessagePart<'_>]) -> Text {
    let texts: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text(token) => Some(owned_text(*token)),
            _ => None,
        })
        .collect();
    if texts.is_empty() {
        Text::default()
    } else {
        Text::concat(&texts)
    }
}

/// A thought in one line: its subject, then its description.
pub(crate) fn thought_text(thought: &ModelThought<'_>) -> Text {
    match (
        string_token(thought.subject).map(owned_text),
        string_token(thought.description).map(owned_text),
    ) {
        (Some(subject), Some(description)) => {
            Text::concat(&[subject, Text::from(": "), description])
        }
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => Text::default(),
    }
}

/// True if a call went wrong: by its status, or because its response is an error. A cancelled call is one.
pub(crate) fn is_error(call: &SessionToolCall<'_>, result: Option<&ToolCallResult<'_>>) -> bool {
    let status = call.status.and_then(Token::string);
    matches!(status.as_deref(), Some("error" | "cancelled"))
        || matches!(result, Some(ToolCallResult::Error(_)))
        || has_error(call)
}

/// The response names an error even though it has an output, which is what counts as its content.
fn has_error(call: &SessionToolCall<'_>) -> bool {
    let first = call.result.and_then(|result| match result.kind() {
        TokenKind::Array => result.elements().next(),
        _ => Some(result),
    });
    let response = first
        .and_then(|part| part.get("functionResponse"))
        .and_then(|part| part.get("response"));
    let error = response.and_then(|response| response.get("error"));
    error.is_some_and(lapidary_json::Token::is_truthy)
}

fn call_blocks(call: &SessionToolCall<'_>) -> Vec<MessageBlock> {
    let id = string_token(call.id).map(owned_text).unwrap_or_default();
    let mut blocks = vec![MessageBlock::ToolUse(tool_use(
        id.clone(),
        call.name,
        call.args,
    ))];
    if let Some(result) = call.result() {
        blocks.push(MessageBlock::ToolResult(ToolResultBlock {
            tool_use_id: id,
            content: Some(owned_json(result.token())),
            is_error: Some(is_error(call, Some(&result))),
        }));
    }
    blocks
}

fn tool_use(id: Text, name: Option<Token<'_>>, args: Option<Token<'_>>) -> ToolUseBlock {
    let plain = name.and_then(Token::string).unwrap_or_default();
    ToolUseBlock {
        id,
        name: string_token(name)
            .map(tools::claude_name)
            .unwrap_or_default(),
        input: tools::claude_input(&plain, args),
    }
}

pub(crate) fn is_image(mime_type: Token<'_>) -> bool {
    mime_type
        .string()
        .is_some_and(|name| name.starts_with("image/"))
}

fn image_block(part: &MessagePart<'_>) -> Option<MessageBlock> {
    let MessagePart::InlineData { mime_type, data } = part else {
        return None;
    };
    if !is_image(*mime_type) {
        return None;
    }
    Some(MessageBlock::Image(MessageImage {
        source: ImageSource {
            r#type: "base64".into(),
            media_type: owned_text(*mime_type),
            data: owned_text(data.if_kind(TokenKind::String)?),
        },
    }))
}

fn message_usage(tokens: Token<'_>) -> MessageUsage {
    MessageUsage {
        input_tokens: optional_number(tokens.get("input")),
        output_tokens: optional_number(tokens.get("output")),
        total_tokens: optional_number(tokens.get("total")),
        cache_read_input_tokens: optional_number(tokens.get("cached")),
    }
}

fn thinking_block(thinking: Text) -> MessageBlock {
    MessageBlock::Thinking(ThinkingBlock {
        thinking,
        signature: None,
    })
}
