//! The interface for sessions of any agent.
//!
//! A [`SessionProvider`] finds sessions, summarises each for a list, and replays one as events. Gemini CLI's session files are
//! the first provider ([`GeminiSessions`]). Recordings are the second; they are in `lapidary-engine`, which knows how to read
//! them. A list takes Gemini's sessions first, and adds a session of another provider only if its id is new
//! ([`SessionListing::add_others`]): a run whose agent left a session file is one session.
//!
//! `SessionProviders` holds the providers beside Gemini CLI's own files. Commands ask it, and not a provider by its name;
//! [`ProviderCapabilities`] tells them which operations a provider does not support.

mod capabilities;
mod gemini;
mod others;
mod usage;
mod vault_source;

use std::collections::HashSet;

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::Event;

use crate::listing::{ListedSession, SessionListing};
use crate::provider_scope::ProviderScope;
use crate::replay_error::ReplaySessionError;
use crate::stored_sessions::StoredSessions;

pub(crate) use capabilities::NO_DELETE_HINT;
pub use capabilities::{ProviderCapabilities, SessionAbility, UnsupportedOperation};
pub use gemini::GeminiSessions;
pub(crate) use others::DynProvider;
pub use others::{OtherSession, OtherSessions, file_counts};
pub use usage::{UsageFile, UsageFiles, UsageReader};
pub(crate) use vault_source::files_below;
pub use vault_source::{VaultFolder, VaultSource};

/// A source of recorded sessions.
pub trait SessionProvider {
    /// The provider's name, such as `gemini` or `recordings`.
    fn name(&self) -> &'static str;

    /// The operations that its sessions support.
    fn capabilities(&self) -> ProviderCapabilities;

    /// Finds the sessions of a scope, and summarises each. No transcript is kept of it.
    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing;

    /// Passes on the events of a session that [`SessionProvider::list`] has returned, in order, text in whole pieces.
    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError>;

    /// Reads usage from its files. None if its sessions are counted by their events.
    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        None
    }

    /// The command of the agent that continues a session on a terminal, with `{id}` for its id. None if it has no such command.
    fn resume_command(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The files that the vault copies. None if the provider has no files, or none that can be copied one by one.
    fn vault_source(&self) -> Option<&dyn VaultSource> {
        None
    }

    /// Its sessions one by one, as an index and a search take them. None if they can only be listed and replayed.
    fn stored_sessions(&self) -> Option<&dyn StoredSessions> {
        None
    }

    /// Replays sessions that are no files of their own as the caller wants them. None if a session's file is there to be read.
    fn raw_replay(&self) -> Option<&dyn RawReplay> {
        None
    }
}

/// Replays sessions that are no files of their own, such as rows of a database.
pub trait RawReplay {
    /// Passes on the events of a session, with their `raw` if the options say so.
    fn replay_with(
        &self,
        session: &ListedSession,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError>;
}

impl SessionListing {
    /// Adds the sessions of another provider that are not in this list. The sessions of a project stay together, the others last.
    pub fn add_others(&mut self, others: Self) {
        self.warnings.extend(others.warnings);
        self.hidden.extend(others.hidden);
        if others.sessions.is_empty() {
            return;
        }
        let known = self.sessions.iter().map(ListedSession::id);
        let known: HashSet<&str> = known.collect();
        let is_new = |session: &ListedSession| !known.contains(session.id());
        let new: Vec<ListedSession> = others.sessions.into_iter().filter(is_new).collect();
        self.sessions.extend(new);
        self.sessions.sort_by_key(|session| session.project);
    }
}
