//! Sessions that are found without being read: files of lines, or rows of a database.
//!
//! Each has a state ([`StoreFile`]), so that an index may know it, and its bytes can be swept for a word before it is read. The
//! list of every such provider is made here.

use lapidary_normalize::{DeltaMode, NormalizeOptions, TextJoint};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_vocab::session::HiddenReason;

use std::path::Path;
use std::time::SystemTime;

use crate::agent_summary::{AgentSummary, IdentifiedSummary, SkippedBecause, StoredSummary};
use crate::duplicates::newest_of_each;
use crate::listing::{SessionListing, each_file};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::replay_error::ReplaySessionError;
use crate::session_rows::RowMaker;
use crate::store_files::{FoundFiles, StoreFile};
use crate::sweep::{ByteFilter, sweep_files};

/// How much of a first prompt counts as a title.
const TITLE: usize = 200;

/// The sessions of an agent, one by one.
pub trait StoredSessions: Sync {
    /// The agent's family.
    fn provider(&self) -> Provider;

    /// Finds the sessions of a scope.
    fn find(&self, scope: &ProviderScope<'_>, memory: &mut dyn ListMemory) -> FoundFiles;

    /// Reads the facts of a session that a list needs. None if it is of a directory that is not wanted.
    fn summarise(
        &self,
        file: &StoreFile,
        wanted: &WantedDirectories,
    ) -> Result<Option<IdentifiedSummary>, SkippedBecause>;

    /// The session's id, read from no more of the file than tells it. None if only a summary does.
    fn quick_id(&self, file: &StoreFile) -> Option<String> {
        Some(file.id.clone())
    }

    /// Passes on the events of a session.
    fn replay_stored(
        &self,
        path: &Path,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError>;

    /// Whether texts of a session may be JSON within JSON, so that an escape of a letter is escaped itself.
    fn nests_json(&self) -> bool {
        false
    }

    /// Tells of each session whether its bytes may match, as `may_match` says of pieces of them. A word is never cut.
    fn sweep(&self, files: &[&StoreFile], may_match: &ByteFilter<'_>) -> Vec<bool> {
        sweep_files(files, may_match)
    }
}

/// Lists of sessions by the state of the store that they are from.
pub trait ListMemory {
    /// The list of a store that was noted in the same state.
    fn recall_list(&mut self, _store: &Path, _state: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Keeps the list of a store that was last changed at a time.
    fn note_list(&mut self, _store: &Path, _state: &[u8], _changed: SystemTime, _list: &[u8]) {}
}

/// Facts of sessions that were read before.
pub(crate) trait SummaryMemory: ListMemory {
    /// The facts of each session that is known as it is now.
    fn known_summaries(
        &mut self,
        _store: &dyn StoredSessions,
        files: &[StoreFile],
    ) -> Vec<Option<StoredSummary>> {
        files.iter().map(|_| None).collect()
    }
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoIndex;

impl ListMemory for NoIndex {}
impl SummaryMemory for NoIndex {}

/// The sessions of a provider as a list.
pub(crate) fn list_stored(
    store: &dyn StoredSessions,
    scope: &ProviderScope<'_>,
    memory: &mut dyn SummaryMemory,
) -> SessionListing {
    let FoundFiles {
        files,
        mut hidden,
        warnings,
    } = store.find(scope, memory);
    let read = summaries_of(store, &files, scope, memory);
    let mut rows = RowMaker::new(store.provider(), scope);
    let mut sessions = Vec::with_capacity(files.len());
    for (file, summary) in files.iter().zip(read) {
        match summary {
            Ok(Some((id, summary))) => {
                let is_empty = summary.messages == 0;
                match rows.row(file, (id, summary)) {
                    Some(_) if is_empty => {
                        let why = "it has no messages".to_owned();
                        hidden.push(file.hidden_file(HiddenReason::NoContent, why));
                    }
                    row => sessions.extend(row),
                }
            }
            Ok(None) => {} // of another project
            Err((reason, why)) => hidden.push(file.hidden_file(reason, why)),
        }
    }
    let mut sessions = newest_of_each(sessions, &mut hidden);
    sessions.sort_by_key(|session| (session.project, session.started_ms));
    SessionListing {
        sessions,
        hidden,
        warnings,
    }
}

/// The facts of each session: remembered, or else read.
pub(crate) fn summaries_of(
    store: &dyn StoredSessions,
    files: &[StoreFile],
    scope: &ProviderScope<'_>,
    memory: &mut dyn SummaryMemory,
) -> Vec<Result<Option<IdentifiedSummary>, SkippedBecause>> {
    let known = memory.known_summaries(store, files);
    let unknown = files
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none());
    let unknown: Vec<&StoreFile> = unknown.map(|(file, _)| file).collect();
    let wanted = WantedDirectories::from_scope(scope);
    let read = each_file(&unknown, || (), |(), file| store.summarise(file, &wanted));
    let mut read = read.into_iter();
    let summaries = known.into_iter().map(|known| match known {
        Some(known) => known.map(Some),
        None => read.next().unwrap_or(Ok(None)),
    });
    summaries.collect()
}

/// The title of a session as a search sees it: the letters that stand in the file.
pub(crate) fn search_title(summary: &AgentSummary) -> &str {
    let first = summary.first_prompt.as_deref().unwrap_or_default();
    let first = &first[..first.floor_char_boundary(TITLE)];
    summary.title.as_deref().unwrap_or(first.trim())
}

/// How a search reads a session.
pub(crate) fn search_options(id: &str) -> NormalizeOptions {
    let mut options = replay_options(id);
    options.text_joint = TextJoint::Lines;
    options
}

/// How a session is replayed: whole texts, nothing beside.
pub(crate) fn replay_options(id: &str) -> NormalizeOptions {
    let mut options = NormalizeOptions::new(id);
    options.keep_raw = false;
    options.deltas = DeltaMode::Final;
    options
}
