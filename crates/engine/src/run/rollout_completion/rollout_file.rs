//! The rollout of a thread while Codex CLI writes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lapidary_json::Token;
use lapidary_wire::codex::rollout::RolloutRecord;
use lapidary_wire::lines::{LineBuffer, RawLine};

use crate::system::{open_regular, read_at};

/// A longer line is skipped.
const LONGEST_LINE: usize = 16 << 20;

/// How many bytes are read at once. A file that grows faster is looked at again.
const MOST_AT_ONCE: u64 = 32 << 20;

/// How many bytes of the end of a rollout are read: that of a resumed thread may be long.
const MOST_HISTORY: u64 = 32 << 20;

/// A rollout that grows.
#[derive(Debug)]
pub(super) struct RolloutFile {
    file: File,
    offset: u64,
    lines: LineBuffer,
}

impl RolloutFile {
    /// The rollout of a thread below `sessions/<year>/<month>/<day>`, the newest day first.
    pub(super) fn find(sessions: &Path, thread: &str) -> Option<Self> {
        let is_id = !thread.is_empty()
            && thread
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-');
        let ending = format!("-{thread}.jsonl");
        let is_named = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("rollout-") && name.ends_with(&ending))
        };
        let days = newest_first(sessions)
            .into_iter()
            .flat_map(|year| newest_first(&year))
            .flat_map(|month| newest_first(&month));
        let mut named = days.filter_map(|day| newest_first(&day).into_iter().find(is_named));
        let path = is_id.then(|| named.next()).flatten()?;
        let file = open_regular(&path).ok()?;
        let length = file.metadata().ok()?.len();
        let (offset, lines) = match length.checked_sub(MOST_HISTORY) {
            Some(offset @ 1..) => (offset, LineBuffer::midway(LONGEST_LINE)),
            _ => (0, LineBuffer::with_limit(LONGEST_LINE)),
        };
        Some(Self {
            file,
            offset,
            lines,
        })
    }

    /// Passes on the records that were written since the last look.
    pub(super) fn read_new_lines(&mut self, mut take: impl FnMut(&RolloutRecord<'_>)) {
        let until = self.offset + MOST_AT_ONCE;
        while self.offset < until
            && let Ok(count @ 1..) = read_at(&self.file, self.lines.room(), self.offset)
        {
            self.lines.filled(count);
            self.offset += count as u64;
            while let Some(line) = self.lines.next_line() {
                if let RawLine::Whole(line) = line
                    && let Ok(line) = std::str::from_utf8(line)
                    && let Ok(record) = Token::parse(line)
                {
                    take(&RolloutRecord::from_token(record));
                }
            }
        }
    }
}

/// The entries of a directory, the last name first. Names are dates and times.
fn newest_first(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort_by(|one, other| other.cmp(one));
    paths
}
