//! Filters for the texts that are searched, and the score of a session.

use super::entries::{EntryRole, TextEntry};
use crate::listing::ListedSession;

/// The texts to search. An absent filter excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct SearchFilters {
    /// Sessions that were updated at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Sessions that began at this time or earlier.
    pub until_ms: Option<i64>,
    /// Arguments and results of this tool; its name in any case.
    pub tool: Option<String>,
    /// Messages and tool calls of models whose name contains this.
    pub model: Option<String>,
    /// Texts of this author.
    pub role: Option<EntryRole>,
}

impl SearchFilters {
    /// True if every text counts.
    #[cfg(feature = "index")]
    pub(crate) fn take_every_text(&self) -> bool {
        self.tool.is_none() && self.model.is_none() && self.role.is_none()
    }

    /// True if a text counts.
    pub(crate) fn is_wanted_text(
        &self,
        role: EntryRole,
        tool: Option<&str>,
        model: Option<&str>,
    ) -> bool {
        let is_tool = |wanted: &String| tool.is_some_and(|tool| tool.eq_ignore_ascii_case(wanted));
        let is_model = |wanted: &String| {
            let wanted = wanted.to_ascii_lowercase();
            model.is_some_and(|model| model.to_ascii_lowercase().contains(&wanted))
        };
        self.role.is_none_or(|wanted| wanted == role)
            && self.tool.as_ref().is_none_or(is_tool)
            && self.model.as_ref().is_none_or(is_model)
    }

    /// True if a session is of the right time. One of no time is of no time that could be asked for.
    pub(super) fn take_time(&self, session: &ListedSession) -> bool {
        self.since_ms
            .is_none_or(|since| session.updated_ms.is_some_and(|updated| updated >= since))
            && self
                .until_ms
                .is_none_or(|until| session.started_ms.is_some_and(|started| started <= until))
    }
}

/// How well a session fits: the more, the better, from the first field on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SearchScore {
    /// Everything is in the title.
    pub(crate) in_title: bool,
    /// How many texts have everything in them.
    pub(crate) whole: u64,
    /// How many texts match a part of the query.
    pub(crate) any: u64,
}

/// A session, text by text.
#[derive(Debug, Default)]
pub(crate) struct SessionTally {
    score: SearchScore,
    found: u32,
}

impl SessionTally {
    /// A text in which some terms are.
    pub(crate) fn add_text(&mut self, is_title: bool, mask: u32, everything: u32) {
        self.found |= mask;
        if is_title {
            self.score.in_title |= mask == everything;
        } else {
            self.score.whole += u64::from(mask == everything);
            self.score.any += u64::from(mask != 0);
        }
    }

    /// How well it fits, if every term was found.
    pub(crate) fn search_score(&self, everything: u32) -> Option<SearchScore> {
        (self.found == everything).then_some(self.score)
    }
}

impl SearchFilters {
    pub(super) fn take_entry(&self, entry: &TextEntry<'_>) -> bool {
        self.is_wanted_text(entry.role, entry.tool.as_deref(), entry.model.as_deref())
    }
}
