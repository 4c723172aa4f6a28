//! The files among which a project's sessions are.

mod entries;
mod names;

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_vocab::session::HiddenReason;

use super::projects::{SessionProject, directories_in, nearest_visible};
use super::scan::FileScanner;
use entries::{DirectoryEntry, FileFacts};
pub(crate) use names::NoMemory;
pub use names::{DirectoryMemory, DirectoryNames, DirectoryState};

/// How many bytes of its session's id Gemini CLI puts into the name of a file.
const SHORT_ID: usize = 8;

/// A file that is called like a session.
#[derive(Debug, Clone)]
pub struct SessionCandidate {
    /// Where it is.
    pub path: PathBuf,
    /// Its name.
    pub(super) name: CandidateName,
    /// Which of the projects that were asked about it belongs to.
    pub project: usize,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its number in the file system, where there are such: another file of the same name has another.
    pub inode: u64,
    /// Why it is not even opened, if it is not.
    pub refused: Option<Box<(HiddenReason, String)>>,
}

/// Where the name of a [`SessionCandidate`] stands. Most often behind the last separator of its path: of tens of thousands of files a copy of
/// each name takes megabytes.
#[derive(Debug, Clone)]
pub(crate) enum CandidateName {
    /// At the end of the path, with so many bytes before it.
    InPath(usize),
    /// Not in the path: the file is a copy under another name.
    Other(Box<str>),
}

impl SessionCandidate {
    /// Its name.
    pub fn file_name(&self) -> &str {
        self.name.in_path(&self.path)
    }
}

impl CandidateName {
    /// The name of the file at this path.
    pub(super) fn in_path<'n>(&'n self, path: &'n Path) -> &'n str {
        // Only names that are Unicode are taken.
        simdutf8::basic::from_utf8(self.bytes_in(path)).unwrap_or_default()
    }

    /// The same as bytes.
    pub(super) fn bytes_in<'n>(&'n self, path: &'n Path) -> &'n [u8] {
        match self {
            Self::InPath(from) => {
                let bytes = path.as_os_str().as_encoded_bytes();
                bytes.get(*from..).unwrap_or_default()
            }
            Self::Other(name) => name.as_bytes(),
        }
    }
}

/// The files that are named like sessions, directory by directory, by name. Directories that cannot be read are reported in a
/// sentence each.
pub fn candidates(projects: &[SessionProject]) -> (Vec<SessionCandidate>, Vec<String>) {
    let (seen, warnings) = session_sightings(projects, &mut NoMemory);
    (in_order(seen), warnings)
}

/// The same as candidates.
pub(super) fn in_order(seen: Vec<FileSightings>) -> Vec<SessionCandidate> {
    // With room for all: a list for each directory would be memory that is handed out and taken back.
    let mut all = Vec::with_capacity(seen.iter().map(FileSightings::len).sum());
    for directory in seen {
        directory.add_to(&mut all);
    }
    all
}

/// The files that are named like sessions, directory by directory, and a sentence for each directory that cannot be read.
pub(super) fn session_sightings(
    projects: &[SessionProject],
    memory: &mut dyn DirectoryMemory,
) -> (Vec<FileSightings>, Vec<String>) {
    let mut found = Vec::new();
    let mut warnings = Vec::new();
    for (place, project) in projects.iter().enumerate() {
        warnings.extend(project.warnings.iter().cloned());
        for directory in project.chats() {
            match FileSightings::read_directory(&directory, place, is_called_like_a_session, memory)
            {
                Ok(seen) => found.push(seen),
                Err(error) if is_absent(&error) => {}
                Err(error) => {
                    let closed = nearest_visible(&directory).display();
                    let warning = format!("cannot look into `{closed}`: {error}");
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
            }
        }
    }
    (found, warnings)
}

/// The file in which Gemini CLI keeps a session, if it has made one; of several the one that was written last. Only files that are
/// named for the id (its first eight characters) are read.
pub fn session_file(project: &SessionProject, id: &str) -> Option<PathBuf> {
    let (mut files, _) = candidates(std::slice::from_ref(project));
    let short = &id[..id.floor_char_boundary(SHORT_ID)];
    let ends = [format!("-{short}.jsonl"), format!("-{short}.json")];
    let is_named = |file: &SessionCandidate| ends.iter().any(|end| file.file_name().ends_with(end));
    files.retain(|file| file.refused.is_none() && is_named(file));
    files.sort_by_key(|file| Reverse(file.modified));
    let mut scanner = FileScanner::default();
    let is_of_session = |file: &SessionCandidate| {
        let summary = scanner.file(&file.path);
        summary.is_ok_and(|summary| summary.id == id)
    };
    Some(files.into_iter().find(is_of_session)?.path)
}

/// The files of sub-agents: beside the sessions, in directories that are called like their parents' ids.
pub(super) fn subagent_candidates(projects: &[SessionProject]) -> Vec<SessionCandidate> {
    let mut found = Vec::new();
    for (place, project) in projects.iter().enumerate() {
        for directory in &project.directories {
            let chats = directory.join("chats");
            for parent in directories_in(&chats) {
                let parent = chats.join(parent);
                if let Ok(seen) =
                    FileSightings::read_directory(&parent, place, has_its_ending, &mut NoMemory)
                {
                    seen.add_to(&mut found);
                }
            }
        }
    }
    found
}

/// The files of a directory whose names match. Of tens of thousands most are only compared with the index: each entry has the
/// size, time and number that identify a state of a file, and nothing is allocated for each.
#[derive(Debug)]
pub(super) struct FileSightings {
    pub(super) directory: PathBuf,
    /// The directory with the separator behind it: how the path of each file begins.
    prefix: OsString,
    /// Which of the projects that were asked about they belong to.
    project: usize,
    names: String,
    plain: Vec<FileSighting>,
    /// Links and other entries that are no plain files.
    odd: Vec<SessionCandidate>,
}

/// A plain file.
#[derive(Debug, Clone)]
pub(super) struct FileSighting {
    name: Range<usize>,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    pub(super) inode: u64,
}

impl FileSightings {
    fn read_directory(
        directory: &Path,
        project: usize,
        is_like: fn(&str) -> bool,
        memory: &mut dyn DirectoryMemory,
    ) -> io::Result<Self> {
        let mut seen = Self {
            directory: directory.to_owned(),
            prefix: directory.join("").into_os_string(),
            project,
            names: String::new(),
            plain: Vec::new(),
            odd: Vec::new(),
        };
        let add = |name: &str, entry| seen.add_entry(name, entry);
        entries::each(directory, is_like, memory, add)?;
        Ok(seen)
    }

    fn add_entry(&mut self, name: &str, entry: DirectoryEntry) {
        match entry {
            DirectoryEntry::Plain(FileFacts {
                size,
                modified,
                inode,
            }) => {
                let from = self.names.len();
                self.names.push_str(name);
                self.plain.push(FileSighting {
                    name: from..self.names.len(),
                    size,
                    modified,
                    inode,
                });
            }
            DirectoryEntry::Odd(about) => {
                let odd = odd_candidate(&self.directory, name, self.project, about);
                self.odd.push(odd);
            }
        }
    }

    /// The plain files, and what each is called.
    #[cfg(feature = "index")]
    pub(super) fn plain_files(&self) -> impl ExactSizeIterator<Item = (&str, &FileSighting)> {
        self.plain
            .iter()
            .map(|file| (self.sighting_name(file), file))
    }

    /// What else can be opened: links that stay in the directory.
    #[cfg(feature = "index")]
    pub(super) fn linked_candidates(&self) -> impl Iterator<Item = &SessionCandidate> {
        self.odd.iter().filter(|file| file.refused.is_none())
    }

    fn sighting_name(&self, file: &FileSighting) -> &str {
        &self.names[file.name.clone()]
    }

    /// One of the plain files, by its place.
    #[cfg(feature = "index")]
    pub(super) fn candidate_at(&self, place: usize) -> SessionCandidate {
        self.session_candidate(&self.plain[place])
    }

    fn session_candidate(&self, file: &FileSighting) -> SessionCandidate {
        let name = self.sighting_name(file);
        // With room for all of it: `join` allocates twice.
        let before = self.prefix.len();
        let mut path = OsString::with_capacity(before + name.len());
        path.push(&self.prefix);
        path.push(name);
        SessionCandidate {
            path: path.into(),
            name: CandidateName::InPath(before),
            project: self.project,
            size: file.size,
            modified: file.modified,
            inode: file.inode,
            refused: None,
        }
    }

    /// How many bytes there are in the files.
    pub(super) fn total_bytes(&self) -> u64 {
        let odd = self.odd.iter().map(|file| file.size);
        self.plain.iter().map(|file| file.size).chain(odd).sum()
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.plain.len() + self.odd.len()
    }

    /// The plain files by name. Sorted before they are candidates, which are large to move, and by numbers, which are compared faster
    /// than texts: two names of sessions seldom agree in their date and time.
    fn by_name(&self) -> impl Iterator<Item = &FileSighting> {
        let names = || {
            self.plain
                .iter()
                .map(|file| self.sighting_name(file).as_bytes())
        };
        let shared = shared_start(names());
        let starts = names().map(|name| number_at(name, shared));
        let mut order: Vec<(u128, &FileSighting)> = starts.zip(&self.plain).collect();
        order.sort_unstable_by(|(start, file), (other_start, other)| {
            let names = || self.sighting_name(file).cmp(self.sighting_name(other));
            start.cmp(other_start).then_with(names)
        });
        order.into_iter().map(|(_, file)| file)
    }

    /// Adds all of them, by name.
    fn add_to(mut self, all: &mut Vec<SessionCandidate>) {
        let odd = std::mem::take(&mut self.odd);
        let from = all.len();
        all.extend(self.by_name().map(|file| self.session_candidate(file)));
        if !odd.is_empty() {
            all.extend(odd);
            all[from..].sort_by(|one, other| one.file_name().cmp(other.file_name()));
        }
    }
}

/// How many bytes all names begin with.
fn shared_start<'n>(mut names: impl Iterator<Item = &'n [u8]>) -> usize {
    let first = names.next().unwrap_or_default();
    names.fold(first.len(), |shared, name| {
        let same = first[..shared].iter().zip(name);
        same.take_while(|(one, other)| one == other).count()
    })
}

/// The bytes of a name from there on as a number: numbers are in the order of names, as far as they reach.
fn number_at(name: &[u8], from: usize) -> u128 {
    let mut start = [0; 16];
    let rest = name.get(from..).unwrap_or_default();
    let length = rest.len().min(start.len());
    start[..length].copy_from_slice(&rest[..length]);
    u128::from_be_bytes(start)
}

/// True for names with the ending of a session's file.
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the CLI compares so, too"
)]
fn has_its_ending(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".json")
}

fn is_called_like_a_session(name: &str) -> bool {
    name.starts_with("session-") && has_its_ending(name)
}

/// A candidate that is no plain file.
fn odd_candidate(
    directory: &Path,
    file_name: &str,
    project: usize,
    about: io::Result<Metadata>,
) -> SessionCandidate {
    let path = directory.join(file_name);
    let before = path.as_os_str().len() - file_name.len();
    let (about, refused) = inspect_entry(directory, &path, about);
    let about = about.as_ref();
    SessionCandidate {
        name: CandidateName::InPath(before),
        project,
        size: about.map_or(0, Metadata::len),
        inode: about.map_or(0, inode),
        modified: about
            .and_then(|about| about.modified().ok())
            .unwrap_or(SystemTime::UNIX_EPOCH),
        path,
        refused: refused.map(Box::new),
    }
}

#[cfg(unix)]
fn inode(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

type CandidateRefusal = (HiddenReason, String);

fn inspect_entry(
    directory: &Path,
    path: &Path,
    about: io::Result<Metadata>,
) -> (Option<Metadata>, Option<CandidateRefusal>) {
    let about = match about {
        Ok(about) => about,
        Err(error) => return (None, Some(unreadable_refusal(&error))),
    };
    if about.is_symlink() {
        return inspect_link(directory, path);
    }
    let refused = if about.is_file() {
        None
    } else {
        Some(no_file())
    };
    (Some(about), refused)
}

/// A link may stay among the files of its own directory; it may not lead out.
fn inspect_link(directory: &Path, path: &Path) -> (Option<Metadata>, Option<CandidateRefusal>) {
    let (Ok(inside), Ok(target)) = (directory.canonicalize(), path.canonicalize()) else {
        let why = "it is a link to nowhere".to_owned();
        return (None, Some((HiddenReason::LinkOutside, why)));
    };
    if !target.starts_with(&inside) {
        let why = format!("it is a link to `{}`, which is outside", target.display());
        return (None, Some((HiddenReason::LinkOutside, why)));
    }
    match fs::metadata(path) {
        Ok(about) if about.is_file() => (Some(about), None),
        Ok(about) => (Some(about), Some(no_file())),
        Err(error) => (None, Some(unreadable_refusal(&error))),
    }
}

fn no_file() -> CandidateRefusal {
    let why = "it is named like a session but is not a file".to_owned();
    (HiddenReason::NotAFile, why)
}

fn unreadable_refusal(error: &io::Error) -> CandidateRefusal {
    (
        HiddenReason::Unreadable,
        format!("it cannot be read: {error}"),
    )
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
