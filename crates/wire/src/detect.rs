//! Which format a text is, told by its content. Names lie: a session file may be called `.json` and be a log.

use lapidary_json::Token;

use crate::acp::transcript;
use crate::claude::session::ClaudeRecord;
use crate::claude::stream::ClaudeStreamLine;
use crate::codex::exec::ExecLine;
use crate::codex::rollout::RolloutRecord;
use crate::gemini::output::{self, OutputDocument, OutputPiece};
use crate::gemini::session::SessionRecord;
use crate::opencode;
use crate::qwen::session::{QwenRecord, is_document};

/// A format this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// `gemini -o stream-json`.
    StreamJson,
    /// `gemini -o json`, from stdout or stderr.
    Json,
    /// A session file of Gemini CLI, of any version.
    Session,
    /// The Agent Client Protocol: a transcript of both sides, or the output of an agent.
    Acp,
    /// A session file of Claude Code.
    ClaudeSession,
    /// A session file of Codex CLI.
    CodexSession,
    /// `claude -p --output-format stream-json`.
    ClaudeStream,
    /// `codex exec --json`.
    CodexExec,
    /// A session file of Qwen Code, of any version.
    QwenSession,
    /// A session of opencode: its own file, or a document of `opencode export`.
    OpencodeSession,
}

/// What one line gives away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatGuess {
    /// It can only be this.
    Is(InputFormat),
    /// It is a document or begins one that goes on over several lines: unless a line of a stream follows, the whole text must be
    /// looked at.
    MayBeDocument,
    /// Noise, a blank line, or an object that fits several formats.
    Nothing,
}

/// Looks at one line.
pub fn line(text: &str) -> FormatGuess {
    let opens = text.trim_start().starts_with(['{', '[']);
    match Token::parse(text) {
        Ok(token) => match of_object(token) {
            // A program may well log an object with an error in it before its stream begins.
            Some(InputFormat::Json) => FormatGuess::MayBeDocument,
            Some(format) => FormatGuess::Is(format),
            None => FormatGuess::Nothing,
        },
        Err(invalid) if opens && invalid.at >= text.len() => FormatGuess::MayBeDocument,
        Err(_) => FormatGuess::Nothing,
    }
}

/// Looks at a whole text.
pub fn document(text: &str) -> Option<InputFormat> {
    if let Ok(token) = Token::parse(text)
        && let Some(format) = of_object(token)
    {
        return Some(format);
    }
    let certain = text.lines().find_map(|text| match line(text) {
        FormatGuess::Is(format) => Some(format),
        FormatGuess::MayBeDocument | FormatGuess::Nothing => None,
    });
    certain.or_else(|| {
        let is_document = |piece: &OutputPiece<'_>| matches!(piece, OutputPiece::Document(_));
        output::pieces(text)
            .iter()
            .any(is_document)
            .then_some(InputFormat::Json)
    })
}

fn of_object(object: Token<'_>) -> Option<InputFormat> {
    if transcript::TranscriptRecord::is_message(object)
        || transcript::TranscriptRecord::from_token(object).is_some()
    {
        return Some(InputFormat::Acp);
    }
    if QwenRecord::is_record(object) || is_document(object) {
        return Some(InputFormat::QwenSession);
    }
    if opencode::is_session_file(object) || opencode::is_export(object) {
        return Some(InputFormat::OpencodeSession);
    }
    if ClaudeRecord::is_record(object) {
        return Some(InputFormat::ClaudeSession);
    }
    if RolloutRecord::is_record(object) {
        return Some(InputFormat::CodexSession);
    }
    if ClaudeStreamLine::is_line(object) {
        return Some(InputFormat::ClaudeStream);
    }
    if ExecLine::is_line(object) {
        return Some(InputFormat::CodexExec);
    }
    match SessionRecord::from_token(object) {
        SessionRecord::RewindTo(_) | SessionRecord::Set(_) | SessionRecord::Header(_) => {
            return Some(InputFormat::Session);
        }
        // `error` is a type in both worlds, but only a session's records have an id.
        SessionRecord::Message { record, .. } if record.get("content").is_some() => {
            return Some(InputFormat::Session);
        }
        SessionRecord::Message { .. } | SessionRecord::Unknown => {}
    }
    match object.get("type").and_then(Token::string).as_deref() {
        Some("init" | "message" | "tool_use" | "tool_result" | "error" | "result") => {
            Some(InputFormat::StreamJson)
        }
        Some(_) => None,
        None => OutputDocument::from_token(object).map(|_| InputFormat::Json),
    }
}
