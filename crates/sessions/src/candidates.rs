//! The files among which a project's sessions are.

use std::cmp::Reverse;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_vocab::session::HiddenReason;

use super::projects::{Project, directories_in};
use super::scan::Scanner;

/// How many bytes of its session's id Gemini CLI puts into the name of a file.
const SHORT_ID: usize = 8;

/// A file that is called like a session.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Where it is.
    pub path: PathBuf,
    /// Its name.
    pub file_name: String,
    /// Which of the projects that were asked about it belongs to.
    pub project: usize,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its number in the file system, where there are such: another file of the same name has another.
    pub inode: u64,
    /// Why it is not even opened, if it is not.
    pub refused: Option<(HiddenReason, String)>,
}

/// The files that are called like sessions, directory by directory, by name. What could not be looked into is said in a sentence each.
pub fn candidates(projects: &[Project]) -> (Vec<Candidate>, Vec<String>) {
    let (seen, warnings) = sightings(projects);
    (in_order(seen), warnings)
}

/// The same as candidates.
pub(super) fn in_order(seen: Vec<Sightings>) -> Vec<Candidate> {
    seen.into_iter()
        .flat_map(Sightings::into_candidates)
        .collect()
}

/// The files that are called like sessions, directory by directory, and what could not be looked into.
pub(super) fn sightings(projects: &[Project]) -> (Vec<Sightings>, Vec<String>) {
    let mut found = Vec::new();
    let mut warnings = Vec::new();
    for (place, project) in projects.iter().enumerate() {
        warnings.extend(project.warnings.iter().cloned());
        for directory in project.chats() {
            match Sightings::of(&directory, place, is_called_like_a_session) {
                Ok(seen) => found.push(seen),
                Err(error) if is_absent(&error) => {}
                Err(error) => warnings.push(format!(
                    "cannot look into `{}`: {error}",
                    directory.display()
                )),
            }
        }
    }
    (found, warnings)
}

/// The file in which Gemini CLI keeps a session, if it has made one; of several the one that was written last. Only files that are
/// named for the id (its first eight characters) are read.
pub fn session_file(project: &Project, id: &str) -> Option<PathBuf> {
    let (mut files, _) = candidates(std::slice::from_ref(project));
    let short = &id[..id.floor_char_boundary(SHORT_ID)];
    let ends = [format!("-{short}.jsonl"), format!("-{short}.json")];
    let is_named = |file: &Candidate| ends.iter().any(|end| file.file_name.ends_with(end));
    files.retain(|file| file.refused.is_none() && is_named(file));
    files.sort_by_key(|file| Reverse(file.modified));
    let mut scanner = Scanner::default();
    let is_of_session = |file: &Candidate| {
        let summary = scanner.file(&file.path);
        summary.is_ok_and(|summary| summary.id == id)
    };
    Some(files.into_iter().find(is_of_session)?.path)
}

/// The files of sub-agents: beside the sessions, in directories that are called like their parents' ids.
pub(super) fn subagents(projects: &[Project]) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (place, project) in projects.iter().enumerate() {
        for directory in &project.directories {
            let chats = directory.join("chats");
            for parent in directories_in(&chats) {
                let parent = chats.join(parent);
                if let Ok(seen) = Sightings::of(&parent, place, has_its_ending) {
                    found.extend(seen.into_candidates());
                }
            }
        }
    }
    found
}

/// The files of a directory that are called as wished. Of tens of thousands most are only compared with what an index knows: all that
/// tells one state of a file from another is here, and nothing is allocated for each.
#[derive(Debug)]
pub(super) struct Sightings {
    pub(super) directory: PathBuf,
    /// Which of the projects that were asked about they belong to.
    project: usize,
    names: String,
    plain: Vec<Sighting>,
    /// Links and what else is no plain file.
    odd: Vec<Candidate>,
}

/// A plain file.
#[derive(Debug, Clone)]
pub(super) struct Sighting {
    name: Range<usize>,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    pub(super) inode: u64,
}

impl Sightings {
    fn of(directory: &Path, project: usize, is_like: fn(&str) -> bool) -> io::Result<Self> {
        let mut seen = Self {
            directory: directory.to_owned(),
            project,
            names: String::new(),
            plain: Vec::new(),
            odd: Vec::new(),
        };
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            // A name that is no Unicode is none that the CLI gives.
            if let Ok(name) = entry.file_name().into_string()
                && is_like(&name)
            {
                // Read through the entry, whose directory is open: the kernel does not walk the whole path again.
                seen.add(name, entry.metadata());
            }
        }
        Ok(seen)
    }

    fn add(&mut self, name: String, about: io::Result<Metadata>) {
        match about {
            Ok(about) if about.is_file() => {
                let from = self.names.len();
                self.names.push_str(&name);
                self.plain.push(Sighting {
                    name: from..self.names.len(),
                    size: about.len(),
                    modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    inode: inode(&about),
                });
            }
            about => {
                let odd = odd(&self.directory, name, self.project, about);
                self.odd.push(odd);
            }
        }
    }

    /// The plain files, and what each is called.
    #[cfg(feature = "index")]
    pub(super) fn plain(&self) -> impl ExactSizeIterator<Item = (&str, &Sighting)> {
        self.plain.iter().map(|file| (self.name(file), file))
    }

    /// What else can be opened: links that stay in the directory.
    #[cfg(feature = "index")]
    pub(super) fn linked(&self) -> impl Iterator<Item = &Candidate> {
        self.odd.iter().filter(|file| file.refused.is_none())
    }

    fn name(&self, file: &Sighting) -> &str {
        &self.names[file.name.clone()]
    }

    /// One of the plain files, by its place.
    #[cfg(feature = "index")]
    pub(super) fn candidate_at(&self, place: usize) -> Candidate {
        self.candidate(&self.plain[place])
    }

    fn candidate(&self, file: &Sighting) -> Candidate {
        let file_name = self.name(file).to_owned();
        // With room for all of it: `join` allocates twice.
        let length = self.directory.as_os_str().len() + 1 + file_name.len();
        let mut path = PathBuf::with_capacity(length);
        path.push(&self.directory);
        path.push(&file_name);
        Candidate {
            path,
            file_name,
            project: self.project,
            size: file.size,
            modified: file.modified,
            inode: file.inode,
            refused: None,
        }
    }

    /// How many bytes there are in the files.
    pub(super) fn bytes(&self) -> u64 {
        let odd = self.odd.iter().map(|file| file.size);
        self.plain.iter().map(|file| file.size).chain(odd).sum()
    }

    /// How many files there are.
    #[cfg(feature = "index")]
    pub(super) fn len(&self) -> usize {
        self.plain.len() + self.odd.len()
    }

    /// All of them, by name.
    fn into_candidates(mut self) -> Vec<Candidate> {
        let odd = std::mem::take(&mut self.odd);
        let mut plain = std::mem::take(&mut self.plain);
        // Before they are candidates, which are large to move.
        plain.sort_by_cached_key(|file| (name_start(self.name(file)), self.name(file)));
        let mut all: Vec<_> = plain.iter().map(|file| self.candidate(file)).collect();
        if !odd.is_empty() {
            all.extend(odd);
            all.sort_by(|one, other| one.file_name.cmp(&other.file_name));
        }
        all
    }
}

/// The first bytes of a name as numbers, in the same order as names: two names of sessions seldom agree in their date and time, and
/// numbers are compared faster than texts.
fn name_start(name: &str) -> (u64, u128) {
    let mut start = [0; 24];
    let length = name.len().min(start.len());
    start[..length].copy_from_slice(&name.as_bytes()[..length]);
    let (word, rest) = start.split_at(8);
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
    };
    let word = word.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    (word, number(rest))
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

/// Something that is no plain file.
fn odd(
    directory: &Path,
    file_name: String,
    project: usize,
    about: io::Result<Metadata>,
) -> Candidate {
    let path = directory.join(&file_name);
    let (about, refused) = look(directory, &path, about);
    let about = about.as_ref();
    Candidate {
        file_name,
        project,
        size: about.map_or(0, Metadata::len),
        inode: about.map_or(0, inode),
        modified: about
            .and_then(|about| about.modified().ok())
            .unwrap_or(SystemTime::UNIX_EPOCH),
        path,
        refused,
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

type Refusal = (HiddenReason, String);

fn look(
    directory: &Path,
    path: &Path,
    about: io::Result<Metadata>,
) -> (Option<Metadata>, Option<Refusal>) {
    let about = match about {
        Ok(about) => about,
        Err(error) => return (None, Some(unreadable(&error))),
    };
    if about.is_symlink() {
        return linked(directory, path);
    }
    let refused = if about.is_file() {
        None
    } else {
        Some(no_file())
    };
    (Some(about), refused)
}

/// A link may stay among the files of its own directory; it may not lead out.
fn linked(directory: &Path, path: &Path) -> (Option<Metadata>, Option<Refusal>) {
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
        Err(error) => (None, Some(unreadable(&error))),
    }
}

fn no_file() -> Refusal {
    let why = "it is named like a session but is not a file".to_owned();
    (HiddenReason::NotAFile, why)
}

fn unreadable(error: &io::Error) -> Refusal {
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
