//! Removing a session: every file that names its whole id, its artefacts, and nothing else.
//!
//! First a [`SessionDeletion`] lists the files. Carrying it out checks them again: if one has changed meanwhile, nothing is
//! removed. If the caller keeps copies, every session file is copied first; if one cannot be copied, nothing is removed.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::artefacts::{ArtefactKind, ArtefactList, SessionArtefact, file_name_of, stays_inside};
use super::inventory::{FileContent, InventoriedFile, SessionInventory};
use super::projects::SessionProject;
use super::scan::FileScanner;
use super::select::SelectError;

/// The files that a deletion removes.
#[derive(Debug)]
pub struct SessionDeletion {
    /// The session's id, whole. None for a file that names no session.
    pub id: Option<String>,
    /// Which of the projects it belongs to.
    pub project: usize,
    /// Its files.
    pub files: Vec<InventoriedFile>,
    /// The artefacts of the session.
    pub artefacts: Vec<SessionArtefact>,
    /// Paths that are named like an artefact and stay, a sentence each.
    pub spared: Vec<String>,
}

/// The reason why a file was not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// The file was written after the deletion was planned.
    #[error("`{}` has changed: nothing of its session was removed", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There was no keeping it.
    #[error("`{}` could not be kept elsewhere, so that nothing of its session was removed", .path.display())]
    NotKept {
        /// The file.
        path: PathBuf,
        /// The error of the copy.
        source: io::Error,
    },
    /// The system does not let us.
    #[error("`{}` cannot be removed", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Where files go before they go: called with each session's file, those of sub-agents included.
pub type KeepBefore<'k> = dyn FnMut(&Path) -> io::Result<()> + 'k;

impl SessionInventory {
    /// The whole id of the session to remove, given as an id or as a number of the list. Nothing is guessed: `1x`, `01`, `latest`
    /// and the beginning of an id name no session here.
    pub fn named(&self, identifier: &str) -> Result<(usize, String), SelectError> {
        let by_id = self
            .files
            .iter()
            .find(|file| file.content.id() == Some(identifier))
            .map(|file| (file.project, identifier.to_owned()));
        let by_number = || {
            let number: u64 = identifier.parse().ok()?;
            let sessions = &self.listing.sessions;
            let found = sessions
                .iter()
                .find(|session| session.index() == number && number.to_string() == identifier)?;
            Some((found.project, found.id().to_owned()))
        };
        if let Some(found) = by_id.or_else(by_number) {
            return Ok(found);
        }
        if self.listing.sessions.is_empty() {
            return Err(SelectError::NoSessions);
        }
        let directories = self.projects.iter().flat_map(SessionProject::chats);
        Err(SelectError::Invalid {
            identifier: identifier.to_owned(),
            searched: directories.filter(|path| path.is_dir()).collect(),
        })
    }

    /// The deletion of each of these sessions, named by project and whole id.
    pub fn deletions(&self, going: &HashSet<(usize, String)>) -> Vec<SessionDeletion> {
        let mut ids: Vec<_> = going.iter().collect();
        ids.sort();
        let mut staying = vec![HashSet::new(); self.projects.len()];
        for file in &self.files {
            let Some(id) = file.content.id() else {
                continue;
            };
            if !going.contains(&(file.project, id.to_owned())) {
                staying[file.project].extend(file_name_of(id));
            }
        }
        ids.into_iter()
            .map(|(project, id)| self.plan_deletion(*project, id, &staying[*project]))
            .collect()
    }

    fn plan_deletion(
        &self,
        project: usize,
        id: &str,
        staying: &HashSet<String>,
    ) -> SessionDeletion {
        let mut deletion = SessionDeletion::from_files(project, self.files_of(project, id), self);
        deletion.id = Some(id.to_owned());
        for directory in &self.projects[project].directories {
            let artefacts = ArtefactList::find(directory, id, &|name| staying.contains(name));
            deletion.artefacts.extend(artefacts.found);
            deletion.spared.extend(artefacts.spared);
        }
        deletion
    }

    /// The deletion of a file that names no session: the file alone.
    pub fn deletion_of_file(&self, file: &InventoriedFile) -> SessionDeletion {
        SessionDeletion::from_files(file.project, std::iter::once(file), self)
    }
}

impl SessionDeletion {
    fn from_files<'h>(
        project: usize,
        files: impl Iterator<Item = &'h InventoriedFile>,
        inventory: &SessionInventory,
    ) -> Self {
        let directories = &inventory.projects[project].directories;
        let (ours, others): (Vec<_>, Vec<_>) = files.cloned().partition(|file| {
            directories
                .iter()
                .any(|directory| stays_inside(directory, &file.path))
        });
        let spared = others.iter().map(|file| {
            let way = "is reached through a link; link targets are not changed";
            format!("`{}` {way}", file.path.display())
        });
        Self {
            id: None,
            project,
            spared: spared.collect(),
            files: ours,
            artefacts: Vec::new(),
        }
    }

    /// How many bytes would be deleted.
    pub fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|file| file.size);
        let artefacts = self.artefacts.iter().map(|artefact| artefact.bytes);
        files.chain(artefacts).sum()
    }

    /// The session files that would be deleted, those of sub-agents included.
    pub fn sessions(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter().map(|file| file.path.as_path());
        let artefacts = self.artefacts.iter();
        let subagents = artefacts.flat_map(|artefact| &artefact.sessions);
        files.chain(subagents.map(PathBuf::as_path))
    }

    /// Removes the files. The session's own files go last, so that the session can still be found if an artefact could not be
    /// removed.
    pub fn carry_out(&self, keep: &mut KeepBefore<'_>) -> Result<(), Vec<DeleteError>> {
        self.look_again().map_err(|error| vec![error])?;
        self.keep_all(keep).map_err(|error| vec![error])?;
        let gone = self.artefacts.iter().map(|artefact| {
            removal_result(
                &artefact.path,
                match artefact.kind {
                    ArtefactKind::Directory => fs::remove_dir_all(&artefact.path),
                    ArtefactKind::File | ArtefactKind::Link => fs::remove_file(&artefact.path),
                },
            )
        });
        nothing_failed(gone)?;
        let files = self.files.iter();
        nothing_failed(files.map(|file| removal_result(&file.path, fs::remove_file(&file.path))))
    }

    /// Checks that the files are unchanged and still of this session. A file that was written after the deletion was planned
    /// stays.
    fn look_again(&self) -> Result<(), DeleteError> {
        let mut scanner = FileScanner::default();
        for file in &self.files {
            let is_same = match fs::metadata(&file.path) {
                Ok(about) => {
                    about.len() == file.size && about.modified().ok() == Some(file.modified)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => false,
            };
            if !is_same
                || FileContent::from_summary(&scanner.file(&file.path).map(Into::into))
                    != file.content
            {
                let path = file.path.clone();
                return Err(DeleteError::Changed { path });
            }
        }
        Ok(())
    }

    fn keep_all(&self, keep: &mut KeepBefore<'_>) -> Result<(), DeleteError> {
        for path in self.sessions() {
            match keep(path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = path.to_owned();
                    return Err(DeleteError::NotKept { path, source });
                }
            }
        }
        Ok(())
    }
}

/// A path that no longer exists counts as removed.
fn removal_result(path: &Path, result: io::Result<()>) -> Result<(), DeleteError> {
    match result {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(DeleteError::Io {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

fn nothing_failed(
    results: impl Iterator<Item = Result<(), DeleteError>>,
) -> Result<(), Vec<DeleteError>> {
    let errors: Vec<_> = results.filter_map(Result::err).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}
