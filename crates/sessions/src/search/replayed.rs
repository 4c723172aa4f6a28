//! Searching through the sessions of a provider by their events.

use std::borrow::Cow;

use super::entries::{Entry, Role};
use super::event_texts::EventTexts;
use super::snippet::Finder;
use super::{Fit, Found, Matched, Search};
use crate::listing::{Listed, each_file};
use crate::provider::{OtherSessions, ReplaySessionError, SessionProvider};

impl Search {
    /// Looks through the sessions of another provider. A session that cannot be read is a warning.
    pub fn of_others(&self, others: OtherSessions<'_>) -> Found {
        let provider = others.provider;
        let mut sessions = others.sessions;
        sessions.retain(|session| self.filters.take_time(session));
        let bytes = sessions.iter().map(|session| session.info().size).sum();
        let each: Vec<&Listed> = sessions.iter().collect();
        let looks = each_file(&each, || (), |(), session| self.fit(provider, session));
        let mut matched: Vec<Matched> = Vec::new();
        let mut warnings = Vec::new();
        for (session, look) in sessions.into_iter().zip(looks) {
            match look {
                Ok(Some(fit)) => matched.push((session, fit)),
                Ok(None) => {}
                Err(error) => warnings.push(unsearched(&error)),
            }
        }
        self.best(matched, bytes, warnings)
    }

    fn fit(
        &self,
        provider: &dyn SessionProvider,
        session: &Listed,
    ) -> Result<Option<Fit>, ReplaySessionError> {
        let mut finder = Finder::new(&self.query, &self.filters);
        finder.look(&title(session));
        let mut texts = EventTexts::default();
        provider.replay(session, &mut |event| {
            texts.read(&event, &mut |entry| finder.look(entry));
        })?;
        let found = finder.finish();
        Ok(found.map(|(score, snippets)| (score, Some(snippets))))
    }
}

fn title(session: &Listed) -> Entry<'_> {
    Entry {
        role: Role::Title,
        message: None,
        tool: None,
        model: None,
        text: Cow::Borrowed(&session.info().display_name),
    }
}

fn unsearched(error: &ReplaySessionError) -> String {
    format!("{error}, so it is not searched: {}", error.source)
}
