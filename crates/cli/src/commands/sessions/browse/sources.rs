//! Where sessions come from: the projects, and an index of them if there is one.

use lapidary::sessions::search::{Filters, Query, Search, Watch};
use lapidary::sessions::{
    Candidate, CompactSummary, FromFiles, Index, Listing, Project, Summaries, Unreadable,
};

use super::super::common::{Place, Scope};
use crate::failure::Failure;

/// So many files are listed before it is told how far it is.
const BATCH: usize = 256;

/// Of so many sessions it is shown where they say what is searched. More are not looked through by anybody.
const WITH_PLACES: usize = 500;

/// The projects that are browsed.
pub(super) struct Sources {
    place: Place,
    scope: Scope,
    pub(super) projects: Vec<Project>,
}

impl Sources {
    pub(super) fn new(place: Place, scope: Scope) -> Result<Self, Failure> {
        Ok(Self {
            projects: place.projects(&scope)?,
            place,
            scope,
        })
    }

    /// All sessions, in numbers that tell how far it is.
    pub(super) fn listing(&self, told: &dyn Fn(usize, usize)) -> Listing {
        let index = self.place.index(&self.scope);
        let mut counting = Counting { index, told };
        let mut listing = Listing::with(&self.projects, self.place.now, &mut counting);
        listing.warnings.append(&mut counting.index.warnings);
        listing
    }

    /// What `sessions search` finds. None if it was given up, or there is no word to look for.
    pub(super) fn search(&self, query: &str, watch: &Watch<'_>) -> Option<Vec<Hit>> {
        let search = Search {
            query: Query::words(query).ok()?,
            filters: Filters::default(),
            limit: WITH_PLACES,
        };
        // Not kept open: who wants to delete it would have to wait for us.
        let mut index = self.place.index(&self.scope);
        let found = search.watched(&mut index, &self.projects, self.place.now, watch)?;
        Some(found.hits)
    }
}

pub(super) use lapidary::sessions::search::Hit;

/// Summaries from the index or else the files, telling how far it is.
struct Counting<'t> {
    index: Index,
    told: &'t dyn Fn(usize, usize),
}

impl Summaries for Counting<'_> {
    fn of(&mut self, files: &[&Candidate]) -> Vec<Result<CompactSummary, Unreadable>> {
        (self.told)(0, files.len());
        // All at once: how much it takes in on the way is limited for each time it is asked.
        if self.index.is_open() {
            return self.index.of(files);
        }
        let mut read = Vec::with_capacity(files.len());
        for batch in files.chunks(BATCH) {
            (self.told)(read.len(), files.len());
            read.extend(FromFiles.of(batch));
        }
        read
    }
}
