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
mod line_head;
mod summary;
mod usage;
mod vault;

use std::path::{Path, PathBuf};

use lapidary_normalize::NormalizeOptions;
use lapidary_normalize::gemini::session_events;
use lapidary_normalize::qwen::session_events::QwenNormalizer;
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_wire::gemini::session::ReplayedLog;

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
use crate::sweep::{ByteFilter, sweep_files};

/// How these sessions differ from those of Gemini CLI.
const OF_QWEN: &str = "is a session of Qwen Code";

/// The sessions of Qwen Code in a directory.
#[derive(Debug)]
pub struct QwenSessions {
    home: PathBuf,
}

impl QwenSessions {
    /// The sessions in a directory of Qwen Code, such as `~/.qwen`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        // Folders are found by the place that a link leads to, and paths are compared with them.
        let home = home.canonicalize().unwrap_or(home);
        Self { home }
    }

    /// Adds the sessions of a project, with the files of their sub-agents.
    fn add_project(found: &mut FoundFiles, directory: &Path, projects: &Path) {
        let chats = directory.join("chats");
        let subagents = directory.join("subagents");
        let names = found.directory_names(&subagents, projects);
        for place in [chats.join("archive"), chats] {
            if !found.accept_directory(&place, projects) {
                continue;
            }
            let from = found.files.len();
            let mut others = found.add_directory(&place, ".jsonl", projects);
            // Files beside the sessions are not read with them.
            others.subagents.clear();
            others.directories.clone_from(&names);
            found.attach_subagents(from, &others, |file| subagents.join(&file.id));
        }
    }
}

impl SessionProvider for QwenSessions {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::read_only(OF_QWEN, NO_DELETE_HINT)
    }

    fn list(&mut self, scope: &ProviderScope<'_>) -> SessionListing {
        list_stored(self, scope, &mut NoIndex)
    }

    fn usage_reader(&self) -> Option<&dyn UsageReader> {
        Some(self)
    }

    fn resume_command(&self) -> Option<&'static [&'static str]> {
        Some(&["qwen", "--resume", "{id}"])
    }

    fn vault_source(&self) -> Option<&dyn VaultSource> {
        Some(self)
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
}

impl StoredSessions for QwenSessions {
    fn provider(&self) -> Provider {
        Provider::Qwen
    }

    /// The files of both generations.
    fn find(&self, scope: &ProviderScope<'_>, _: &mut dyn ListMemory) -> FoundFiles {
        let mut found = FoundFiles::default();
        let projects = self.home.join("projects");
        for directory in found.project_directories(&projects, scope) {
            Self::add_project(&mut found, &directory, &projects);
        }
        document::add_documents(&mut found, &self.home.join("tmp"), scope);
        found
    }

    fn summarise(
        &self,
        file: &StoreFile,
        _: &WantedDirectories,
    ) -> Result<Option<IdentifiedSummary>, SkippedBecause> {
        if document::is_document(&file.path) {
            return document::summarise(&file.path).map(Some);
        }
        let summary = summary::read_file(&file.path)?;
        Ok(Some((file.id.clone(), summary)))
    }

    fn quick_id(&self, file: &StoreFile) -> Option<String> {
        let is_document = document::is_document(&file.path);
        (!is_document).then(|| file.id.clone())
    }

    fn replay_stored(
        &self,
        path: &Path,
        options: &NormalizeOptions,
        take: &mut dyn FnMut(Event),
    ) -> Result<(), ReplaySessionError> {
        let replayed = if document::is_document(path) {
            document::read_document(path).map(|bytes| {
                session_events::events(&ReplayedLog::read(&bytes), options, take);
            })
        } else {
            let subagents = AgentTranscriptFiles::of_qwen(path);
            let mut normalizer = QwenNormalizer::new(options, &subagents);
            let lines = SessionLines::open(path);
            lines.and_then(|mut lines| lines.replay(&mut normalizer, take))
        };
        replayed.map_err(|error| ReplaySessionError::new(path, error))
    }

    /// A document may match in any case: texts of one message in it are joined without a space.
    fn sweep(&self, files: &[&StoreFile], may_match: &ByteFilter<'_>) -> Vec<bool> {
        let swept = sweep_files(files, may_match).into_iter();
        let swept = files.iter().zip(swept);
        swept
            .map(|(file, may_match)| may_match || document::is_document(&file.path))
            .collect()
    }
}
