//! Searching through the sessions of a provider by their events.

use std::borrow::Cow;

use super::entries::{Entry, Role};
use super::event_texts::EventTexts;
use super::snippet::Finder;
use super::{Fit, Found, Matched, Search};
use crate::listing::{Listed, each_file};
use crate::provider::{OtherSession, OtherSessions, ReplaySessionError};

impl Search {
    /// Looks through the sessions of other providers. A session that cannot be read is a warning.
    pub fn of_others(&self, others: &OtherSessions) -> Found {
        let sessions = others.iter();
        let sessions: Vec<OtherSession<'_>> = sessions
            .filter(|session| self.filters.take_time(session.listed))
            .collect();
        let bytes = sessions.iter().map(|it| it.listed.info().size).sum();
        let each: Vec<_> = sessions.iter().collect();
        let looks = each_file(&each, || (), |(), session| self.fit(session));
        let mut matched: Vec<Matched> = Vec::new();
        let mut warnings = Vec::new();
        for (session, look) in sessions.iter().zip(looks) {
            match look {
                Ok(Some(fit)) => matched.push((session.listed.clone(), fit)),
                Ok(None) => {}
                Err(error) => warnings.push(unsearched(&error)),
            }
        }
        self.best(matched, bytes, warnings)
    }

    fn fit(&self, session: &OtherSession<'_>) -> Result<Option<Fit>, ReplaySessionError> {
        let mut finder = Finder::new(&self.query, &self.filters);
        finder.look(&title(session.listed));
        let mut texts = EventTexts::default();
        session.replay(&mut |event| {
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
