//! The directories that an agent works in, and the only way for its tools to touch files.
//!
//! A path is followed by hand to where it leads, so that a file that does not exist yet has a place too. The place is opened later
//! without following any link ([`disk`]): a link that is swapped in between is an error, never a way out. Every sentence that a model
//! gets about a path is Gemini CLI's.

mod ignored;
mod place;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use lapidary_policy::confined_files as disk;

pub(crate) use ignored::WalkRules;
pub use ignored::{IgnoreFiles, IgnoreRules};
pub use lapidary_policy::confined_files::{DirectoryEntry, EntryKind, FileStat};
pub(crate) use place::{followed_path, is_blocked, lexical};
pub(crate) use walk::{Visitor, WalkedEntry, walk_tree};

/// More bytes of one file are never held in memory.
pub const MOST_BYTES: u64 = 20 * 1024 * 1024;

/// Entries of a directory that are looked at when a file is searched for.
const MOST_DIRECTORY_ENTRIES: usize = 100_000;

/// The directories that tools may reach.
#[derive(Debug)]
pub struct Workspace {
    target: PathBuf,
    roots: RwLock<Vec<PathBuf>>,
    temporary: PathBuf,
    rules: IgnoreRules,
}

/// A file or directory inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePlace {
    /// Where the path leads, without links on the way.
    pub path: PathBuf,
    /// How many directories of it, from the first, must exist: those of a root.
    kept: usize,
}

impl Workspace {
    /// The workspace of a project: its directory, and the directory for its temporary files, which need not exist yet.
    ///
    /// # Errors
    /// The project's directory is not there, or is none.
    pub fn open(target: &Path, temporary: &Path) -> io::Result<Arc<Self>> {
        let target = lexical(target);
        let root = followed_path(&target)?;
        if !disk::stat(&root)?.is_directory() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Arc::new(Self {
            rules: IgnoreRules::read_project(&target),
            target,
            roots: RwLock::new(vec![root]),
            temporary: lexical(temporary),
        }))
    }

    /// The same project, with more directories in reach.
    ///
    /// # Errors
    /// A directory is not there.
    pub fn widened(&self, directories: &[PathBuf]) -> io::Result<Arc<Self>> {
        let widened = Self {
            rules: IgnoreRules::read_project(&self.target),
            target: self.target.clone(),
            roots: RwLock::new(self.roots()),
            temporary: self.temporary.clone(),
        };
        for directory in directories {
            widened.add_root(directory)?;
        }
        Ok(Arc::new(widened))
    }

    /// The project's directory, as it was named.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The directory for outputs that are too long for an answer.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The directories that are searched, the project's first.
    pub fn roots(&self) -> Vec<PathBuf> {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner);
        roots.clone()
    }

    /// Lets tools reach another directory: that of an activated skill.
    ///
    /// # Errors
    /// The directory is not there.
    pub fn add_root(&self, directory: &Path) -> io::Result<()> {
        let directory = followed_path(&lexical(directory))?;
        disk::list(&directory, 1)?;
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        if !roots.contains(&directory) {
            roots.push(directory);
        }
        Ok(())
    }

    /// Which files the project's ignore files name.
    pub fn rules(&self) -> &IgnoreRules {
        &self.rules
    }

    /// A path as a model names it, from the project's directory, without its `.` and `..`.
    pub fn absolute(&self, asked: &str) -> PathBuf {
        lexical(&self.target.join(asked))
    }

    /// The place that a path leads to.
    ///
    /// # Errors
    /// It is outside, or no path: the sentence for the model.
    pub fn place(&self, absolute: &Path) -> Result<WorkspacePlace, String> {
        place::check(absolute)?;
        let outside = || self.outside_message(absolute);
        let path = followed_path(absolute).map_err(|_| outside())?;
        let roots = self.roots();
        let is_inside = |root: &&PathBuf| path.starts_with(root);
        let root = match roots.iter().find(is_inside) {
            Some(root) if place::is_blocked(path.strip_prefix(root).unwrap_or(&path)) => None,
            Some(root) => Some(root.clone()),
            None => None,
        };
        let temporary = || {
            followed_path(&self.temporary)
                .ok()
                .filter(|root| path.starts_with(root))
        };
        let root = root.or_else(temporary).ok_or_else(outside)?;
        Ok(WorkspacePlace {
            kept: root.components().count(),
            path,
        })
    }

    /// As [`place`](Self::place), but the sentence names where the path leads: most tools follow a path before they judge it.
    ///
    /// # Errors
    /// It is outside, or no path.
    pub fn place_by_target(&self, absolute: &Path) -> Result<WorkspacePlace, String> {
        match followed_path(absolute) {
            Ok(path) => self.place(&path),
            Err(_) => self.place(absolute),
        }
    }

    fn outside_message(&self, absolute: &Path) -> String {
        let roots = self.roots();
        let roots: Vec<_> = roots.iter().map(|root| root.to_string_lossy()).collect();
        format!(
            "Path not in workspace: Attempted path \"{}\" resolves outside the allowed workspace directories: {} or the project temp directory: {}",
            absolute.display(),
            roots.join(", "),
            self.temporary.display()
        )
    }

    /// A relative path to a file that an edit means: where there is none, the only file of that name whose path ends so.
    pub fn corrected(&self, asked: &str) -> PathBuf {
        /// Directories that are looked through.
        const MOST_DIRECTORIES: usize = 50;
        let direct = self.absolute(asked);
        if disk::stat_following(&direct).is_ok() {
            return direct;
        }
        let name = Path::new(asked).file_name().unwrap_or_default();
        let mut found = Vec::new();
        for root in self.roots() {
            let mut waiting = std::collections::VecDeque::from([root]);
            let mut count = 0;
            while let Some(directory) = waiting.pop_front() {
                count += 1;
                if count > MOST_DIRECTORIES {
                    break;
                }
                for entry in disk::list(&directory, MOST_DIRECTORY_ENTRIES).unwrap_or_default() {
                    let path = directory.join(&entry.name);
                    let is_directory = entry.kind == EntryKind::Directory;
                    let is_wanted = entry.kind == EntryKind::File && entry.name == name;
                    if !(is_directory || is_wanted)
                        || self.rules.is_ignored(&path, is_directory, IgnoreFiles::ALL)
                    {
                        continue;
                    }
                    if is_directory {
                        waiting.push_back(path);
                    } else if path.to_string_lossy().ends_with(asked) {
                        found.push(path);
                    }
                }
            }
        }
        match <[PathBuf; 1]>::try_from(found) {
            Ok([only]) => only,
            Err(_) => direct,
        }
    }

    /// Strips the `@` that people put before a path, unless it belongs to the name.
    pub fn without_mark(&self, asked: &str) -> String {
        let asked = asked.replace('\0', "");
        let Some(stripped) = asked.strip_prefix('@').filter(|rest| !rest.is_empty()) else {
            return asked;
        };
        if disk::stat_following(&self.absolute(&asked)).is_ok() {
            return asked;
        }
        let rest = stripped.trim_start_matches(['/', '\\']);
        let first = rest.split(['/', '\\']).next().unwrap_or_default();
        let is_name = !stripped.starts_with(['/', '\\'])
            && (first.is_empty()
                || disk::stat_following(&self.absolute(&format!("@{first}"))).is_ok());
        if is_name || rest.is_empty() {
            return asked;
        }
        rest.to_owned()
    }
}

impl WorkspacePlace {
    /// Kind, size and write time of the entry. A link is an error: the place was free of links when it was found.
    pub fn stat(&self) -> io::Result<FileStat> {
        disk::stat(&self.path)
    }

    /// The bytes of a regular file, at most [`MOST_BYTES`].
    pub fn read(&self) -> io::Result<Vec<u8>> {
        disk::read(&self.path, MOST_BYTES)
    }

    /// The first bytes of a regular file.
    pub fn read_start(&self, count: usize) -> io::Result<Vec<u8>> {
        disk::read_start(&self.path, count)
    }

    /// The names in a directory, at most so many.
    pub fn list(&self, most: usize) -> io::Result<Vec<DirectoryEntry>> {
        disk::list(&self.path, most)
    }

    /// Puts a file with this content in its place, whole. A file that was there keeps its mode; directories below the root are made.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        disk::replace(&self.path, self.kept, content)
    }
}
