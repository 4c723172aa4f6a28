//! Finding sessions by the words and tool calls in them.
//!
//! Words, phrases or a regular expression are searched for in the state that a session has at the end of its file, as `show`
//! shows it. The results and their order do not depend on the use of an index: `direct` reads the files, and the index holds only
//! the contents of files.

mod comparable;
pub(super) mod direct;
pub(super) mod entries;
mod event_texts;
pub(super) mod filters;
pub(super) mod letters;
pub(super) mod needle;
mod prefilter;
pub(super) mod query;
mod replayed;
mod snippet;
pub(super) mod stored;
pub(super) mod tokens;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use lapidary_vocab::session::TextMatch;

pub use comparable::{exact, folded};
pub use entries::EntryRole;
pub use filters::SearchFilters;
pub use query::{QueryError, SearchQuery};
pub use stored::ProviderMatches;

use self::filters::SearchScore;
use super::candidates::{FileSightings, NoMemory, SessionCandidate, in_order, session_sightings};
use super::listing::{ListedSession, SessionListing};
use super::projects::SessionProject;
use super::scan::FileScanner;

/// The query, its filters, and the number of results.
#[derive(Debug, Clone)]
pub struct SessionSearch {
    /// The query.
    pub query: SearchQuery,
    /// The filters.
    pub filters: SearchFilters,
    /// How many sessions at most, the best first.
    pub limit: usize,
}

/// The results of a search.
#[derive(Debug, Default)]
pub struct SearchHits {
    /// The best sessions, the best first.
    pub hits: Vec<SessionHit>,
    /// How many sessions there are in which everything was found.
    pub total: usize,
    /// How many bytes there were to look through.
    pub searched_bytes: u64,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// A session in which everything was found.
#[derive(Debug, Clone)]
pub struct SessionHit {
    /// The session. It has no number: that takes a list of them all.
    pub session: ListedSession,
    /// Whether everything is in its title.
    pub in_title: bool,
    /// How many of its texts match a part of the query.
    pub matching_texts: u64,
    /// Some of the places.
    pub snippets: Vec<TextMatch>,
}

/// Gets how many files of how many are searched, from several threads; returns whether to go on.
pub type SearchProgress<'w> = dyn Fn(usize, usize) -> bool + Sync + 'w;

/// How well a file fits, and where, if that is known already.
type FileFit = (SearchScore, Option<Vec<TextMatch>>);

/// A session and how well it fits.
type MatchedSession = (ListedSession, FileFit);

impl SessionSearch {
    /// Looks through the files of these projects.
    pub fn run(&self, projects: &[SessionProject], now: SystemTime) -> SearchHits {
        let (seen, warnings) = session_sightings(projects, &mut NoMemory);
        let bytes = bytes_of(&seen);
        let matched = self.in_files(seen, projects, now, &|_, _| true);
        self.best_hits(matched.unwrap_or_default(), bytes, warnings)
    }

    /// Looks through these files.
    pub(super) fn of_candidates(
        &self,
        files: &[SessionCandidate],
        projects: &[SessionProject],
        now: SystemTime,
    ) -> SearchHits {
        let bytes = files.iter().map(|file| file.size).sum();
        let matched = self.in_candidates(files, projects, now, &|_, _| true);
        self.best_hits(matched.unwrap_or_default(), bytes, Vec::new())
    }

    /// The same, with the help of an index.
    #[cfg(feature = "index")]
    pub fn with(
        &self,
        index: &mut super::SessionIndex,
        projects: &[SessionProject],
        now: SystemTime,
    ) -> SearchHits {
        let (seen, mut warnings) = session_sightings(projects, index);
        let bytes = bytes_of(&seen);
        let matched = self.in_index(index, seen, projects, now, &|_, _| true);
        warnings.append(&mut index.warnings);
        self.best_hits(matched.unwrap_or_default(), bytes, warnings)
    }

    /// Searches with the help of an index and reports progress to `watch`. All matching sessions are returned; beyond the limit,
    /// snippets are skipped if they would take another reading of the file. None if the watch stopped the search.
    #[cfg(feature = "index")]
    pub fn watched(
        &self,
        index: &mut super::SessionIndex,
        projects: &[SessionProject],
        now: SystemTime,
        watch: &SearchProgress<'_>,
    ) -> Option<SearchHits> {
        let (seen, mut warnings) = session_sightings(projects, index);
        let searched_bytes = bytes_of(&seen);
        let count = seen.iter().map(FileSightings::len).sum();
        let matched = self.in_index(index, seen, projects, now, watch)?;
        warnings.append(&mut index.warnings);
        let matched = self.ranked_sessions(matched);
        let mut found = SearchHits {
            total: matched.len(),
            searched_bytes,
            warnings,
            ..SearchHits::default()
        };
        for (rank, mut one) in matched.into_iter().enumerate() {
            if !watch(count, count) {
                return None;
            }
            if rank >= self.limit {
                one.1.1.get_or_insert_default();
            }
            found.hits.push(self.session_hit(one));
        }
        Some(found)
    }

    fn in_files(
        &self,
        seen: Vec<FileSightings>,
        projects: &[SessionProject],
        now: SystemTime,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<MatchedSession>> {
        self.in_candidates(&in_order(seen), projects, now, watch)
    }

    fn in_candidates(
        &self,
        files: &[SessionCandidate],
        projects: &[SessionProject],
        now: SystemTime,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<MatchedSession>> {
        direct::search_sessions(files, projects, now, &self.query, &self.filters, watch)
    }

    /// Searches the index, or the files if the index cannot answer. None if the watch stopped the search.
    #[cfg(feature = "index")]
    fn in_index(
        &self,
        index: &mut super::SessionIndex,
        seen: Vec<FileSightings>,
        projects: &[SessionProject],
        now: SystemTime,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<MatchedSession>> {
        let Some(looked) = index.search_files(&seen, &self.query, &self.filters, watch) else {
            return self.in_files(seen, projects, now, watch);
        };
        let mut files = Vec::with_capacity(looked.len());
        let mut summaries = Vec::with_capacity(looked.len());
        let mut fits = Vec::with_capacity(looked.len());
        for one in looked {
            files.push(one.file);
            summaries.push(one.summary);
            fits.push(one.score.map(|score| (score, None)));
        }
        let listing =
            SessionListing::of_files(files.clone(), projects, now, &mut GivenSummaries(summaries));
        Some(matched_sessions(listing, &files, fits))
    }

    /// The best of them, in order, with the places where it is.
    fn best_hits(
        &self,
        matched: Vec<MatchedSession>,
        searched_bytes: u64,
        warnings: Vec<String>,
    ) -> SearchHits {
        let mut matched = self.ranked_sessions(matched);
        let total = matched.len();
        matched.truncate(self.limit);
        SearchHits {
            hits: matched
                .into_iter()
                .map(|one| self.session_hit(one))
                .collect(),
            total,
            searched_bytes,
            warnings,
        }
    }

    /// Those of the time that is meant, the best first.
    fn ranked_sessions(&self, mut matched: Vec<MatchedSession>) -> Vec<MatchedSession> {
        matched.retain(|(session, _)| self.filters.take_time(session));
        matched.sort_by(|(one, (score, _)), (other, (other_score, _))| {
            let key = |session: &ListedSession, score: SearchScore| {
                (Reverse(score), Reverse(session.updated_ms))
            };
            key(one, *score)
                .cmp(&key(other, *other_score))
                .then_with(|| one.id().cmp(other.id()))
                .then_with(|| one.info().path.cmp(&other.info().path))
        });
        matched
    }

    fn session_hit(&self, (session, (score, snippets)): MatchedSession) -> SessionHit {
        SessionHit {
            snippets: snippets
                .unwrap_or_else(|| self.file_snippets(&session.path, session.info().size)),
            session,
            in_title: score.in_title,
            matching_texts: score.any,
        }
    }

    /// The snippets of a file that matched a moment ago. A file that has gone since has none.
    fn file_snippets(&self, path: &Path, size: u64) -> Vec<TextMatch> {
        let mut buffer = Vec::new();
        let Ok(bytes) = direct::read_file_bytes(path, size, &mut buffer) else {
            return Vec::new();
        };
        match FileScanner::bytes(bytes) {
            Ok(summary) => snippet::cut_snippets(&self.query, &self.filters, &summary, bytes)
                .map(|(_, snippets)| snippets)
                .unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }
}

fn bytes_of(seen: &[FileSightings]) -> u64 {
    seen.iter().map(FileSightings::total_bytes).sum()
}

/// Summaries that are there already.
#[cfg(feature = "index")]
struct GivenSummaries(Vec<Result<super::scan::CompactSummary, super::scan::UnreadableFile>>);

#[cfg(feature = "index")]
impl super::candidates::DirectoryMemory for GivenSummaries {}

#[cfg(feature = "index")]
impl super::listing::SummarySource for GivenSummaries {
    fn read_all(
        &mut self,
        _: &[&SessionCandidate],
    ) -> Vec<Result<super::scan::CompactSummary, super::scan::UnreadableFile>> {
        std::mem::take(&mut self.0)
    }
}

/// Those sessions of a list whose file has a score.
fn matched_sessions(
    listing: SessionListing,
    files: &[SessionCandidate],
    fits: Vec<Option<FileFit>>,
) -> Vec<MatchedSession> {
    let mut fits: HashMap<&Path, FileFit> = files
        .iter()
        .zip(fits)
        .filter_map(|(file, fit)| Some((file.path.as_path(), fit?)))
        .collect();
    let matched = listing.sessions.into_iter().filter_map(|mut session| {
        let fit = fits.remove(session.path.as_path())?;
        session.set_index(0);
        Some((session, fit))
    });
    matched.collect()
}
