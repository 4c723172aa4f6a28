//! Where sessions come from: the projects, and an index of them if there is one.

use std::path::Path;

use lapidary::sessions::search::{SearchFilters, SearchProgress, SearchQuery, SessionSearch};
use lapidary::sessions::{
    CompactSummary, DirectoryMemory, DirectoryNames, DirectoryState, FromFiles, SessionCandidate,
    SessionIndex, SessionListing, SessionProject, SummarySource, UnreadableFile,
};

use super::super::common::{ProjectScope, SessionsContext};
use crate::failure::Failure;

/// So many files are listed before it is told how far it is.
const BATCH: usize = 256;

/// Of so many sessions it is shown where they say what is searched. More are not looked through by anybody.
const WITH_PLACES: usize = 500;

/// The projects that are browsed.
pub(super) struct BrowsedProjects {
    place: SessionsContext,
    scope: ProjectScope,
    pub(super) projects: Vec<SessionProject>,
}

impl BrowsedProjects {
    pub(super) fn new(place: SessionsContext, scope: ProjectScope) -> Result<Self, Failure> {
        Ok(Self {
            projects: place.projects(&scope)?,
            place,
            scope,
        })
    }

    /// All sessions, in numbers that tell how far it is.
    pub(super) fn listing(&self, told: &dyn Fn(usize, usize)) -> SessionListing {
        let index = self.place.index(&self.scope);
        let mut counting = CountingSource { index, told };
        let mut listing = SessionListing::with(&self.projects, self.place.now, &mut counting);
        listing.warnings.append(&mut counting.index.warnings);
        listing
    }

    /// What `sessions search` finds. None if it was given up, or there is no word to look for.
    pub(super) fn search(
        &self,
        query: &str,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<SessionHit>> {
        let search = SessionSearch {
            query: SearchQuery::words(query).ok()?,
            filters: SearchFilters::default(),
            limit: WITH_PLACES,
        };
        // Not kept open: who wants to delete it would have to wait for us.
        let mut index = self.place.index(&self.scope);
        let found = search.watched(&mut index, &self.projects, self.place.now, watch)?;
        Some(found.hits)
    }
}

pub(super) use lapidary::sessions::search::SessionHit;

/// Summaries from the index or else the files, telling how far it is.
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
