//! Sessions of Codex CLI: rollouts in `sessions` and `archived_sessions` of `~/.codex`, or of `CODEX_HOME`.
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod files;
mod line_head;
mod summary;
mod usage;
mod vault;

use std::path::{Path, PathBuf};

use lapidary_normalize::NormalizeOptions;
use lapidary_normalize::codex::rollout::RolloutNormalizer;
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;

use crate::agent_summary::{IdentifiedSummary, SkippedBecause};
use crate::line_source::SessionLines;
use crate::listing::{ListedSession, SessionListing};
use crate::provider::{
    NO_DELETE_HINT, ProviderCapabilities, SessionProvider, UsageReader, VaultSource,
};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::replay_error::ReplaySessionError;
use crate::store_files::{FoundFiles, StoreFile};
use crate::stored_sessions::{ListMemory, NoIndex, StoredSessions, list_stored, replay_options};
use summary::RolloutSummary;

/// How these sessions differ from those of Gemini CLI.
const OF_CODEX: &str = "is a session of Codex CLI";

/// The sessions of Codex CLI in a directory.
#[derive(Debug)]
pub struct CodexSessions {
    home: PathBuf,
}

impl CodexSessions {
    /// The sessions in a directory of Codex CLI, such as `~/.codex`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }
}

impl SessionProvider for CodexSessions {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::read_only(OF_CODEX, NO_DELETE_HINT)
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        list_stored(self, scope, &mut NoIndex)
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        self.replay_stored(&session.path, &replay_options(session.id()), take)
    }

    fn stored_sessions(&self) -> Option<&dyn StoredSessions> {
        Some(self)
    }

    fn resume_command(&self) -> Option<&'static [&'static str]> {
        Some(&["codex", "resume", "{id}"])
    }

    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        Some(self)
    }

    fn vault_source(&self) -> Option<&dyn VaultSource> {
        Some(self)
    }
}

impl StoredSessions for CodexSessions {
    fn provider(&self) -> Provider {
        Provider::Codex
    }

    /// Names do not tell the project of a rollout, so those of every project are found.
    fn find(&self, _: &ProviderScope<'_>, _: &mut dyn ListMemory) -> FoundFiles {
        files::find_in_home(&self.home)
    }

    fn summarise(
        &self,
        file: &StoreFile,
        wanted: &WantedDirectories,
    ) -> Result<Option<IdentifiedSummary>, SkippedBecause> {
        RolloutSummary::read_file(&file.path, wanted)?.check()
    }

    /// The first record names the session.
    fn quick_id(&self, file: &StoreFile) -> Option<String> {
        RolloutSummary::read_id(&file.path)
    }

    fn replay_stored(
        &self,
        path: &Path,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let mut normalizer = RolloutNormalizer::new(options);
        let lines = SessionLines::open(path);
        let replayed = lines.and_then(|mut lines| lines.replay(&mut normalizer, take));
        replayed.map_err(|error| ReplaySessionError::new(path, error))
    }

    /// The arguments of a call are JSON in a string.
    fn nests_json(&self) -> bool {
        true
    }
}
