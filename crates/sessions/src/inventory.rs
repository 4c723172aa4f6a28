//! Every session file of some projects, with the id that is in it: what somebody needs who means to remove one.

use std::path::PathBuf;
use std::time::SystemTime;

use super::candidates::Candidate;
use super::listing::{FromFiles, Listing, Summaries};
use super::projects::Project;
use super::scan::{CompactSummary, Unreadable};

/// The sessions of some projects, and all their files.
#[derive(Debug)]
pub struct Inventory {
    /// The projects.
    pub projects: Vec<Project>,
    /// What a list of them shows.
    pub listing: Listing,
    /// Every file that could be opened, in the list or not.
    pub files: Vec<Held>,
}

/// A file among the sessions.
#[derive(Debug, Clone)]
pub struct Held {
    /// Where it is.
    pub path: PathBuf,
    /// Which of the projects it belongs to.
    pub project: usize,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// What is in it.
    pub content: Content,
    /// Whether there is more in it than the CLI shows, which can be recovered.
    pub hides_content: bool,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A session that can be resumed.
    Session(String),
    /// A session in which nobody said anything that could be resumed.
    Stub(String),
    /// A sub-agent's session.
    Subagent(String),
    /// Nothing.
    Nothing,
    /// Something that names no session.
    NoSession,
    /// Something that cannot be read, or not now.
    Unreadable,
}

impl Content {
    /// The id that is in the file, whole.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Session(id) | Self::Stub(id) | Self::Subagent(id) => Some(id),
            Self::Nothing | Self::NoSession | Self::Unreadable => None,
        }
    }

    pub(super) fn of(read: &Result<CompactSummary, Unreadable>) -> Self {
        match read {
            Ok(summary) if summary.is_subagent() => Self::Subagent(summary.id().to_owned()),
            Ok(summary) if summary.is_resumable() => Self::Session(summary.id().to_owned()),
            Ok(summary) => Self::Stub(summary.id().to_owned()),
            Err(Unreadable::Empty) => Self::Nothing,
            Err(Unreadable::NotASession) => Self::NoSession,
            Err(_) => Self::Unreadable,
        }
    }
}

impl Inventory {
    /// Reads the files of these projects, each once.
    pub fn read(projects: Vec<Project>, now: SystemTime) -> Self {
        let mut noting = Noting::default();
        let listing = Listing::with(&projects, now, &mut noting);
        Self {
            projects,
            listing,
            files: noting.files,
        }
    }

    /// The files that name this session, in whatever state they are.
    pub fn files_of<'i>(
        &'i self,
        project: usize,
        id: &'i str,
    ) -> impl Iterator<Item = &'i Held> + 'i {
        self.files
            .iter()
            .filter(move |file| file.project == project && file.content.id() == Some(id))
    }
}

/// Reads summaries for a list, and notes what passes by.
#[derive(Debug, Default)]
struct Noting {
    files: Vec<Held>,
}

impl Summaries for Noting {
    fn of(&mut self, files: &[&Candidate]) -> Vec<Result<CompactSummary, Unreadable>> {
        let read = FromFiles.of(files);
        let held = files.iter().zip(&read).map(|(file, read)| Held {
            path: file.path.clone(),
            project: file.project,
            size: file.size,
            modified: file.modified,
            content: Content::of(read),
            hides_content: read.as_ref().is_ok_and(CompactSummary::hides_content),
        });
        self.files.extend(held);
        read
    }
}
