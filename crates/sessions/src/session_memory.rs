//! What lists and searches of other agents' sessions remember: an index, or nothing.

use std::fmt;

use crate::search::stored::WordMemory;
use crate::stored_sessions::{NoIndex, SummaryMemory};

/// An index of sessions, or none.
pub struct SessionMemory<'i> {
    kind: MemoryKind<'i>,
}

enum MemoryKind<'i> {
    None(NoIndex),
    #[cfg(feature = "index")]
    Index(&'i mut crate::index::SessionIndex),
    /// Holds the lifetime in a build without an index.
    #[cfg(not(feature = "index"))]
    #[expect(dead_code, reason = "there is no index")]
    Absent(std::convert::Infallible, std::marker::PhantomData<&'i ()>),
}

impl<'i> SessionMemory<'i> {
    /// Every session is read.
    pub fn none() -> Self {
        let kind = MemoryKind::None(NoIndex);
        Self { kind }
    }

    /// Sessions that an index knows are not read.
    #[cfg(feature = "index")]
    pub fn index(index: &'i mut crate::index::SessionIndex) -> Self {
        let kind = MemoryKind::Index(index);
        Self { kind }
    }

    pub(crate) fn as_words(&mut self) -> &mut dyn WordMemory {
        match &mut self.kind {
            MemoryKind::None(none) => none,
            #[cfg(feature = "index")]
            MemoryKind::Index(index) => *index,
            #[cfg(not(feature = "index"))]
            MemoryKind::Absent(never, _) => match *never {},
        }
    }

    pub(crate) fn as_summaries(&mut self) -> &mut dyn SummaryMemory {
        self.as_words()
    }
}

impl fmt::Debug for SessionMemory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionMemory").finish_non_exhaustive()
    }
}
