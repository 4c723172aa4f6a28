//! Sessions of Codex CLI: rollouts in `sessions` and `archived_sessions` of `~/.codex`, or of `CODEX_HOME`.
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod files;
mod summary;
mod usage;
mod vault;

use std::path::PathBuf;

use lapidary_normalize::codex::rollout::RolloutNormalizer;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_vocab::session::{HiddenFile, HiddenReason, SessionInfo};

use crate::line_source::SessionLines;
use crate::listing::{ListedSession, SessionListing, each_file};
use crate::message_text::headline;
use crate::provider::{
    ProjectPlaces, ProviderCapabilities, ProviderScope, ReplaySessionError, SessionAbility,
    SessionProvider, UsageReader, VaultSource, newest_of_each,
};
use crate::times::now_text;
use files::{FoundRollouts, RolloutFile};
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
        ProviderCapabilities {
            has_numbers: false,
            resume: SessionAbility::Unsupported {
                reason: OF_CODEX,
                hint: "`codex resume {id}` continues it",
            },
            delete: SessionAbility::Unsupported {
                reason: OF_CODEX,
                hint: "`lapidary sessions show {id}` shows it; Lapidary deletes sessions of Gemini CLI only",
            },
            records: SessionAbility::Unsupported {
                reason: OF_CODEX,
                hint: "use `--to markdown` or `--to html`; `lapidary sessions show {id} --format events` prints its records",
            },
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        let FoundRollouts {
            files,
            mut hidden,
            warnings,
        } = FoundRollouts::find_in_home(&self.home);
        let each: Vec<&RolloutFile> = files.iter().collect();
        let read = each_file(
            &each,
            || (),
            |(), file| RolloutSummary::read_file(&file.path, scope),
        );
        let mut places = ProjectPlaces::new(scope);
        let mut sessions = Vec::new();
        let now = now_text(scope.now);
        for (file, summary) in files.iter().zip(read) {
            match summary.and_then(RolloutSummary::check) {
                Ok(Some(summary)) => {
                    sessions.extend(listed_codex_session(file, summary, &mut places, &now));
                }
                Ok(None) => {} // of another project
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
        let mut normalizer = RolloutNormalizer::new(&options);
        let replayed = SessionLines::open(&session.path)
            .and_then(|mut lines| lines.replay(&mut normalizer, take));
        replayed.map_err(|error| ReplaySessionError {
            path: session.path.clone(),
            source: error.into(),
        })
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

impl RolloutFile {
    fn hidden_file(&self, reason: HiddenReason, explanation: String) -> HiddenFile {
        HiddenFile {
            path: self.path.to_string_lossy().into_owned(),
            project_id: String::new(),
            reason,
            explanation,
            session_id: None,
            size: self.size,
        }
    }
}

/// The session of a file, if its directory counts.
fn listed_codex_session(
    file: &RolloutFile,
    summary: RolloutSummary,
    places: &mut ProjectPlaces<'_>,
    now: &str,
) -> Option<ListedSession> {
    let (id, directory) = (summary.id?, summary.directory?);
    let place = places.place_for(&directory)?;
    let (display_name, first_user_message) = headline(summary.first_prompt.as_deref());
    let time = |time: Option<String>| time.unwrap_or_else(|| now.to_owned());
    let info = SessionInfo {
        id,
        provider: Provider::Codex,
        run: None,
        file: file.name.trim_end_matches(".jsonl").to_owned(),
        file_name: file.name.clone(),
        path: file.path.to_string_lossy().into_owned(),
        start_time: time(summary.started),
        last_updated: time(summary.updated),
        message_count: summary.messages,
        user_message_count: summary.prompts,
        display_name,
        first_user_message,
        is_current_session: false,
        index: 0,
        unlisted: None,
        summary: None,
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
