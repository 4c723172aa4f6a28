//! The facts of a session file that a list needs, read line by line.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::lines::RawLine;
use lapidary_wire::qwen::session::{QwenPart, QwenRecord};

use super::line_head::QwenHead;
use crate::agent_summary::{AgentSummary, SkippedBecause};
use crate::line_source::SessionLines;

/// The longest line that is read for a list. Longer ones have pictures or results of tools in them.
const LONGEST_LINE: usize = 8 << 20;

/// The facts so far.
#[derive(Debug, Default)]
struct ReadSoFar {
    summary: AgentSummary,
    has_bytes: bool,
    has_record: bool,
}

/// Reads a file.
pub(super) fn read_file(path: &Path) -> Result<AgentSummary, SkippedBecause> {
    let unreadable = |error: io::Error| {
        let why = format!("it cannot be read: {error}");
        (HiddenReason::Unreadable, why)
    };
    let mut so_far = ReadSoFar::default();
    let mut lines = SessionLines::open(path).map_err(unreadable)?;
    let read = lines.each_line(LONGEST_LINE, &mut |line| {
        so_far.add_line(line);
        ControlFlow::Continue(())
    });
    read.map_err(unreadable)?;
    so_far.check()
}

impl ReadSoFar {
    fn check(self) -> Result<AgentSummary, SkippedBecause> {
        let (reason, why) = match self {
            _ if !self.has_bytes => (HiddenReason::Empty, "it is empty"),
            _ if !self.has_record => (HiddenReason::NotASession, "it has no record of a session"),
            _ if self.summary.messages == 0 || self.summary.directory.is_none() => {
                (HiddenReason::NoContent, "it has no messages")
            }
            so_far => return Ok(so_far.summary),
        };
        Err((reason, why.to_owned()))
    }

    fn add_line(&mut self, line: RawLine<'_>) {
        self.has_bytes = true;
        // Records before it tell the rest.
        if self.has_record
            && self.summary.directory.is_some()
            && let RawLine::Whole(bytes) = line
            && let Some(time) = QwenHead::result_time(bytes)
        {
            return self.summary.note_time(time.to_owned());
        }
        if let Some(record) = QwenRecord::from_line(line) {
            self.has_record = self.has_record || record.has_content();
            self.add_record(&record);
        }
    }

    fn add_record(&mut self, record: &QwenRecord<'_>) {
        let text = |token: Option<Token<'_>>| Some(token?.string()?.into_owned());
        let summary = &mut self.summary;
        if record.uuid.is_none() {
            return;
        }
        summary.directory = summary.directory.take().or_else(|| text(record.cwd));
        summary.title = text(record.title()).or(summary.title.take());
        if let Some(time) = text(record.timestamp) {
            summary.note_time(time);
        }
        if record.is_prompt() {
            summary.note_prompt(|| said(record));
        } else if record.kind.is_some_and(|kind| kind.is("assistant")) {
            summary.messages += 1;
        }
    }
}

/// The words of a prompt: its first text. Contents of files that the prompt names follow in other parts.
fn said(record: &QwenRecord<'_>) -> String {
    let text = record.parts().find_map(|part| match part {
        QwenPart::Text(text) => text.string(),
        _ => None,
    });
    text.unwrap_or_default().into_owned()
}
