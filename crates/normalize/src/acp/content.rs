//! Content blocks: the protocol's → ours.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::{
    AudioBlock, ContentBlock, DiffBlock, ImageBlock, ResourceBlock, ResourceLinkBlock,
    TerminalBlock, TextBlock,
};
use lapidary_vocab::{Json, Text};

use super::line::AcpLine;
use crate::own;

/// The text of a text block, or of a block that is just a string.
pub(super) fn block_text(block: Token<'_>) -> Option<Token<'_>> {
    if block.kind() == TokenKind::String {
        return Some(block);
    }
    let kind = block.get("type");
    let is_text = kind.is_none_or(|kind| kind.is("text"));
    own::string_token(block.get("text")).filter(|_| is_text)
}

/// The texts among blocks, one after the other on lines of their own.
pub(super) fn joined_text(blocks: &[Token<'_>], current: &AcpLine<'_>) -> Text {
    let texts: Vec<_> = blocks
        .iter()
        .filter_map(|block| block_text(*block))
        .collect();
    match texts.as_slice() {
        [] => Text::default(),
        [single] => current.shared_text(*single),
        several => {
            let mut parts = Vec::new();
            for (index, token) in several.iter().enumerate() {
                if index > 0 {
                    parts.push(Text::from("\n"));
                }
                parts.push(current.shared_text(*token));
            }
            Text::concat(&parts)
        }
    }
}

/// A picture as `mediaType` and `data`.
pub(super) fn image_block(block: Token<'_>) -> Option<Json> {
    block.get("type").filter(|kind| kind.is("image"))?;
    let members = [
        ("mediaType", block.get("mimeType")),
        ("data", block.get("data")),
    ];
    let present = members.into_iter();
    Some(Json::object(present.filter_map(|(key, value)| {
        Some((key, own::owned_json(value?)))
    })))
}

/// An item of a tool's content: a wrapped block, a diff or a terminal.
pub(super) fn content_block(item: Token<'_>, current: &AcpLine<'_>) -> ContentBlock {
    let of = |token: Token<'_>, name: &str| {
        own::string_token(token.get(name)).map(|it| current.shared_text(it))
    };
    let wrapped = item.get("content").filter(|_| is(item, "content"));
    let inner = wrapped.unwrap_or(item);
    let field = |name| of(inner, name);
    match inner.get("type").and_then(Token::string).as_deref() {
        Some("text") => block_text(inner)
            .map(|it| current.shared_text(it))
            .map(|text| ContentBlock::Text(TextBlock { text })),
        Some("image") => Some(ContentBlock::Image(ImageBlock {
            source: None,
            data: field("data"),
            mime_type: field("mimeType"),
            uri: field("uri"),
        })),
        Some("audio") => Some(ContentBlock::Audio(AudioBlock {
            data: field("data"),
            mime_type: field("mimeType"),
            uri: field("uri"),
        })),
        Some("resource") => inner.get("resource").map(|resource| {
            ContentBlock::Resource(ResourceBlock {
                resource: Some(current.shared_json(resource)),
                ..ResourceBlock::default()
            })
        }),
        Some("resource_link") => field("uri").map(|uri| {
            ContentBlock::ResourceLink(ResourceLinkBlock {
                uri,
                name: field("name"),
                mime_type: field("mimeType"),
            })
        }),
        Some("diff") => Some(ContentBlock::Diff(DiffBlock {
            path: field("path"),
            old_text: field("oldText"),
            new_text: field("newText"),
            unified: None,
        })),
        Some("terminal") => Some(ContentBlock::Terminal(TerminalBlock {
            terminal_id: field("terminalId"),
            ..TerminalBlock::default()
        })),
        _ => None,
    }
    .unwrap_or_else(|| ContentBlock::Unknown(current.shared_json(item)))
}

/// True for content that the specification keeps as it is: diffs and terminals.
pub(super) fn is_special(item: Token<'_>) -> bool {
    is(item, "diff") || is(item, "terminal")
}

fn is(item: Token<'_>, kind: &str) -> bool {
    item.get("type").is_some_and(|it| it.is(kind))
}
