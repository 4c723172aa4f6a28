//! The facts of a session file that no single record has.

use lapidary_json::SharedToken;
use lapidary_wire::lines::RawLine;
use lapidary_wire::qwen::session::QwenRecord;
use lapidary_wire::record_tree::{RecordFate, RecordLink, RecordTree};

/// The facts of a session file that no single record has. It holds a few bytes for each line.
#[derive(Debug, Default)]
pub(super) struct QwenOutline {
    /// The first record that says where the agent works.
    pub(super) first: Option<SharedToken>,
    /// The last name that the session got.
    pub(super) title: Option<SharedToken>,
    tree: RecordTree,
    fates: Vec<RecordFate>,
}

impl QwenOutline {
    /// Takes in the next line. A blank one is none.
    pub(super) fn add_line(&mut self, line: RawLine<'_>) {
        if line.bytes().trim_ascii().is_empty() {
            return;
        }
        let Some(record) = line.object() else {
            self.tree.add(&RecordLink::default(), "");
            return;
        };
        let read = QwenRecord::from_token(record);
        self.tree.add(&read.link(), record.as_str());
        if self.first.is_none() && read.cwd.is_some() {
            self.first = Some(SharedToken::from(record));
        }
        if let Some(title) = read.title() {
            self.title = Some(SharedToken::from(title));
        }
    }

    /// Decides what becomes of each record, once all lines are in.
    pub(super) fn finish(&mut self) {
        self.fates = std::mem::take(&mut self.tree).fates();
    }

    /// Whether this is the last line.
    pub(super) fn is_last(&self, line: usize) -> bool {
        line + 1 == self.fates.len()
    }

    /// The fate of a record. One that was not there at the survey is kept.
    pub(super) fn fate(&self, line: usize) -> RecordFate {
        self.fates.get(line).copied().unwrap_or(RecordFate::Kept)
    }
}
