//! Sessions of Claude Code: `projects/<name of the directory>/<session>.jsonl` in `~/.claude`, or in `CLAUDE_CONFIG_DIR`.
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod history;
mod summary;
mod usage;
mod vault;

use std::path::PathBuf;

use lapidary_normalize::claude::session_events::ClaudeNormalizer;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;

use crate::agent_summary::{SessionPlace, listed_session};
use crate::agent_transcripts::AgentTranscriptFiles;
use crate::line_source::SessionLines;
use crate::listing::{ListedSession, SessionListing, each_file};
use crate::provider::{
    ProjectPlaces, ProviderCapabilities, ProviderScope, ReplaySessionError, SessionAbility,
    SessionProvider, UsageReader, VaultSource, newest_of_each,
};
use crate::store_files::{FoundFiles, StoreFile};
use crate::times::now_text;
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
        ProviderCapabilities {
            has_numbers: false,
            resume: SessionAbility::Unsupported {
                reason: OF_CLAUDE,
                hint: "`claude --resume {id}` continues it",
            },
            delete: SessionAbility::Unsupported {
                reason: OF_CLAUDE,
                hint: "`lapidary sessions show {id}` shows it; Lapidary deletes sessions of Gemini CLI only",
            },
            records: SessionAbility::Unsupported {
                reason: OF_CLAUDE,
                hint: "use `--to markdown` or `--to html`; `lapidary sessions show {id} --format events` prints its records",
            },
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        let mut found = FoundFiles::default();
        for directory in found.project_directories(&self.projects, scope) {
            found.add_directory(&directory, ".jsonl", &self.projects);
        }
        let FoundFiles {
            files,
            mut hidden,
            warnings,
        } = found;
        let each: Vec<&StoreFile> = files.iter().collect();
        let read = each_file(
            &each,
            || (),
            |(), file| ClaudeSummary::read_file(&file.path),
        );
        let mut places = ProjectPlaces::new(scope);
        let mut sessions = Vec::new();
        let now = now_text(scope.now);
        for (file, summary) in files.iter().zip(read) {
            match summary.and_then(ClaudeSummary::check) {
                Ok(summary) => {
                    let place = SessionPlace {
                        id: file.id.clone(),
                        provider: Provider::Claude,
                        path: file.path.clone(),
                        size: file.size,
                        modified: file.modified,
                    };
                    let summary = summary.into_agent_summary();
                    sessions.extend(listed_session(place, summary, &mut places, &now));
                }
                Err((reason, why)) => hidden.push(file.hidden_file(reason, why)),
            }
        }
        let mut sessions = newest_of_each(sessions, &mut hidden);
        sessions.sort_by_key(|session| (session.project, session.started_ms));
        SessionListing {
            sessions,
            hidden,
            warnings,
        }
    }

    fn replay(
        &self,
        session: &ListedSession,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let mut options = NormalizeOptions::new(session.id());
        options.keep_raw = false;
        options.deltas = DeltaMode::Final;
        let subagents = AgentTranscriptFiles::of_claude(&session.path);
        let mut normalizer = ClaudeNormalizer::new(&options, &subagents);
        let replayed = SessionLines::open(&session.path)
            .and_then(|mut lines| lines.replay(&mut normalizer, take));
        replayed.map_err(|error| ReplaySessionError {
            path: session.path.clone(),
            source: error.into(),
        })
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
