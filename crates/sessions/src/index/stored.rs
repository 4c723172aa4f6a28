//! Sessions of other agents in the index: the same tables, by the state that their store tells.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::directory_names::is_settled_at;
use super::lookup::{file_of, file_score, term_masks};
use super::rows;
use super::states;
use super::states::path_key;
use super::texts::TextRows;
use super::update::{UpdateBudget, UpdateProgress, UpdateResult, forget_file};
use super::{IndexError, ON_THE_WAY, SessionIndex, try_lock};
use crate::agent_summary::StoredSummary;
use crate::candidates::{CandidateName, SessionCandidate};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::search::SessionSearch;
use crate::search::stored::{FoundStore, KnownScore, WordMemory, each_text};
use crate::store_files::{StoreFile, add_new_warnings};
use crate::stored_sessions::{ListMemory, StoredSessions, SummaryMemory, search_title};

/// Whether files that an update does not name are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFiles {
    /// The update names all files of all agents: others are dropped from the index.
    Gone,
    /// It names those of some agents.
    Kept,
}

/// A question to the index about some sessions, with an answer for each that it knows.
type IndexQuestion<'a, T> =
    dyn Fn(&Connection, &[&SessionCandidate]) -> rusqlite::Result<Vec<Option<T>>> + 'a;

/// A session, and the store that it is in.
type StoredFile<'f> = (&'f dyn StoredSessions, &'f StoreFile);

impl ListMemory for SessionIndex {
    fn recall_list(&mut self, store: &Path, state: &[u8]) -> Option<Vec<u8>> {
        let query = "SELECT list FROM names WHERE path = ?1 AND state = ?2";
        let mut statement = self.connection.as_ref()?.prepare_cached(query).ok()?;
        let found = statement.query_row(params![path_key(store), state], |row| row.get(0));
        found.optional().ok()?
    }

    fn note_list(&mut self, store: &Path, state: &[u8], changed: SystemTime, list: &[u8]) {
        if !is_settled_at(changed, self.now) {
            return;
        }
        let (Some(connection), Ok(Some(_lock))) = (&self.connection, try_lock(&self.path)) else {
            return;
        };
        let insert = "INSERT OR REPLACE INTO names (path, state, list) VALUES (?1, ?2, ?3)";
        // A list that is not kept is made again the next time.
        let _ = connection.execute(insert, params![path_key(store), state, list]);
    }
}

impl SummaryMemory for SessionIndex {
    fn known_summaries(
        &mut self,
        store: &dyn StoredSessions,
        files: &[StoreFile],
    ) -> Vec<Option<StoredSummary>> {
        let stored: Vec<StoredFile<'_>> = files.iter().map(|file| (store, file)).collect();
        self.ask_updated(&stored, &|connection, candidates| {
            rows::known_rows_as(connection, candidates, rows::read_stored_row)
        })
    }
}

impl WordMemory for SessionIndex {
    fn known_scores(
        &mut self,
        stores: &[FoundStore<'_>],
        search: &SessionSearch,
    ) -> Vec<Vec<Option<KnownScore>>> {
        let files = stores.iter();
        let sessions: Vec<StoredFile<'_>> = files
            .flat_map(|it| it.files.iter().map(|file| (it.store, file)))
            .collect();
        let mut known = if search.query.has_regex() {
            vec![None; sessions.len()]
        } else {
            self.ask_updated(&sessions, &|connection, candidates| {
                scores_of(connection, candidates, search)
            })
        };
        let mut rest = known.drain(..);
        let of_store = |found: &FoundStore<'_>| rest.by_ref().take(found.files.len()).collect();
        stores.iter().map(of_store).collect()
    }

    fn paths_of(&mut self, sessions: &HashSet<String>) -> HashSet<Vec<u8>> {
        let paths = |connection| rows::paths_of(connection, sessions);
        match self.connection.as_ref().map(paths) {
            Some(Ok(paths)) => paths,
            Some(Err(error)) => {
                self.give_up(&error.into());
                HashSet::new()
            }
            None => HashSet::new(),
        }
    }
}

impl SessionIndex {
    /// Reads all changed files of Gemini CLI and of the stores, in every project of the scope.
    pub fn update_from(
        &mut self,
        files: &[SessionCandidate],
        stores: &[&dyn StoredSessions],
        scope: &ProviderScope<'_>,
        others: OtherFiles,
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<UpdateResult, IndexError> {
        let files = files.iter().filter(|file| file.refused.is_none());
        let mut all: Vec<&SessionCandidate> = files.collect();
        let mut updated = self.update_changed(&all, progress)?;
        let stores = stores.iter();
        let found = stores.map(|store| FoundStore::find(*store, scope, self));
        let found: Vec<FoundStore<'_>> = found.collect();
        let sessions = found.iter().flat_map(|found| {
            let files = found.files.iter();
            files.map(|file| (found.store, file))
        });
        let sessions: Vec<StoredFile<'_>> =
            sessions.filter(|(_, file)| file.shows_changes).collect();
        let candidates: Vec<_> = sessions
            .iter()
            .map(|(_, file)| candidate_of(file))
            .collect();
        let of_stores =
            self.update_stored(&sessions, &candidates, UpdateBudget::Everything, progress)?;
        updated.read += of_stores.read;
        updated.left += of_stores.left;
        updated.known += of_stores.known;
        all.extend(&candidates);
        updated.gone = match others {
            OtherFiles::Gone => self.drop_all_but(&all)?,
            OtherFiles::Kept => 0,
        };
        for found in found {
            add_new_warnings(&mut self.warnings, found.warnings);
        }
        Ok(updated)
    }

    /// How many sessions of the stores there are, and how many are known as they are now.
    pub fn count_stored(
        &mut self,
        stores: &[&dyn StoredSessions],
        scope: &ProviderScope<'_>,
    ) -> (usize, usize) {
        let stores = stores.iter();
        let found = stores.map(|store| FoundStore::find(*store, scope, self));
        let found: Vec<FoundStore<'_>> = found.collect();
        let files = found.iter().flat_map(|found| &found.files);
        let files: Vec<_> = files.map(candidate_of).collect();
        (files.len(), self.count_known(&files))
    }

    /// Answers from the index, after a few changed sessions were read into it. None for each session that it does not know.
    fn ask_updated<T>(
        &mut self,
        stored: &[StoredFile<'_>],
        ask: &IndexQuestion<'_, T>,
    ) -> Vec<Option<T>> {
        let none = || stored.iter().map(|_| None).collect();
        if !self.is_open() || stored.is_empty() {
            return none();
        }
        let candidates: Vec<_> = stored.iter().map(|(_, file)| candidate_of(file)).collect();
        let each: Vec<&SessionCandidate> = candidates.iter().collect();
        let Some(mut known) = self.ask_stored(&each, ask) else {
            return none();
        };
        if known.iter().any(Option::is_none) {
            let budget = UpdateBudget::Bytes(ON_THE_WAY);
            let read = match self.update_stored(stored, &candidates, budget, &mut |_| {}) {
                Ok(updated) => updated.read,
                Err(IndexError::Busy) => 0,
                Err(error) => {
                    self.give_up(&error);
                    0
                }
            };
            if read > 0 {
                known = self.ask_stored(&each, ask).unwrap_or_else(none);
            }
        }
        // The state of such a session does not tell whether it is still the same.
        for (known, (_, file)) in known.iter_mut().zip(stored) {
            if !file.shows_changes {
                *known = None;
            }
        }
        known
    }

    fn ask_stored<T>(
        &mut self,
        candidates: &[&SessionCandidate],
        ask: &IndexQuestion<'_, T>,
    ) -> Option<Vec<Option<T>>> {
        match ask(self.connection.as_ref()?, candidates) {
            Ok(known) => Some(known),
            Err(error) => {
                self.give_up(&error.into());
                None
            }
        }
    }

    /// Reads changed sessions, as far as the budget goes.
    fn update_stored(
        &mut self,
        stored: &[StoredFile<'_>],
        candidates: &[SessionCandidate],
        budget: UpdateBudget,
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<UpdateResult, IndexError> {
        let each: Vec<&SessionCandidate> = candidates.iter().collect();
        let known = states::known_file_ids(self.require_connection()?, &each)?;
        let mut files = Vec::new();
        for (place, (_, file)) in stored.iter().enumerate() {
            if known[place].is_none() && file.shows_changes {
                files.push(place);
            }
        }
        let changed: Vec<_> = files.iter().map(|place| each[*place]).collect();
        let index_one = &mut |connection: &Connection, place: usize| {
            let (store, file) = stored[files[place]];
            index_session(connection, store, file)
        };
        let mut updated = self.update_by(&changed, budget, progress, index_one)?;
        updated.known = stored.len() - changed.len();
        Ok(updated)
    }
}

/// Reads a session in place of its earlier rows, and returns its number. None if it cannot be read.
fn index_session(
    connection: &Connection,
    store: &dyn StoredSessions,
    file: &StoreFile,
) -> rusqlite::Result<Option<i64>> {
    forget_file(connection, path_key(&file.path))?;
    let summary = match store.summarise(file, &WantedDirectories::Every) {
        Ok(None) => return Ok(None),
        Ok(Some(summary)) => Ok(summary),
        Err(skipped) => Err(skipped),
    };
    let Some(id) = rows::insert_stored(connection, &file.path, &summary)? else {
        return Ok(None);
    };
    let Ok((session, facts)) = &summary else {
        return Ok(Some(id));
    };
    let mut rows = TextRows::new(connection, id)?;
    let read = each_text(
        store,
        &file.path,
        session,
        search_title(facts),
        &mut |entry| {
            rows.add_text(entry);
        },
    );
    rows.finish()?;
    if read.is_err() {
        forget_file(connection, path_key(&file.path))?;
        return Ok(None);
    }
    Ok(Some(id))
}

fn scores_of(
    connection: &Connection,
    candidates: &[&SessionCandidate],
    search: &SessionSearch,
) -> rusqlite::Result<Vec<Option<KnownScore>>> {
    let ids = states::known_file_ids(connection, candidates)?;
    let mut scores: Vec<Option<KnownScore>> = ids.iter().map(|id| id.map(|_| None)).collect();
    let masks = term_masks(connection, &search.query)?;
    if masks.is_empty() {
        return Ok(scores);
    }
    let places = ids.iter().enumerate();
    let places: HashMap<i64, usize> = places.filter_map(|(at, id)| Some(((*id)?, at))).collect();
    for texts in masks.chunk_by(|one, other| file_of(one.0) == file_of(other.0)) {
        let file = file_of(texts[0].0);
        let found = texts.iter().fold(0, |found, (_, mask)| found | mask);
        if found == search.query.full_mask()
            && let Some(place) = places.get(&file)
        {
            let score = file_score(connection, file, texts, &search.query, &search.filters)?;
            scores[*place] = Some(score);
        }
    }
    Ok(scores)
}

/// A session as the index knows files.
fn candidate_of(file: &StoreFile) -> SessionCandidate {
    let path = file.path.clone();
    let name = path.file_name().unwrap_or_default().len();
    let before = path.as_os_str().len() - name;
    SessionCandidate {
        name: CandidateName::InPath(before),
        path,
        project: 0,
        size: file.size,
        modified: file.modified,
        inode: file.state_number,
        refused: None,
    }
}
