//! The sources of sessions: the projects, and their index if there is one.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary::sessions::search::{SearchFilters, SearchProgress, SearchQuery, SessionSearch};
use lapidary::sessions::{
    CompactSummary, DirectoryMemory, DirectoryNames, DirectoryState, FromFiles, OtherSessions,
    SessionCandidate, SessionIndex, SessionListing, SessionProject, SummarySource, UnreadableFile,
};

use super::super::common::{AgentFilter, ProjectScope, SessionsContext};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// How many files are listed between two reports of progress.
const BATCH: usize = 256;

/// For how many sessions the matches are shown. Users do not look through more.
const WITH_PLACES: usize = 500;

/// The projects that are browsed.
pub(super) struct BrowsedProjects {
    place: SessionsContext,
    scope: ProjectScope,
    whose: AgentFilter,
    pub(super) projects: Vec<SessionProject>,
    /// The sessions of other providers, as they were last listed.
    others: Mutex<Arc<OtherSessions>>,
}

impl BrowsedProjects {
    pub(super) fn new(
        place: SessionsContext,
        scope: ProjectScope,
        whose: AgentFilter,
    ) -> Result<Self, Failure> {
        Ok(Self {
            projects: place.scope_projects(&scope)?,
            others: Mutex::default(),
            place,
            scope,
            whose,
        })
    }

    /// The call of the program that browses.
    pub(super) fn invocation(&self) -> &Arc<Invocation> {
        &self.place.invocation
    }

    /// All sessions, in numbers that tell how far it is.
    pub(super) fn list_sessions(&self, told: &dyn Fn(usize, usize)) -> SessionListing {
        let index = self.place.session_index(&self.scope);
        let mut counting = CountingSource { index, told };
        let mut listing = SessionListing::with(
            self.whose.gemini_projects(&self.projects),
            self.place.now,
            &mut counting,
        );
        listing.warnings.append(&mut counting.index.warnings);
        let mut others = self.place.other_sessions(&self.scope, &self.projects);
        others.remove_listed(&listing);
        others.retain(|session| self.whose.takes_provider(&session.info().provider));
        listing.warnings.append(&mut others.warnings);
        *self.lock_others() = Arc::new(others);
        listing
    }

    /// The sessions of other providers, as they were last listed.
    pub(super) fn other_sessions(&self) -> Arc<OtherSessions> {
        self.lock_others().clone()
    }

    fn lock_others(&self) -> MutexGuard<'_, Arc<OtherSessions>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hits of `sessions search`. None if the search was given up, or there is no word to look for.
    pub(super) fn search_sessions(
        &self,
        query: &str,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<SessionHit>> {
        let search = SessionSearch {
            query: SearchQuery::words(query).ok()?,
            filters: SearchFilters::default(),
            limit: WITH_PLACES,
        };
        // Not kept open: a process that wants to delete the index would have to wait for us.
        let mut index = self.place.session_index(&self.scope);
        let projects = self.whose.gemini_projects(&self.projects);
        let mut found = search.watched(&mut index, projects, self.place.now, watch)?;
        found
            .hits
            .extend(search.of_others(&self.other_sessions()).hits);
        Some(found.hits)
    }
}

pub(super) use lapidary::sessions::search::SessionHit;

/// Summaries from the index or else the files, with progress.
struct CountingSource<'t> {
    index: SessionIndex,
    told: &'t dyn Fn(usize, usize),
}

impl DirectoryMemory for CountingSource<'_> {
    fn recall(&mut self, directory: &Path, state: DirectoryState) -> Option<DirectoryNames> {
        self.index.recall(directory, state)
    }

    fn note(&mut self, directory: &Path, state: DirectoryState, names: &DirectoryNames) {
        self.index.note(directory, state, names);
    }
}

impl SummarySource for CountingSource<'_> {
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>> {
        (self.told)(0, files.len());
        // All at once: how much it takes in on the way is limited for each time it is asked.
        if self.index.is_open() {
            return self.index.read_all(files);
        }
        let mut read = Vec::with_capacity(files.len());
        for batch in files.chunks(BATCH) {
            (self.told)(read.len(), files.len());
            read.extend(FromFiles.read_all(batch));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use lapidary::render::live::MarkSet;
    use lapidary_testkit::recorded::RecordedHome;

    use super::super::entry::BrowseEntry;
    use super::super::state::TranscriptExtent;
    use super::super::{other_commands, transcript};
    use super::*;

    const OWN: &str = "aaaaaaaa-0000-4000-8000-000000000001";
    const RECORDED: &str = "cccccccc-0000-4000-8000-000000000002";
    const MARKS: MarkSet = MarkSet::Unicode;

    /// A session of Gemini CLI, a run of it, and a recorded session of another agent.
    fn home() -> RecordedHome {
        let home = RecordedHome::new();
        home.session(OWN, "2026-01-02T10:00:00.000Z", &["a question of old"]);
        home.recorded_run("20260103T100000-aa", "gemini", OWN);
        home.recorded_run("20260103T110000-bb", "qwen", RECORDED);
        home
    }

    fn sources(home: &RecordedHome) -> BrowsedProjects {
        sources_of(home, AgentFilter::default())
    }

    fn sources_of(home: &RecordedHome, whose: AgentFilter) -> BrowsedProjects {
        let (place, scope) = (SessionsContext::of_test(home), ProjectScope::of_test(home));
        BrowsedProjects::new(place, scope, whose).unwrap_or_else(|_| panic!("a home"))
    }

    #[test]
    fn sessions_of_one_agent_are_browsed_and_searched_alone() {
        let home = home();
        for (agent, expected, hits) in [("qwen", RECORDED, 1), ("gemini", OWN, 0)] {
            let sources = sources_of(&home, AgentFilter::named(agent));
            let listing = sources.list_sessions(&|_, _| {});
            let entries = BrowseEntry::all_entries(&listing, &sources.other_sessions(), MARKS);
            let ids: Vec<_> = entries.iter().map(|it| it.id.as_str()).collect();
            assert_eq!(ids, [expected], "{agent}");
            let found = sources.search_sessions("lightship", &|_, _| true).unwrap();
            assert_eq!(found.len(), hits, "{agent}");
        }
    }

    #[test]
    fn a_session_that_is_only_recorded_is_browsed_after_those_of_gemini_cli() {
        let home = home();
        let sources = sources(&home);
        let listing = sources.list_sessions(&|_, _| {});
        let entries = BrowseEntry::all_entries(&listing, &sources.other_sessions(), MARKS);
        let rows: Vec<_> = entries
            .iter()
            .map(|it| (it.number, it.id.as_str()))
            .collect();
        assert_eq!(rows, [(Some(1), OWN), (None, RECORDED)]);
        assert!(entries[1].is_session());
        assert_eq!(entries[1].title, "find the lighthouse");
        assert!(entries[1].is_recorded && !entries[0].is_recorded);
        let refusals = entries[1].refusals.as_ref().unwrap();
        let delete = refusals.delete.as_deref();
        let expected = "it is in a recording only: use `lapidary runs delete 20260103T110000-bb`";
        assert_eq!(delete, Some(expected));
    }

    #[test]
    fn a_recorded_session_is_read_searched_and_exported_by_its_provider() {
        let home = home();
        let sources = sources(&home);
        let listing = sources.list_sessions(&|_, _| {});
        let others = sources.other_sessions();
        let path = others.iter().next().unwrap().listed.path.clone();
        let session = others.in_path(&path).unwrap();
        assert!(others.in_path(&listing.sessions[0].path).is_none());
        for extent in [TranscriptExtent::Preview, TranscriptExtent::Whole] {
            let lines = transcript::replay_transcript(&session, extent, MARKS, &|| true).unwrap();
            assert!(lines.concat().contains("A lightship."), "{lines:?}");
        }
        let hits = sources.search_sessions("lightship", &|_, _| true).unwrap();
        let hits: Vec<_> = hits.iter().map(|hit| hit.session.path.clone()).collect();
        assert_eq!(hits.as_slice(), std::slice::from_ref(&path));
        let to = home.root().join("exported.md");
        let export =
            || other_commands::export_markdown(&path, Some(session), &to, sources.invocation());
        export().unwrap();
        assert!(
            std::fs::read_to_string(&to)
                .unwrap()
                .contains("A lightship.")
        );
        assert!(export().is_err(), "a file stays");
    }

    #[test]
    fn a_recording_that_is_gone_says_so_instead_of_a_transcript() {
        let home = home();
        let sources = sources(&home);
        sources.list_sessions(&|_, _| {});
        let others = sources.other_sessions();
        let session = others.iter().next().unwrap();
        std::fs::remove_dir_all(&session.listed.path).unwrap();
        let read =
            transcript::replay_transcript(&session, TranscriptExtent::Whole, MARKS, &|| true);
        assert!(read.unwrap_err().contains("20260103T110000-bb"));
    }
}
