//! Completes tool calls of a stream from the file that the agent writes meanwhile: Gemini CLI's session log has the outputs and diffs
//! that its lines leave out, and Codex CLI's rollout has whole calls.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use lapidary_json::{Token, scan_object};

use super::request::RunRequest;
use super::rollout_completion::RolloutCompletion;
use crate::gemini_cli::{FoundInLog, LogPlace, SessionLogs};
use crate::recording::{SESSION_LOG, private_file};

/// How the lines begin that matter here. Gemini CLI writes `type` first; other lines cost nothing.
const INIT: &[u8] = br#"{"type":"init""#;
const TOOL_RESULT: &[u8] = br#"{"type":"tool_result""#;

/// Reads the agent's own file beside a stream.
#[derive(Debug)]
pub(super) struct StreamCompletion {
    source: CompletionSource,
    /// Where the entries that were used are kept: the recording gives the same events as the run.
    record: Option<File>,
}

#[derive(Debug)]
enum CompletionSource {
    Gemini(Box<LogCompletion>),
    Codex(Box<RolloutCompletion>),
}

/// Reads Gemini CLI's session log.
#[derive(Debug)]
struct LogCompletion {
    logs: SessionLogs,
    session: Option<String>,
}

impl StreamCompletion {
    /// None if the agent has no such file. `started` is when the attempt began.
    pub(super) fn new(request: &RunRequest, recording: &Path, started: Timestamp) -> Option<Self> {
        let of_gemini = |place: LogPlace| {
            CompletionSource::Gemini(Box::new(LogCompletion {
                logs: SessionLogs::new(place),
                session: None,
            }))
        };
        let of_codex = |home: &std::path::PathBuf| {
            CompletionSource::Codex(Box::new(RolloutCompletion::new(home, started)))
        };
        let source = request.session_logs.clone().map(of_gemini);
        let source = source.or_else(|| request.codex_home.as_ref().map(of_codex))?;
        Some(Self {
            source,
            record: private_file(&recording.join(SESSION_LOG)).ok(),
        })
    }

    /// The session of Gemini CLI, once the stream has named it.
    pub(super) fn session_id(&self) -> Option<&str> {
        match &self.source {
            CompletionSource::Gemini(log) => log.session.as_deref(),
            CompletionSource::Codex(_) => None,
        }
    }

    /// The entries of the calls that a line ends or follows.
    pub(super) async fn entries_before_line(&mut self, line: &[u8]) -> Vec<String> {
        let entries = match &mut self.source {
            CompletionSource::Gemini(log) => {
                let entry = log.entry_before_line(line).await;
                entry.into_iter().collect()
            }
            CompletionSource::Codex(rollout) => rollout.entries_before_line(line).await,
        };
        for entry in &entries {
            if let Some(record) = &mut self.record {
                let _ = record.write_all(format!("{entry}\n").as_bytes()); // the run reports a full disk
            }
        }
        entries
    }
}

impl LogCompletion {
    /// The entry of the call that a line ends.
    async fn entry_before_line(&mut self, line: &[u8]) -> Option<String> {
        if line.starts_with(INIT) {
            self.session = line_member(line, "session_id");
            return None;
        }
        if !line.starts_with(TOOL_RESULT) {
            return None;
        }
        let session = self.session.as_deref()?;
        if !self.logs.count_look(session) {
            return None;
        }
        let id = line_member(line, "tool_id")?;
        match self.logs.call_record(session, &id).await {
            FoundInLog::Entry(entry) => Some(entry),
            _ => None, // the stream has most of it
        }
    }
}

fn line_member(line: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    let take = |key: Token<'_>, value| {
        if key.is(name) {
            found = Some(value); // the last one counts, as in all our readers
        }
    };
    scan_object(std::str::from_utf8(line).ok()?, take).ok()?;
    found.and_then(Token::string).map(Cow::into_owned)
}
