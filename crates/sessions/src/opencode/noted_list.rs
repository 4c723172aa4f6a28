//! The sessions of a database as an index keeps them, so that a database that did not change is not even opened.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

use lapidary_vocab::session::HiddenFile;

use super::{FoundSession, FoundSessions, store_file};
use crate::packed_summary::{PackedReader, PackedWriter};
use crate::store_files::{entry_state, hidden};

/// The state of a database and of its write-ahead log.
#[derive(Debug)]
pub(super) struct DatabaseState {
    database: u64,
    log: u64,
    /// When either was last written.
    pub(super) changed: SystemTime,
}

impl DatabaseState {
    pub(super) fn read(path: &Path, about: &Metadata) -> Self {
        let mut log_name = path.as_os_str().to_owned();
        log_name.push("-wal");
        let log = fs::symlink_metadata(&log_name).ok();
        let written = |about: &Metadata| about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let log_written = log.as_ref().map_or(SystemTime::UNIX_EPOCH, written);
        Self {
            database: entry_state(path, about),
            log: log.map_or(0, |log| entry_state(log_name.as_ref(), &log)),
            changed: written(about).max(log_written),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [self.database, self.log].map(u64::to_le_bytes).concat()
    }
}

/// The list as bytes. None if it is not complete.
pub(super) fn pack(found: &FoundSessions) -> Option<Vec<u8>> {
    if !found.warnings.is_empty() {
        return None;
    }
    let mut list = PackedWriter::default();
    list.number(found.sessions.len() as u64);
    for FoundSession { file, parent } in &found.sessions {
        list.text(Some(&file.id));
        list.text(parent.as_deref());
        let since = file.modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        list.number(u64::try_from(since.as_millis()).ok()?);
        list.number(file.size);
        list.number(file.state_number);
        list.summary(file.found.as_deref()?);
    }
    list.number(found.hidden.len() as u64);
    for file in &found.hidden {
        list.text(Some(&file.path));
        list.skipped(&(file.reason.clone(), file.explanation.clone()));
        list.text(file.session_id.as_deref());
        list.number(file.size);
    }
    Some(list.bytes)
}

/// The same again, for the database at this path. None if it is nothing that was written so.
pub(super) fn unpack(path: &Path, bytes: &[u8]) -> Option<FoundSessions> {
    let mut list = PackedReader { bytes };
    let mut found = FoundSessions::default();
    for _ in 0..list.number()? {
        let id = list.text()??;
        let parent = list.text()?;
        let (modified, size, state_number) = (list.number()?, list.number()?, list.number()?);
        let summary = list.summary()?;
        let mut file = store_file(path.join(&id), id, Some(modified), summary);
        file.size = size;
        file.state_number = state_number;
        file.shows_changes = true;
        found.sessions.push(FoundSession { file, parent });
    }
    for _ in 0..list.number()? {
        let place = list.text()??;
        let (reason, why) = list.skipped()?;
        let session_id = list.text()?;
        found.hidden.push(HiddenFile {
            session_id,
            ..hidden(Path::new(&place), list.number()?, reason, why)
        });
    }
    list.bytes.is_empty().then_some(found)
}
