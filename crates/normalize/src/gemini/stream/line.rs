//! A line of the agent's, while it is being translated.

use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Json, Text};

use crate::raw::RawContent;

/// A line under translation, with the parts that are still to be emitted.
pub(super) struct CurrentLine<'l> {
    /// Its text, which tokens point into.
    pub(super) text: &'l Arc<str>,
    /// The content of the first event's `raw`.
    pub(super) raw: Option<RawContent>,
    /// Members of the line that become extensions of its first event.
    pub(super) extensions: Vec<(String, Json)>,
    /// Problems of a line that could be translated all the same.
    pub(super) complaints: Vec<(DiagnosticKind, String)>,
}

/// Why a line of a known type cannot be translated.
pub(super) struct LineFlaw {
    pub(super) field: &'static str,
    pub(super) found: Option<TokenKind>,
}

impl<'l> CurrentLine<'l> {
    pub(super) fn new(text: &'l Arc<str>) -> Self {
        Self {
            text,
            raw: None,
            extensions: Vec::new(),
            complaints: Vec::new(),
        }
    }

    pub(super) fn shared_text(&self, token: Token<'_>) -> Text {
        Text::from_token(SharedToken::new(self.text, token))
    }

    pub(super) fn shared_json(&self, token: Token<'_>) -> Json {
        Json::from(SharedToken::new(self.text, token))
    }

    /// A required text. A line without it cannot be translated.
    pub(super) fn required_text(
        &self,
        field: &'static str,
        token: Option<Token<'_>>,
    ) -> Result<Text, LineFlaw> {
        match token {
            Some(token) if token.kind() == TokenKind::String => Ok(self.shared_text(token)),
            other => Err(LineFlaw {
                field,
                found: other.map(Token::kind),
            }),
        }
    }

    /// An optional value of one kind; of any other kind it is kept as an extension and complained about.
    pub(super) fn optional_value<'a>(
        &mut self,
        field: &str,
        token: Option<Token<'a>>,
        kind: TokenKind,
    ) -> Option<Token<'a>> {
        let token = token?.non_null()?;
        if token.kind() == kind {
            return Some(token);
        }
        self.add_extension(field, token);
        let found = token.kind().described();
        self.add_complaint(
            DiagnosticKind::InvalidField,
            format!("`{field}` is {found}, not {}", kind.described()),
        );
        None
    }

    pub(super) fn add_extension(&mut self, field: &str, token: Token<'_>) {
        let value = self.shared_json(token);
        self.extensions.push((format!("gemini.{field}"), value));
    }

    pub(super) fn add_complaint(&mut self, kind: DiagnosticKind, message: String) {
        self.complaints.push((kind, message));
    }
}
