//! Databases in a build without `SQLite`: there are none.

use std::path::Path;

use lapidary_normalize::opencode::{MessageRows, OpencodeRows, RowsError};

use super::FoundSessions;

/// A database. No value of this type exists in this build.
#[derive(Debug)]
pub(super) enum AbsentDatabase {}

impl AbsentDatabase {
    pub(super) fn find_sessions(&self, _path: &Path) -> Result<FoundSessions, RowsError> {
        match *self {}
    }
}

impl OpencodeRows for AbsentDatabase {
    fn session(&self, _id: &str) -> Result<Option<String>, RowsError> {
        match *self {}
    }

    fn each_message(
        &self,
        _session_id: &str,
        _take: &mut dyn FnMut(MessageRows),
    ) -> Result<(), RowsError> {
        match *self {}
    }
}
