//! Gemini CLI's session files as a provider.

use std::fmt;
use std::fs;

use lapidary_normalize::gemini::session_events;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_wire::gemini::session::ReplayedLog;

use super::{ProviderCapabilities, SessionAbility, SessionProvider};
use crate::listing::{ListedSession, SessionListing, SummarySource};
use crate::provider_scope::ProviderScope;
use crate::replay_error::ReplaySessionError;
use crate::subagent_files::SubagentFiles;

/// The sessions of Gemini CLI, with summaries from the files or from an index of them.
pub struct GeminiSessions<'s> {
    summaries: &'s mut dyn SummarySource,
}

impl<'s> GeminiSessions<'s> {
    /// Sessions whose summaries come from there.
    pub fn new(summaries: &'s mut dyn SummarySource) -> Self {
        Self { summaries }
    }
}

impl fmt::Debug for GeminiSessions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiSessions").finish_non_exhaustive()
    }
}

impl SessionProvider for GeminiSessions<'_> {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities {
            has_numbers: true,
            resume: SessionAbility::Supported,
            delete: SessionAbility::Supported,
            records: SessionAbility::Supported,
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        SessionListing::with(scope.projects, scope.now, self.summaries)
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let bytes = fs::read(&session.path).map_err(|error| ReplaySessionError {
            path: session.path.clone(),
            source: error.into(),
        })?;
        let mut options = NormalizeOptions::new(session.id());
        options.keep_raw = false;
        options.deltas = DeltaMode::Final;
        let subagents = SubagentFiles::beside(&session.path, session.id());
        let log = ReplayedLog::read(&bytes);
        session_events::events_with_subagents(&log, &options, &subagents, take);
        Ok(())
    }
}
