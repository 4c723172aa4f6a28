//! Sessions of Qwen Code in `~/.qwen`, or in `QWEN_RUNTIME_DIR` or `QWEN_HOME`.
//!
//! | generation | files |
//! |---|---|
//! | since 0.5 | `projects/<name of the directory>/chats/<session>.jsonl`, and `chats/archive` |
//! | before | `tmp/<hash of the directory>/chats/session-<time>-<id>.json`, as Gemini CLI had them; Qwen Code itself reads them no more |
//!
//! Nothing is written there. A file that is no session in the list has a [`HiddenReason`], as those of Gemini CLI have.
//!
//! [`HiddenReason`]: lapidary_vocab::session::HiddenReason

mod document;
mod summary;

use std::path::PathBuf;

use lapidary_normalize::gemini::session_events;
use lapidary_normalize::qwen::session_events::QwenNormalizer;
use lapidary_normalize::{DeltaMode, NormalizeOptions};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_wire::gemini::session::ReplayedLog;

use crate::agent_summary::{AgentSummary, SessionPlace, SkippedBecause, listed_session};
use crate::agent_transcripts::AgentTranscriptFiles;
use crate::line_source::SessionLines;
use crate::listing::{ListedSession, SessionListing, each_file};
use crate::provider::{
    ProjectPlaces, ProviderCapabilities, ProviderScope, ReplaySessionError, SessionAbility,
    SessionProvider, newest_of_each,
};
use crate::store_files::{FoundFiles, StoreFile};
use crate::times::now_text;

/// How these sessions differ from those of Gemini CLI.
const OF_QWEN: &str = "is a session of Qwen Code";

/// The sessions of Qwen Code in a directory.
#[derive(Debug)]
pub struct QwenSessions {
    home: PathBuf,
}

/// A session's facts with its id.
type IdentifiedSummary = (String, AgentSummary);

impl QwenSessions {
    /// The sessions in a directory of Qwen Code, such as `~/.qwen`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// The files of both generations.
    fn find_files(&self, scope: &ProviderScope<'_>) -> FoundFiles {
        let mut found = FoundFiles::default();
        let projects = self.home.join("projects");
        for directory in found.project_directories(&projects, scope) {
            let chats = directory.join("chats");
            for place in [chats.join("archive"), chats] {
                if place.is_dir() {
                    found.add_directory(&place, ".jsonl", &projects);
                }
            }
        }
        document::add_documents(&mut found, &self.home.join("tmp"), scope);
        found
    }
}

impl SessionProvider for QwenSessions {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities {
            has_numbers: false,
            resume: SessionAbility::Unsupported {
                reason: OF_QWEN,
                hint: "`qwen --resume {id}` continues it",
            },
            delete: SessionAbility::Unsupported {
                reason: OF_QWEN,
                hint: "`lapidary sessions show {id}` shows it; Lapidary deletes sessions of Gemini CLI only",
            },
            records: SessionAbility::Unsupported {
                reason: OF_QWEN,
                hint: "use `--to markdown` or `--to html`; `lapidary sessions show {id} --format events` prints its records",
            },
        }
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        let FoundFiles {
            files,
            mut hidden,
            warnings,
        } = self.find_files(scope);
        let each: Vec<&StoreFile> = files.iter().collect();
        let read = each_file(&each, || (), |(), file| read_summary(file, scope));
        let mut places = ProjectPlaces::new(scope);
        let mut sessions = Vec::new();
        let now = now_text(scope.now);
        for (file, summary) in files.iter().zip(read) {
            match summary {
                Ok((id, summary)) => {
                    let place = SessionPlace {
                        id,
                        provider: Provider::Qwen,
                        path: file.path.clone(),
                        size: file.size,
                        modified: file.modified,
                    };
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
        let replayed = if document::is_document(&session.path) {
            document::read_document(&session.path).map(|bytes| {
                session_events::events(&ReplayedLog::read(&bytes), &options, take);
            })
        } else {
            let subagents = AgentTranscriptFiles::of_qwen(&session.path);
            let mut normalizer = QwenNormalizer::new(&options, &subagents);
            let lines = SessionLines::open(&session.path);
            lines.and_then(|mut lines| lines.replay(&mut normalizer, take))
        };
        replayed.map_err(|error| ReplaySessionError {
            path: session.path.clone(),
            source: error.into(),
        })
    }
}

fn read_summary(
    file: &StoreFile,
    scope: &ProviderScope<'_>,
) -> Result<IdentifiedSummary, SkippedBecause> {
    if document::is_document(&file.path) {
        document::summarise(&file.path, scope)
    } else {
        let summary = summary::read_file(&file.path)?;
        Ok((file.id.clone(), summary))
    }
}
