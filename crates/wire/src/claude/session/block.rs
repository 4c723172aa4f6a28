//! The blocks of a message's content.

use lapidary_json::{Token, TokenKind};

/// One block of a message's content.
#[derive(Debug, Clone, Copy)]
pub enum ClaudeBlock<'a> {
    /// Text.
    Text(Token<'a>),
    /// Reasoning.
    Thinking {
        /// The thought.
        text: Token<'a>,
        /// The API's signature over it.
        signature: Option<Token<'a>>,
    },
    /// A call of a tool.
    ToolUse {
        /// The call's id.
        id: Option<Token<'a>>,
        /// The tool.
        name: Option<Token<'a>>,
        /// Its arguments.
        input: Option<Token<'a>>,
    },
    /// The answer to a call, in a `user` record.
    ToolResult {
        /// The call's id.
        tool_use_id: Option<Token<'a>>,
        /// Text, or blocks of text and images.
        content: Option<Token<'a>>,
        /// Whether it went wrong.
        is_error: bool,
    },
    /// A picture.
    Image {
        /// Its type, such as `image/png`.
        media_type: Token<'a>,
        /// Its bytes in Base64.
        data: Token<'a>,
    },
    /// A block of another type, or without the fields of its type.
    Other(Token<'a>),
}

/// The blocks of a content. A text alone is one block.
pub fn blocks(content: Token<'_>) -> Vec<ClaudeBlock<'_>> {
    match content.kind() {
        TokenKind::String => vec![ClaudeBlock::Text(content)],
        TokenKind::Array => content.elements().map(ClaudeBlock::from_token).collect(),
        _ => vec![ClaudeBlock::Other(content)],
    }
}

impl<'a> ClaudeBlock<'a> {
    /// Reads one block.
    pub fn from_token(block: Token<'a>) -> Self {
        let string = |key| block.get(key).and_then(|it| it.if_kind(TokenKind::String));
        let kind = string("type").and_then(Token::string);
        let read = match kind.as_deref() {
            Some("text") => string("text").map(Self::Text),
            Some("thinking") => string("thinking").map(|text| Self::Thinking {
                text,
                signature: string("signature"),
            }),
            Some("tool_use") => Some(Self::ToolUse {
                id: string("id"),
                name: string("name"),
                input: block.get("input"),
            }),
            Some("tool_result") => Some(Self::ToolResult {
                tool_use_id: string("tool_use_id"),
                content: block.get("content").and_then(Token::non_null),
                is_error: block.get("is_error").and_then(Token::bool) == Some(true),
            }),
            Some("image") => image(block),
            _ => None,
        };
        read.unwrap_or(Self::Other(block))
    }
}

fn image(block: Token<'_>) -> Option<ClaudeBlock<'_>> {
    let source = block.get("source")?;
    let string = |key| source.get(key)?.if_kind(TokenKind::String);
    Some(ClaudeBlock::Image {
        media_type: string("media_type")?,
        data: string("data")?,
    })
}
