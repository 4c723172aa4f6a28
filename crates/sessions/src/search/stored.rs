//! Searching through sessions of other agents: in the index as far as it knows them, else in their bytes first and then in their
//! events.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::entries::{EntryRole, TextEntry};
use super::event_texts::EventTexts;
use super::filters::SearchScore;
use super::prefilter::{JsonDepth, Prefilter};
use super::replayed::{ReplayedMatches, unsearched_warning};
use super::snippet::SnippetFinder;
use super::{FileFit, MatchedSession, SearchHits, SessionSearch};
use crate::agent_summary::IdentifiedSummary;
use crate::duplicates::newest_of_each;
use crate::listing::{ListedSession, each_file};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::replay_error::ReplaySessionError;
use crate::session_rows::RowMaker;
use crate::store_files::{StoreFile, add_new_warnings};
use crate::stored_sessions::{
    ListMemory, NoIndex, StoredSessions, SummaryMemory, search_options, search_title, summaries_of,
};

/// Sessions that an index knows, by the words in them.
pub(crate) trait WordMemory: SummaryMemory {
    /// The score of each session by the index: none for one whose file has changed since.
    fn known_scores(
        &mut self,
        stores: &[FoundStore<'_>],
        search: &SessionSearch,
    ) -> Vec<Vec<Option<KnownScore>>> {
        let _ = search;
        let unknown = |store: &FoundStore<'_>| vec![None; store.files.len()];
        stores.iter().map(unknown).collect()
    }

    /// The paths of all known files of these sessions.
    fn paths_of(&mut self, _sessions: &HashSet<String>) -> HashSet<Vec<u8>> {
        HashSet::new()
    }
}

impl WordMemory for NoIndex {}

/// How well a known session fits; none if not everything is in it.
pub(crate) type KnownScore = Option<SearchScore>;

/// The sessions of a provider that a search is about.
pub(crate) struct FoundStore<'p> {
    pub(crate) store: &'p dyn StoredSessions,
    pub(crate) files: Vec<StoreFile>,
    pub(crate) warnings: Vec<String>,
}

impl<'p> FoundStore<'p> {
    /// The sessions of a store, as they are now.
    pub(crate) fn find(
        store: &'p dyn StoredSessions,
        scope: &ProviderScope<'_>,
        memory: &mut dyn ListMemory,
    ) -> Self {
        let found = store.find(scope, memory);
        Self {
            store,
            files: found.files,
            warnings: found.warnings,
        }
    }
}

/// The result of a look at one session.
enum StoredLook {
    /// The session's facts, if it was read, and how well it fits.
    Hit(Option<Box<IdentifiedSummary>>, FileFit),
    Miss,
    /// The index knows that it does not fit.
    KnownMiss,
    /// It cannot be read.
    Failed(ReplaySessionError),
}

/// Sessions of other agents in which everything was found.
#[derive(Default)]
pub struct ProviderMatches<'p> {
    /// Each with its store, if it has one.
    matched: Vec<(Option<&'p dyn StoredSessions>, MatchedSession)>,
    bytes: u64,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

impl fmt::Debug for ProviderMatches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ProviderMatches");
        debug.field("matched", &self.matched.len());
        debug
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl SessionSearch {
    /// Searches stores, in their order. `others` are ids of sessions that matched elsewhere: returned are those of them that a
    /// store lists.
    pub(crate) fn in_stores<'p>(
        &self,
        stores: &[&'p dyn StoredSessions],
        scope: &ProviderScope<'_>,
        memory: &mut dyn WordMemory,
        others: &HashSet<String>,
    ) -> (ProviderMatches<'p>, HashSet<String>) {
        let mut found = ProviderMatches::default();
        let mut searched = Vec::with_capacity(stores.len());
        for store in stores {
            let mut store = FoundStore::find(*store, scope, memory);
            let warnings = std::mem::take(&mut store.warnings);
            add_new_warnings(&mut found.warnings, warnings);
            found.bytes += store.files.iter().map(|file| file.size).sum::<u64>();
            searched.push(store);
        }
        let looks = self.looks(&searched, scope, memory);
        let mut concerned: HashSet<String> = others.clone();
        for (store, looks) in searched.iter().zip(&looks) {
            concerned.extend(hit_ids(store, looks));
        }
        let mut listed_before = HashSet::new();
        if concerned.is_empty() {
            found.warnings.extend(failures(looks));
            return (found, listed_before);
        }
        let known_paths = memory.paths_of(&concerned);
        for (store, mut looks) in searched.iter().zip(looks) {
            let listed = list_concerned(store, &mut looks, &concerned, &known_paths, scope, memory);
            for session in listed {
                let is_new = listed_before.insert(session.0.id().to_owned());
                if let (true, (session, Some(fit))) = (is_new, session) {
                    found.matched.push((Some(store.store), (session, fit)));
                }
            }
            found.warnings.extend(failures(vec![looks]));
        }
        found
            .matched
            .retain(|(_, (session, _))| self.filters.take_time(session));
        listed_before.retain(|id| others.contains(id));
        (found, listed_before)
    }

    fn looks(
        &self,
        stores: &[FoundStore<'_>],
        scope: &ProviderScope<'_>,
        memory: &mut dyn WordMemory,
    ) -> Vec<Vec<StoredLook>> {
        let known = memory.known_scores(stores, self);
        let looks = stores.iter().zip(known).map(|(found, known)| {
            let unknown = found
                .files
                .iter()
                .zip(&known)
                .filter(|(_, it)| it.is_none());
            let unknown: Vec<&StoreFile> = unknown.map(|(file, _)| file).collect();
            let read = self.look_at_files(found.store, &unknown, scope);
            let mut read = read.into_iter();
            let looks = known.into_iter().map(|known| match known {
                Some(Some(fit)) => StoredLook::Hit(None, (fit, None)),
                Some(None) => StoredLook::KnownMiss,
                None => read.next().unwrap_or(StoredLook::Miss),
            });
            looks.collect()
        });
        looks.collect()
    }

    /// Looks at sessions that no index knows.
    fn look_at_files(
        &self,
        store: &dyn StoredSessions,
        files: &[&StoreFile],
        scope: &ProviderScope<'_>,
    ) -> Vec<StoredLook> {
        let may_match = self.swept(store, files);
        let wanted = WantedDirectories::from_scope(scope);
        let swept = files.iter().zip(&may_match).filter(|(_, it)| **it);
        let likely: Vec<&StoreFile> = swept.map(|(file, _)| *file).collect();
        let looked = each_file(
            &likely,
            || (),
            |(), file| {
                match store.summarise(file, &wanted) {
                    Ok(Some(summary)) if summary.1.messages > 0 => {
                        self.read_session(store, file, summary)
                    }
                    // Not in the list, so not found either.
                    Ok(_) | Err(_) => StoredLook::Miss,
                }
            },
        );
        let mut looked = looked.into_iter();
        let look = |is_likely: bool| {
            let look = if is_likely { looked.next() } else { None };
            look.unwrap_or(StoredLook::Miss)
        };
        may_match.into_iter().map(look).collect()
    }

    /// Tells of each session whether everything may be in it.
    fn swept(&self, store: &dyn StoredSessions, files: &[&StoreFile]) -> Vec<bool> {
        let prefilter = Prefilter::new(&self.query);
        if !prefilter.is_selective() || files.is_empty() {
            return vec![true; files.len()];
        }
        let depth = if store.nests_json() {
            JsonDepth::Nested
        } else {
            JsonDepth::Plain
        };
        store.sweep(files, &|bytes| prefilter.may_match(bytes, depth))
    }

    fn read_session(
        &self,
        store: &dyn StoredSessions,
        file: &StoreFile,
        summary: IdentifiedSummary,
    ) -> StoredLook {
        let (id, facts) = &summary;
        match self.stored_fit(store, &file.path, id, search_title(facts)) {
            Ok(Some(fit)) => StoredLook::Hit(Some(Box::new(summary)), fit),
            Ok(None) => StoredLook::Miss,
            Err(error) => StoredLook::Failed(error),
        }
    }

    /// How well a listed session fits, and where.
    pub(super) fn listed_fit(
        &self,
        store: &dyn StoredSessions,
        session: &ListedSession,
    ) -> Result<Option<FileFit>, ReplaySessionError> {
        let info = session.info();
        let title = info.summary.as_deref().unwrap_or(&info.display_name);
        self.stored_fit(store, &session.path, &info.id, title)
    }

    /// How well a session fits, and where, by its events.
    fn stored_fit(
        &self,
        store: &dyn StoredSessions,
        path: &Path,
        id: &str,
        title: &str,
    ) -> Result<Option<FileFit>, ReplaySessionError> {
        let mut finder = SnippetFinder::new(&self.query, &self.filters);
        each_text(store, path, id, title, &mut |entry| {
            finder.look_at_text(entry);
        })?;
        let found = finder.finish();
        Ok(found.map(|(score, snippets)| (score, Some(snippets))))
    }
}

impl ProviderMatches<'_> {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.matched.is_empty()
    }

    /// Drops the sessions that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&ListedSession) -> bool) {
        self.matched.retain(|(_, (session, _))| is_wanted(session));
    }

    /// Adds sessions that were found by their events.
    pub(crate) fn add_replayed(&mut self, replayed: ReplayedMatches) {
        let matched = replayed.matched.into_iter();
        self.matched.extend(matched.map(|matched| (None, matched)));
        self.bytes += replayed.bytes;
        self.warnings.extend(replayed.warnings);
    }

    /// The best of them, with the places of the matches.
    pub fn best_hits(self, search: &SessionSearch) -> SearchHits {
        let matched = self.matched.iter();
        let in_stores = matched.filter_map(|(store, (session, _))| {
            let store = (*store)?;
            Some((session.path.clone(), store))
        });
        let stores: HashMap<PathBuf, &dyn StoredSessions> = in_stores.collect();
        let matched = self.matched.into_iter().map(|(_, matched)| matched);
        let mut ranked = search.ranked_sessions(matched.collect());
        let total = ranked.len();
        ranked.truncate(search.limit);
        for (session, (_, snippets)) in &mut ranked {
            if let (None, Some(store)) = (&snippets, stores.get(&session.path)) {
                *snippets = Some(search.stored_snippets(*store, session));
            }
        }
        let hits = ranked.into_iter().map(|one| search.session_hit(one));
        SearchHits {
            hits: hits.collect(),
            total,
            searched_bytes: self.bytes,
            warnings: self.warnings,
        }
    }
}

impl SessionSearch {
    /// The places in a session that matched a moment ago. One that has gone since has none.
    fn stored_snippets(
        &self,
        store: &dyn StoredSessions,
        session: &ListedSession,
    ) -> Vec<lapidary_vocab::session::TextMatch> {
        let fit = self.listed_fit(store, session);
        let snippets = fit.ok().flatten().and_then(|(_, snippets)| snippets);
        snippets.unwrap_or_default()
    }
}

/// Passes on the texts of a session: the title first, then those of its events.
pub(crate) fn each_text(
    store: &dyn StoredSessions,
    path: &Path,
    id: &str,
    title: &str,
    take: &mut dyn FnMut(&TextEntry<'_>),
) -> Result<(), ReplaySessionError> {
    take(&TextEntry {
        role: EntryRole::Title,
        message: None,
        tool: None,
        model: None,
        text: Cow::Borrowed(title),
    });
    let mut texts = EventTexts::default();
    store.replay_stored(path, &search_options(id), &mut |event| {
        texts.read_event(&event, take);
    })
}

/// The ids of sessions with a hit. Of one that only the index knows, the path tells it later.
fn hit_ids(store: &FoundStore<'_>, looks: &[StoredLook]) -> Vec<String> {
    let hits = store.files.iter().zip(looks);
    let ids = hits.filter_map(|(file, look)| match look {
        StoredLook::Hit(Some(summary), _) => Some(summary.0.clone()),
        StoredLook::Hit(None, _) => store.store.quick_id(file),
        StoredLook::Miss | StoredLook::KnownMiss | StoredLook::Failed(_) => None,
    });
    ids.collect()
}

/// The listed sessions among those with these ids, each with its fit. Of several files with one id the later updated counts, so
/// all of them are looked at.
fn list_concerned(
    store: &FoundStore<'_>,
    looks: &mut [StoredLook],
    ids: &HashSet<String>,
    known_paths: &HashSet<Vec<u8>>,
    scope: &ProviderScope<'_>,
    memory: &mut dyn WordMemory,
) -> Vec<(ListedSession, Option<FileFit>)> {
    let mut rows = RowMaker::new(store.store.provider(), scope);
    let mut sessions = Vec::new();
    let mut files: Vec<StoreFile> = Vec::new();
    let mut fits: HashMap<PathBuf, FileFit> = HashMap::new();
    for (file, look) in store.files.iter().zip(looks) {
        let mut summary = None;
        let is_concerned = match std::mem::replace(look, StoredLook::Miss) {
            StoredLook::Hit(read, fit) => {
                fits.insert(file.path.clone(), fit);
                summary = read;
                true
            }
            StoredLook::KnownMiss => known_paths.contains(file.path.as_os_str().as_encoded_bytes()),
            StoredLook::Miss => {
                let id = store.store.quick_id(file);
                id.is_none_or(|id| ids.contains(&id))
            }
            StoredLook::Failed(error) => {
                *look = StoredLook::Failed(error);
                false
            }
        };
        match summary {
            Some(summary) => sessions.extend(rows.row(file, *summary)),
            None if is_concerned => files.push(file.clone()),
            None => {}
        }
    }
    let summaries = summaries_of(store.store, &files, scope, memory);
    for (file, summary) in files.iter().zip(summaries) {
        let summary = summary.ok().flatten();
        let summary = summary.filter(|(_, facts)| facts.messages > 0);
        sessions.extend(summary.and_then(|summary| rows.row(file, summary)));
    }
    let sessions = newest_of_each(sessions, &mut Vec::new());
    let with_fit = sessions.into_iter().map(|session| {
        let fit = fits.remove(&session.path);
        (session, fit)
    });
    with_fit.collect()
}

/// A sentence for each session that cannot be read.
fn failures(looks: Vec<Vec<StoredLook>>) -> Vec<String> {
    let looks = looks.into_iter().flatten();
    let failed = looks.filter_map(|look| match look {
        StoredLook::Failed(error) => Some(unsearched_warning(&error)),
        StoredLook::Hit(..) | StoredLook::Miss | StoredLook::KnownMiss => None,
    });
    failed.collect()
}
