//! The sources of sessions: the projects, and their index if there is one.

use lapidary::sessions::search::{SearchFilters, SearchProgress, SearchQuery, SessionSearch};
use lapidary::sessions::{
    CompactSummary, FromFiles, SessionCandidate, SessionIndex, SessionListing, SessionProject,
    SummarySource, UnreadableFile,
};

use super::super::common::{ProjectScope, SessionsContext};
use crate::failure::Failure;

/// How many files are listed between two reports of progress.
const BATCH: usize = 256;

/// For how many sessions the matches are shown. Users do not look through more.
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
        // Not kept open: a process that wants to delete the index would have to wait for us.
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
