//! A tool call, or as much of it as an update brings.

use lapidary_json::{Token, TokenKind};

/// A tool call. An update leaves absent fields as they were; `content` and `locations` are replaced.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct AcpToolCall<'a> {
    pub tool_call_id: Option<Token<'a>>,
    /// For people.
    pub title: Option<Token<'a>>,
    /// The tool's name for programs. Many agents send none.
    pub name: Option<Token<'a>>,
    /// One of ten words.
    pub kind: Option<Token<'a>>,
    /// `pending`, `in_progress`, `completed` or `failed`.
    pub status: Option<Token<'a>>,
    /// A list of blocks; one block in `specs/2`.
    pub content: Option<Token<'a>>,
    /// A list of `path` and `line`; of strings in `specs/2`.
    pub locations: Option<Token<'a>>,
    pub raw_input: Option<Token<'a>>,
    pub raw_output: Option<Token<'a>>,
    pub meta: Option<Token<'a>>,
    /// True if it stood under `toolCall`, which only a permission request has in the schema.
    pub is_nested: bool,
}

impl<'a> AcpToolCall<'a> {
    /// Reads the call of an update or of a permission request: nested under `toolCall`, or flat.
    pub fn from_token(object: Token<'a>) -> Self {
        let nested = object
            .get("toolCall")
            .and_then(|call| call.if_kind(TokenKind::Object));
        Self {
            is_nested: nested.is_some(),
            ..Self::flat(nested.unwrap_or(object))
        }
    }

    fn flat(call: Token<'a>) -> Self {
        let mut read = Self {
            tool_call_id: None,
            title: None,
            name: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
            meta: None,
            is_nested: false,
        };
        for (key, value) in call.members() {
            let field = match key.string().as_deref() {
                Some("toolCallId") => &mut read.tool_call_id,
                Some("title") => &mut read.title,
                Some("name") => &mut read.name,
                Some("kind") => &mut read.kind,
                Some("status") => &mut read.status,
                Some("content") => &mut read.content,
                Some("locations") => &mut read.locations,
                Some("rawInput") => &mut read.raw_input,
                Some("rawOutput") => &mut read.raw_output,
                Some("_meta") => &mut read.meta,
                _ => continue,
            };
            *field = value.non_null();
        }
        read
    }
}

/// A value that should be a list: its elements, or itself if it stands alone.
pub fn listed(token: Option<Token<'_>>) -> Vec<Token<'_>> {
    match token.and_then(Token::non_null) {
        Some(list) if list.kind() == TokenKind::Array => list.elements().collect(),
        Some(single) => vec![single],
        None => Vec::new(),
    }
}
