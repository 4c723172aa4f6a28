//! Files beside a session's own: the outputs of its tools, its log, its plans, and the sessions of its sub-agents with their
//! artefacts.
//!
//! An id comes from a session file, which any program can write. It never leads out of the project's directory, never names a
//! directory that belongs to the project itself, and links on the way are not followed.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories of the project's own. The CLI spares only the first three; the others would be as great a loss.
const RESERVED: [&str; 11] = [
    "chats",
    "logs",
    "tool-outputs",
    "checkpoints",
    "memory",
    "plans",
    "tracker",
    "tasks",
    "images",
    "bin",
    "shell_history",
];

/// A file or directory that belongs to a session beside its session files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionArtefact {
    /// Its path.
    pub path: PathBuf,
    /// File, directory or link.
    pub kind: ArtefactKind,
    /// How many bytes are in it.
    pub bytes: u64,
    /// The sessions of sub-agents that are in it.
    pub sessions: Vec<PathBuf>,
}

/// The kind of an artefact, which decides how it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtefactKind {
    /// A file.
    File,
    /// A directory with all that is in it.
    Directory,
    /// A link, which is removed without its target.
    Link,
}

/// The artefacts of a session, and the paths that look like artefacts and stay.
#[derive(Debug, Default)]
pub struct ArtefactList {
    /// The artefacts of the session.
    pub found: Vec<SessionArtefact>,
    /// Paths that are named like an artefact and are not removed, with the reason: a sentence each.
    pub spared: Vec<String>,
}

/// An id as part of a file's name, as the CLI writes it. None for one that is no name at all.
pub(super) fn file_name_of(id: &str) -> Option<String> {
    if matches!(id, "" | "." | "..") {
        return None;
    }
    let mut name = String::with_capacity(id.len());
    for letter in id.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') {
            name.push(letter);
        } else {
            // JavaScript sees two where the letter is beyond 16 bits.
            (0..letter.len_utf16()).for_each(|_| name.push('_'));
        }
    }
    Some(name)
}

impl ArtefactList {
    /// Finds the artefacts of a session in a project's directory. `is_anothers` is true for names that belong to sessions which
    /// stay.
    pub fn find(directory: &Path, id: &str, is_anothers: &dyn Fn(&str) -> bool) -> Self {
        let mut artefacts = Self::default();
        let Some(name) = file_name_of(id) else {
            return artefacts;
        };
        artefacts.add_session_artefacts(directory, &name, is_anothers);
        if is_reserved(&name) || is_anothers(&name) {
            return artefacts;
        }
        let subagents = directory.join("chats").join(&name);
        let before = artefacts.found.len();
        artefacts.add_artefact(directory, subagents);
        let sessions = artefacts.found.get(before).map(|found| &found.sessions);
        for session in sessions.cloned().unwrap_or_default() {
            let agent = session.file_stem().unwrap_or_default().to_string_lossy();
            if let Some(agent) = file_name_of(&agent).filter(|agent| *agent != name) {
                artefacts.add_session_artefacts(directory, &agent, is_anothers);
            }
        }
        artefacts
    }

    /// Adds the artefacts of one session or one sub-agent.
    fn add_session_artefacts(
        &mut self,
        directory: &Path,
        name: &str,
        is_anothers: &dyn Fn(&str) -> bool,
    ) {
        if is_anothers(name) {
            self.spared.push(format!(
                "what is called `{name}` in `{}` belongs to a session that stays, too",
                directory.display()
            ));
            return;
        }
        self.add_artefact(
            directory,
            directory.join("logs").join(format!("session-{name}.jsonl")),
        );
        self.add_artefact(
            directory,
            directory
                .join("tool-outputs")
                .join(format!("session-{name}")),
        );
        let folder = directory.join(name);
        if !is_reserved(name) && folder.is_dir() {
            self.add_artefact(directory, folder);
        }
    }

    fn add_artefact(&mut self, directory: &Path, path: PathBuf) {
        let Ok(about) = fs::symlink_metadata(&path) else {
            return;
        };
        if !stays_inside(directory, &path) {
            let way = "is reached through a link; link targets are not changed";
            self.spared.push(format!("`{}` {way}", path.display()));
            return;
        }
        if self.found.iter().any(|artefact| artefact.path == path) {
            return;
        }
        let kind = if about.is_symlink() {
            ArtefactKind::Link
        } else if about.is_dir() {
            ArtefactKind::Directory
        } else {
            ArtefactKind::File
        };
        let (bytes, sessions) = match kind {
            ArtefactKind::Directory => measure_directory(&path),
            ArtefactKind::File | ArtefactKind::Link => (about.len(), Vec::new()),
        };
        self.found.push(SessionArtefact {
            path,
            kind,
            bytes,
            sessions,
        });
    }
}

fn is_reserved(name: &str) -> bool {
    RESERVED
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// True if no link leads from a directory to where a path lies: the way there is made of directories only.
pub(super) fn stays_inside(directory: &Path, path: &Path) -> bool {
    let is_real = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let Ok(way) = path.strip_prefix(directory) else {
        return false;
    };
    let mut at = directory.to_owned();
    let mut steps = way.components().peekable();
    while let Some(step) = steps.next() {
        if !is_real(&at) || !matches!(step, std::path::Component::Normal(_)) {
            return false;
        }
        at.push(step);
        if steps.peek().is_none() {
            return true;
        }
    }
    false
}

/// How many bytes are in a directory, and which sessions lie in it directly. Links are not followed.
fn measure_directory(directory: &Path) -> (u64, Vec<PathBuf>) {
    let mut bytes = 0;
    let mut sessions = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(folder) = left.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            match entry.metadata() {
                Ok(about) if about.is_dir() => left.push(path),
                Ok(about) => {
                    bytes += about.len();
                    if about.is_file() && folder == directory && is_session(&path) {
                        sessions.push(path);
                    }
                }
                Err(_) => {}
            }
        }
    }
    sessions.sort();
    (bytes, sessions)
}

fn is_session(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending == "json" || ending == "jsonl")
}
