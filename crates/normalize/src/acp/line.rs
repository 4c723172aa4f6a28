//! A line of a connection, while it is being translated.

use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Json, Text};

use crate::raw::RawContent;

/// What only one event of a line carries in its extensions.
pub(super) type LineExtras = Vec<(&'static str, Json)>;

/// Names the fields of an event that are inferred, and not the agent's own.
pub(super) fn derived_mark(fields: &[&str]) -> (&'static str, Json) {
    ("lapidary.derived", Json::from_value(&fields))
}

/// A line under translation, with the parts that are still to be emitted.
pub(super) struct AcpLine<'l> {
    /// Its text, which tokens point into.
    pub(super) text: &'l Arc<str>,
    /// The content of the first event's `raw`.
    pub(super) raw: Option<RawContent>,
    /// Tags for all events of the line.
    pub(super) tags: Vec<&'static str>,
    /// The call of the main agent in which a sub-agent says it.
    pub(super) parent: Option<Text>,
    /// The problems of the line.
    pub(super) complaints: Vec<(DiagnosticKind, String)>,
    /// A description of the line, in case it yields no event.
    pub(super) about: String,
    /// True once an event carries it.
    pub(super) has_event: bool,
}

impl<'l> AcpLine<'l> {
    pub(super) fn new(text: &'l Arc<str>) -> Self {
        Self {
            text,
            raw: None,
            tags: Vec::new(),
            parent: None,
            complaints: Vec::new(),
            about: String::new(),
            has_event: false,
        }
    }

    pub(super) fn shared_text(&self, token: Token<'_>) -> Text {
        Text::from_token(SharedToken::new(self.text, token))
    }

    pub(super) fn shared_json(&self, token: Token<'_>) -> Json {
        Json::from(SharedToken::new(self.text, token))
    }

    /// The elements of a list, each as it stands. A value that is no list has none.
    pub(super) fn list_elements(&self, token: Option<Token<'_>>) -> Vec<Json> {
        let list = token.and_then(|token| token.if_kind(TokenKind::Array));
        let elements = list.into_iter().flat_map(Token::elements);
        elements.map(|element| self.shared_json(element)).collect()
    }

    pub(super) fn add_complaint(&mut self, kind: DiagnosticKind, message: String) {
        self.complaints.push((kind, message));
    }

    /// A field that must be there is not, or is of another type.
    pub(super) fn complain_of_missing(&mut self, place: &str, found: Option<Token<'_>>) {
        let message = match found {
            Some(token) => format!("`{place}` is {}", token.kind().described()),
            None => format!("`{place}` is missing"),
        };
        self.add_complaint(DiagnosticKind::InvalidField, message);
    }
}
