//! Databases in a build without `SQLite`: there are none.

use std::collections::HashSet;
use std::path::Path;

use lapidary_normalize::opencode::{MessageRows, OpencodeRows, RowsError};

use super::FoundSessions;
use super::usage::OpencodeUsage;
use crate::sweep::ByteFilter;

/// A database. No value of this type exists in this build.
#[derive(Debug)]
pub(super) enum AbsentDatabase {}

impl AbsentDatabase {
    pub(super) fn find_sessions(&self, _path: &Path) -> Result<FoundSessions, RowsError> {
        match *self {}
    }
}

impl AbsentDatabase {
    pub(super) fn sweep_sessions(
        &self,
        _ids: &[&str],
        _may_match: &ByteFilter<'_>,
    ) -> Result<HashSet<String>, RowsError> {
        match *self {}
    }
}

impl AbsentDatabase {
    pub(super) fn read_usage(&self, _reading: &mut OpencodeUsage<'_>) -> Result<(), RowsError> {
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
