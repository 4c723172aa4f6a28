//! `gemini -o json`: one document at the end.
//!
//! On success it stands on stdout. On failure stdout is empty and the document stands on *stderr*, amid warnings and stack
//! traces, and mostly twice: plain, then again behind `[ERROR] ` (0.24 and 0.61). So documents are looked for in any text.

use lapidary_json::{Kind, Token, scan_prefix};

/// A document.
#[derive(Debug, Clone)]
pub struct Document<'a> {
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

impl<'a> Document<'a> {
    /// Reads a document; none if the token is something else.
    pub fn of(token: Token<'a>) -> Option<Self> {
        let mut document = Self {
            token,
            session_id: None,
            response: None,
            stats: None,
            error: None,
            warnings: None,
            unknown_fields: Vec::new(),
        };
        for (key, value) in token.of(Kind::Object)?.members() {
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
                .is_some_and(|error| error.kind() == Kind::Object);
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
    pub fn of(model: Token<'a>) -> Self {
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
pub enum Piece<'a> {
    /// A document.
    Document(Document<'a>),
    /// The same document again.
    Repetition,
    /// A line of something else.
    Noise(&'a str),
}

/// Takes a text apart into documents and noise. A document begins at the start of a line, or behind `[ERROR] `.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let body = rest.strip_prefix("[ERROR] ").unwrap_or(rest);
        if let Some((document, behind)) = leading_document(body) {
            let seen = pieces.iter().any(
                |piece| matches!(piece, Piece::Document(known) if known.token == document.token),
            );
            pieces.push(if seen {
                Piece::Repetition
            } else {
                Piece::Document(document)
            });
            rest = behind.strip_prefix('\n').unwrap_or(behind);
            continue;
        }
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        if !line.trim().is_empty() {
            pieces.push(Piece::Noise(line.strip_suffix('\r').unwrap_or(line)));
        }
        rest = behind;
    }
    pieces
}

fn leading_document(text: &str) -> Option<(Document<'_>, &str)> {
    if !text.starts_with('{') {
        return None;
    }
    let (token, behind) = scan_prefix(text).ok()?;
    Some((Document::of(token)?, behind))
}
