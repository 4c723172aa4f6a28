//! Sessions of Claude Code: `projects/<name of the directory>/<session>.jsonl` in `~/.claude`, or in `CLAUDE_CONFIG_DIR`.
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod history;
mod summary;
mod usage;
mod vault;

use std::path::{Path, PathBuf};

use lapidary_normalize::NormalizeOptions;
use lapidary_normalize::claude::session_events::ClaudeNormalizer;
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;

use crate::agent_summary::{IdentifiedSummary, SkippedBecause};
use crate::agent_transcripts::AgentTranscriptFiles;
use crate::line_source::SessionLines;
use crate::listing::{ListedSession, SessionListing};
use crate::provider::{
    NO_DELETE_HINT, ProviderCapabilities, SessionProvider, UsageReader, VaultSource,
};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::replay_error::ReplaySessionError;
use crate::store_files::{FoundFiles, StoreFile};
use crate::stored_sessions::{ListMemory, NoIndex, StoredSessions, list_stored, replay_options};
pub use history::{ClaudePrompt, ForgottenSession};
use summary::ClaudeSummary;

/// How these sessions differ from those of Gemini CLI.
const OF_CLAUDE: &str = "is a session of Claude Code";

/// The sessions of Claude Code in a directory.
#[derive(Debug)]
pub struct ClaudeSessions {
    home: PathBuf,
    projects: PathBuf,
}

impl ClaudeSessions {
    /// The sessions in a directory of Claude Code, such as `~/.claude`.
    pub fn new(config: impl Into<PathBuf>) -> Self {
        let home = config.into();
        let projects = home.join("projects");
        // Folders are found by the place that a link leads to, and paths are compared with them.
        let projects = projects.canonicalize().unwrap_or(projects);
        Self { home, projects }
    }
}

impl SessionProvider for ClaudeSessions {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::read_only(OF_CLAUDE, NO_DELETE_HINT)
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
        Some(&["claude", "--resume", "{id}"])
    }

    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        Some(self)
    }

    fn vault_source(&self) -> Option<&dyn VaultSource> {
        Some(self)
    }
}

impl StoredSessions for ClaudeSessions {
    fn provider(&self) -> Provider {
        Provider::Claude
    }

    fn find(&self, scope: &ProviderScope<'_>, _: &mut dyn ListMemory) -> FoundFiles {
        let mut found = FoundFiles::default();
        for directory in found.project_directories(&self.projects, scope) {
            let from = found.files.len();
            let others = found.add_directory(&directory, ".jsonl", &self.projects);
            found.attach_subagents(from, &others, |file| {
                file.path.with_extension("").join("subagents")
            });
        }
        found
    }

    fn summarise(
        &self,
        file: &StoreFile,
        _: &WantedDirectories,
    ) -> Result<Option<IdentifiedSummary>, SkippedBecause> {
        let summary = ClaudeSummary::read_file(&file.path)?.check()?;
        Ok(Some((file.id.clone(), summary.into_agent_summary())))
    }

    fn replay_stored(
        &self,
        path: &Path,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let subagents = AgentTranscriptFiles::of_claude(path);
        let mut normalizer = ClaudeNormalizer::new(options, &subagents);
        let lines = SessionLines::open(path);
        let replayed = lines.and_then(|mut lines| lines.replay(&mut normalizer, take));
        replayed.map_err(|error| ReplaySessionError::new(path, error))
    }
}
