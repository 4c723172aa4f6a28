//! `gemini -o json`: one document at the end.
//!
//! On success it stands on stdout. On failure stdout is empty and the document stands on *stderr*, amid warnings and stack
//! traces, and mostly twice: plain, then again behind `[ERROR] ` (0.24 and 0.61). So documents are looked for in any text.

use std::collections::HashSet;

use lapidary_json::{Token, TokenKind, scan_prefix};

/// A document.
#[derive(Debug, Clone)]
pub struct OutputDocument<'a> {
    /// The whole of it.
    pub token: Token<'a>,
    /// The session's id.
    pub session_id: Option<Token<'a>>,
    /// The answer. Absent on failure.
    pub response: Option<Token<'a>>,
    /// Statistics: `models`, `tools`, `files`.
    pub stats: Option<Token<'a>>,
    /// `type`, `message` and sometimes `code`.
    pub error: Option<Token<'a>>,
    /// Warnings.
    pub warnings: Option<Token<'a>>,
    /// Fields that a document does not have.
    pub unknown_fields: Vec<(Token<'a>, Token<'a>)>,
}

impl<'a> OutputDocument<'a> {
    /// Reads a document; `None` if the token is no object of that form.
    pub fn from_token(token: Token<'a>) -> Option<Self> {
        let mut document = Self {
            token,
            session_id: None,
            response: None,
            stats: None,
            error: None,
            warnings: None,
            unknown_fields: Vec::new(),
        };
        for (key, value) in token.if_kind(TokenKind::Object)?.members() {
            let field = match key.string().as_deref() {
                Some("session_id") => &mut document.session_id,
                Some("response") => &mut document.response,
                Some("stats") => &mut document.stats,
                Some("error") => &mut document.error,
                Some("warnings") => &mut document.warnings,
                // A typed object is a line of stream-json.
                Some("type") => return None,
                _ => {
                    document.unknown_fields.push((key, value));
                    continue;
                }
            };
            *field = Some(value);
        }
        let says_something = document.response.is_some()
            || document.stats.is_some()
            || document
                .error
                .is_some_and(|error| error.kind() == TokenKind::Object);
        says_something.then_some(document)
    }
}

/// The tokens of one model's statistics.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub struct ModelTokens<'a> {
    /// The prompt, cached tokens included.
    pub prompt: Option<Token<'a>>,
    /// The answer, without thoughts.
    pub candidates: Option<Token<'a>>,
    pub cached: Option<Token<'a>>,
    pub total: Option<Token<'a>>,
    /// How long the API took for this model.
    pub latency_ms: Option<Token<'a>>,
}

impl<'a> ModelTokens<'a> {
    /// Reads one entry of `stats.models`.
    pub fn from_token(model: Token<'a>) -> Self {
        let tokens = model.get("tokens");
        let count = |name| tokens.and_then(|tokens| tokens.get(name));
        Self {
            prompt: count("prompt"),
            candidates: count("candidates"),
            cached: count("cached"),
            total: count("total"),
            latency_ms: model.get("api").and_then(|api| api.get("totalLatencyMs")),
        }
    }
}

/// A piece of a text that may hold documents.
#[derive(Debug, Clone)]
pub enum OutputPiece<'a> {
    /// A document.
    Document(OutputDocument<'a>),
    /// The same document again.
    Repetition,
    /// A line of other text.
    Noise(&'a str),
}

/// How many times the text's own length may be spent on looking at objects that turn out not to be documents. It bounds the
/// time for texts that open thousands of objects and close none; after it only objects on one line are looked at.
const PATIENCE: usize = 16;

/// Takes a text apart into documents and noise. A document begins at the start of a line, or behind `[ERROR] `.
pub fn pieces(text: &str) -> Vec<OutputPiece<'_>> {
    let mut pieces = Vec::new();
    let mut seen = HashSet::new();
    let mut patience = text.len().saturating_mul(PATIENCE);
    let mut rest = text;
    while !rest.is_empty() {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        let within = if patience > 0 { rest } else { line };
        let body = within.strip_prefix("[ERROR] ").unwrap_or(within);
        match text_start(body) {
            TextStart::Document { document, length } => {
                pieces.push(if seen.insert(document.token.as_str()) {
                    OutputPiece::Document(document)
                } else {
                    OutputPiece::Repetition
                });
                let behind = &rest[within.len() - body.len() + length..];
                rest = behind.strip_prefix('\n').unwrap_or(behind);
            }
            TextStart::InVain { at } => {
                patience = patience.saturating_sub(at);
                if !line.trim().is_empty() {
                    pieces.push(OutputPiece::Noise(line.strip_suffix('\r').unwrap_or(line)));
                }
                rest = behind;
            }
        }
    }
    pieces
}

/// The kind of text at the start of an output.
enum TextStart<'a> {
    /// A document, and how long it is.
    Document {
        document: OutputDocument<'a>,
        length: usize,
    },
    /// No document, and how far the scan had to read to find out.
    InVain { at: usize },
}

fn text_start(text: &str) -> TextStart<'_> {
    if !text.starts_with('{') {
        return TextStart::InVain { at: 0 };
    }
    match scan_prefix(text) {
        Ok((token, behind)) => {
            let length = text.len() - behind.len();
            OutputDocument::from_token(token).map_or(TextStart::InVain { at: length }, |document| {
                TextStart::Document { document, length }
            })
        }
        Err(invalid) => TextStart::InVain { at: invalid.at },
    }
}
