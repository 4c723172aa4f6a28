//! Sessions of Claude Code: `projects/<name of the directory>/<session>.jsonl` in `~/.claude`, or in `CLAUDE_CONFIG_DIR`.
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod files;
mod history;
mod subagents;
mod summary;
mod usage;
mod vault;

use std::fs;
use std::path::PathBuf;

use lapidary_normalize::claude::session_events;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_vocab::session::{HiddenFile, HiddenReason, SessionInfo};
use lapidary_wire::claude::session::ClaudeLog;

use crate::listing::{ListedSession, SessionListing, each_file};
use crate::message_text::{headline, one_line};
use crate::provider::{
    ProjectPlaces, ProviderCapabilities, ProviderScope, ReplaySessionError, SessionAbility,
    SessionProvider, UsageReader, VaultSource, newest_of_each,
};
use crate::times::now_text;
use files::{ClaudeFile, FoundFiles};
pub use history::{ClaudePrompt, ForgottenSession};
pub use subagents::ClaudeSubagentFiles;
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
        let FoundFiles {
            files,
            mut hidden,
            warnings,
        } = FoundFiles::find_in_scope(&self.projects, scope);
        let each: Vec<&ClaudeFile> = files.iter().collect();
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
                    sessions.extend(listed_claude_session(file, summary, &mut places, &now));
                }
                Err((reason, why)) => hidden.push(hidden_file(file, reason, why)),
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
        let bytes = fs::read(&session.path).map_err(|error| ReplaySessionError {
            path: session.path.clone(),
            source: error.into(),
        })?;
        let mut options = NormalizeOptions::new(session.id());
        options.keep_raw = false;
        options.deltas = DeltaMode::Final;
        let log = ClaudeLog::read(&bytes);
        let subagents = ClaudeSubagentFiles::beside(&session.path);
        session_events::events_with_subagents(&log, &options, &subagents, take);
        Ok(())
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

fn hidden_file(file: &ClaudeFile, reason: HiddenReason, why: String) -> HiddenFile {
    HiddenFile {
        path: file.path.to_string_lossy().into_owned(),
        project_id: String::new(),
        reason,
        explanation: why,
        session_id: None,
        size: file.size,
    }
}

/// The session of a file, if its directory counts.
fn listed_claude_session(
    file: &ClaudeFile,
    summary: ClaudeSummary,
    places: &mut ProjectPlaces<'_>,
    now: &str,
) -> Option<ListedSession> {
    let directory = summary.directory?;
    let place = places.place_for(&directory)?;
    let (name, first_user_message) = headline(summary.first_prompt.as_deref());
    let title = summary.custom_title.or(summary.model_title);
    let time = |time: Option<String>| time.unwrap_or_else(|| now.to_owned());
    let info = SessionInfo {
        id: file.id.clone(),
        provider: Provider::Claude,
        run: None,
        file: file.id.clone(),
        file_name: format!("{}.jsonl", file.id),
        path: file.path.to_string_lossy().into_owned(),
        start_time: time(summary.started),
        last_updated: time(summary.updated),
        message_count: summary.messages,
        user_message_count: summary.prompts,
        display_name: title.as_deref().map_or(name, one_line),
        first_user_message,
        is_current_session: false,
        index: 0,
        unlisted: None,
        summary: title,
        project: Some(directory),
        project_id: places.id(place).to_owned(),
        size: file.size,
        endangered_by: None,
    };
    let mut listed = ListedSession::new(info, file.path.clone());
    listed.project = place;
    listed.modified = file.modified;
    Some(listed)
}
