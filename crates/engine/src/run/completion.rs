//! Completes tool calls of Gemini CLI in stream-json: its session log has the outputs and diffs that its lines leave out.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use lapidary_json::{Token, scan_object};

use crate::gemini_cli::{FoundInLog, LogPlace, SessionLogs};
use crate::recording::{SESSION_LOG, private_file};

/// How the lines begin that matter here. Gemini CLI writes `type` first; other lines cost nothing.
const INIT: &[u8] = br#"{"type":"init""#;
const TOOL_RESULT: &[u8] = br#"{"type":"tool_result""#;

/// Reads the session log beside a stream.
#[derive(Debug)]
pub(super) struct StreamCompletion {
    logs: SessionLogs,
    /// Where the entries that were used are kept: the recording gives the same events as the run.
    record: Option<File>,
    session: Option<String>,
}

impl StreamCompletion {
    pub(super) fn new(place: LogPlace, recording: &Path) -> Self {
        Self {
            logs: SessionLogs::new(place),
            record: private_file(&recording.join(SESSION_LOG)).ok(),
            session: None,
        }
    }

    /// The session, once the stream has named it.
    pub(super) fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The entry of the call that a line ends.
    pub(super) async fn entry_before_line(&mut self, line: &[u8]) -> Option<String> {
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
        let FoundInLog::Entry(entry) = self.logs.call_record(session, &id).await else {
            return None; // the stream has most of it
        };
        if let Some(record) = &mut self.record {
            let _ = record.write_all(format!("{entry}\n").as_bytes()); // the run reports a full disk
        }
        Some(entry)
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
