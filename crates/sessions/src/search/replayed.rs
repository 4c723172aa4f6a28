//! Searching through the sessions of a provider by their events.

use std::borrow::Cow;

use super::entries::{EntryRole, TextEntry};
use super::event_texts::EventTexts;
use super::snippet::SnippetFinder;
use super::{FileFit, MatchedSession, SearchHits, SessionSearch};
use crate::listing::{ListedSession, each_file};
use crate::provider::{OtherSession, OtherSessions};
use crate::replay_error::ReplaySessionError;

/// Sessions that were found by their events.
#[derive(Debug, Default)]
pub(crate) struct ReplayedMatches {
    pub(crate) matched: Vec<MatchedSession>,
    pub(super) bytes: u64,
    pub(super) warnings: Vec<String>,
}

impl SessionSearch {
    /// Looks through the sessions of other providers. A session that cannot be read is a warning.
    pub fn of_others(&self, others: &OtherSessions) -> SearchHits {
        let found = self.replay_others(others);
        self.best_hits(found.matched, found.bytes, found.warnings)
    }

    pub(crate) fn replay_others(&self, others: &OtherSessions) -> ReplayedMatches {
        let sessions = others.iter();
        let sessions: Vec<OtherSession<'_>> = sessions
            .filter(|session| self.filters.take_time(session.listed))
            .collect();
        let bytes = sessions.iter().map(|it| it.listed.info().size).sum();
        let each: Vec<_> = sessions.iter().collect();
        let looks = each_file(&each, || (), |(), session| self.session_fit(session));
        let mut matched: Vec<MatchedSession> = Vec::new();
        let mut warnings = Vec::new();
        for (session, look) in sessions.iter().zip(looks) {
            match look {
                Ok(Some(fit)) => matched.push((session.listed.clone(), fit)),
                Ok(None) => {}
                Err(error) => warnings.push(unsearched_warning(&error)),
            }
        }
        ReplayedMatches {
            matched,
            bytes,
            warnings,
        }
    }

    fn session_fit(
        &self,
        session: &OtherSession<'_>,
    ) -> Result<Option<FileFit>, ReplaySessionError> {
        if let Some(store) = session.stored_sessions() {
            return self.listed_fit(store, session.listed);
        }
        let mut finder = SnippetFinder::new(&self.query, &self.filters);
        finder.look_at_text(&listed_title_entry(session.listed));
        let mut texts = EventTexts::default();
        session.replay(&mut |event| {
            texts.read_event(&event, &mut |entry| finder.look_at_text(entry));
        })?;
        let found = finder.finish();
        Ok(found.map(|(score, snippets)| (score, Some(snippets))))
    }
}

fn listed_title_entry(session: &ListedSession) -> TextEntry<'_> {
    TextEntry {
        role: EntryRole::Title,
        message: None,
        tool: None,
        model: None,
        text: Cow::Borrowed(&session.info().display_name),
    }
}

pub(super) fn unsearched_warning(error: &ReplaySessionError) -> String {
    format!("{error}, so it is not searched: {}", error.source)
}
