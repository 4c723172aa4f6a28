//! Every session file of some projects, with the id that is in it. Deletion and retention work on this list.

use std::path::PathBuf;
use std::time::SystemTime;

use super::candidates::{DirectoryMemory, SessionCandidate};
use super::listing::{FromFiles, SessionListing, SummarySource};
use super::projects::SessionProject;
use super::scan::{CompactSummary, UnreadableFile};

/// The sessions of some projects, and all their files.
#[derive(Debug)]
pub struct SessionInventory {
    /// The projects.
    pub projects: Vec<SessionProject>,
    /// The list of their sessions.
    pub listing: SessionListing,
    /// Every file that could be opened, in the list or not.
    pub files: Vec<InventoriedFile>,
}

/// A file among the sessions.
#[derive(Debug, Clone)]
pub struct InventoriedFile {
    /// Its path.
    pub path: PathBuf,
    /// Which of the projects it belongs to.
    pub project: usize,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// The session or other content.
    pub content: FileContent,
    /// Whether there is more in it than the CLI shows, which can be recovered.
    pub hides_content: bool,
}

/// The content of a file, as far as removing it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// A session that can be resumed.
    Session(String),
    /// A session without a message that could be resumed.
    Stub(String),
    /// A sub-agent's session.
    Subagent(String),
    /// An empty file.
    Nothing,
    /// Content that names no session.
    NoSession,
    /// Content that cannot be read, or not now.
    Unreadable,
}

impl FileContent {
    /// The id that is in the file, whole.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Session(id) | Self::Stub(id) | Self::Subagent(id) => Some(id),
            Self::Nothing | Self::NoSession | Self::Unreadable => None,
        }
    }

    pub(super) fn from_summary(read: &Result<CompactSummary, UnreadableFile>) -> Self {
        match read {
            Ok(summary) if summary.is_subagent() => Self::Subagent(summary.id().to_owned()),
            Ok(summary) if summary.is_resumable() => Self::Session(summary.id().to_owned()),
            Ok(summary) => Self::Stub(summary.id().to_owned()),
            Err(UnreadableFile::Empty) => Self::Nothing,
            Err(UnreadableFile::NotASession) => Self::NoSession,
            Err(_) => Self::Unreadable,
        }
    }
}

impl SessionInventory {
    /// Reads the files of these projects, each once.
    pub fn read(projects: Vec<SessionProject>, now: SystemTime) -> Self {
        let mut noting = NotingSource::default();
        let listing = SessionListing::with(&projects, now, &mut noting);
        Self {
            projects,
            listing,
            files: noting.files,
        }
    }

    /// The files that name this session, resumable or not.
    pub fn files_of<'i>(
        &'i self,
        project: usize,
        id: &'i str,
    ) -> impl Iterator<Item = &'i InventoriedFile> + 'i {
        self.files
            .iter()
            .filter(move |file| file.project == project && file.content.id() == Some(id))
    }
}

/// Reads summaries for a list, and notes each file on the way.
#[derive(Debug, Default)]
struct NotingSource {
    files: Vec<InventoriedFile>,
}

impl DirectoryMemory for NotingSource {}

impl SummarySource for NotingSource {
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>> {
        let read = FromFiles.read_all(files);
        let held = files.iter().zip(&read).map(|(file, read)| InventoriedFile {
            path: file.path.clone(),
            project: file.project,
            size: file.size,
            modified: file.modified,
            content: FileContent::from_summary(read),
            hides_content: read.as_ref().is_ok_and(CompactSummary::hides_content),
        });
        self.files.extend(held);
        read
    }
}
