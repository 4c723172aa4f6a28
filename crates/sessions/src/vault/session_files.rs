//! The session files of a directory, and the entries that only look like one.

use std::fmt;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::ContentFacts;
use crate::names;

/// A file that looks like a session and was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherFlaw {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub kind: FlawKind,
}

/// The reason why a file was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlawKind {
    /// A link, which may lead anywhere.
    Symlink,
    /// A directory that is named like a session.
    Directory,
    /// A pipe, a socket or a device.
    Special,
    /// The system does not let us read it.
    Unreadable(String),
    /// It was there when we looked, and gone when we read.
    Gone,
    /// The vault is as large as it may become.
    NoRoom,
    /// Another process held the lock for too long, so the vault was used without it.
    Held,
}

impl fmt::Display for GatherFlaw {
    /// One sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            FlawKind::Symlink => write!(f, "`{path}` is a link, and links are not followed."),
            FlawKind::Directory => {
                write!(f, "`{path}` is named like a session but is a directory.")
            }
            FlawKind::Special => write!(
                f,
                "`{path}` is named like a session but is not a regular file."
            ),
            FlawKind::Unreadable(why) => write!(f, "`{path}` cannot be read: {why}."),
            FlawKind::Gone => write!(f, "`{path}` vanished while it was being read."),
            FlawKind::NoRoom => write!(
                f,
                "`{path}` is not copied: the vault would become larger than it may; `lapidary sessions vault prune` makes room."
            ),
            FlawKind::Held => write!(
                f,
                "`{path}` is held by another process for long, which prunes; sessions are kept without waiting for it."
            ),
        }
    }
}

/// The session files of a directory, those of subagents one level below included, by name. A directory that is not there has none.
pub fn session_files(chats: &Path) -> (Vec<PathBuf>, Vec<GatherFlaw>) {
    let mut found = GatheredFiles::default();
    found.look_in_folder(chats, GatherLevel::Main);
    found.files.sort();
    (found.files, found.flaws)
}

/// The files of these sessions, by whole ids, with the files of their subagents.
pub fn files_of(chats: &Path, ids: &[String]) -> (Vec<PathBuf>, Vec<GatherFlaw>) {
    let (mut files, flaws) = session_files(chats);
    let folders: Vec<_> = ids.iter().map(|id| names::sanitised_id(id)).collect();
    files.retain(|path| {
        let folder = path.parent().filter(|parent| *parent != chats);
        let folder = folder.and_then(Path::file_name);
        let is_below = folder.is_some_and(|it| folders.contains(&it.to_string_lossy().into()));
        is_below
            || fs::read(path)
                .ok()
                .and_then(|bytes| ContentFacts::read(&bytes).session_id)
                .is_some_and(|id| ids.contains(&id))
    });
    (files, flaws)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GatherLevel {
    Main,
    Subagents,
}

#[derive(Default)]
struct GatheredFiles {
    files: Vec<PathBuf>,
    flaws: Vec<GatherFlaw>,
}

impl GatheredFiles {
    fn look_in_folder(&mut self, folder: &Path, level: GatherLevel) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => return,
            Err(error) => return self.add_flaw(folder, FlawKind::Unreadable(error.to_string())),
        };
        for entry in entries {
            match entry {
                Ok(entry) => self.add_entry(&entry, level),
                Err(error) => self.add_flaw(folder, FlawKind::Unreadable(error.to_string())),
            }
        }
    }

    fn add_entry(&mut self, entry: &DirEntry, level: GatherLevel) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_named = match level {
            GatherLevel::Main => names::is_session(&name),
            GatherLevel::Subagents => names::session_stem(&name).is_some(),
        };
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => return self.add_flaw(&path, FlawKind::Unreadable(error.to_string())),
        };
        match (is_named, kind.is_dir()) {
            (true, false) if kind.is_file() => self.files.push(path),
            (true, false) if kind.is_symlink() => self.add_flaw(&path, FlawKind::Symlink),
            (true, false) => self.add_flaw(&path, FlawKind::Special),
            (true, true) => self.add_flaw(&path, FlawKind::Directory),
            (false, true) if level == GatherLevel::Main && is_folder_of_sessions(&path) => {
                self.look_in_folder(&path, GatherLevel::Subagents);
            }
            (false, _) => {}
        }
    }

    fn add_flaw(&mut self, path: &Path, kind: FlawKind) {
        let path = path.to_owned();
        self.flaws.push(GatherFlaw { path, kind });
    }
}

/// Older versions keep sessions beside other things, which are not subagents.
fn is_folder_of_sessions(path: &Path) -> bool {
    path.parent()
        .is_some_and(|parent| parent.ends_with("chats"))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
