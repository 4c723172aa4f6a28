//! The files of an agent's own directory among which its sessions are. Nothing is written there, and no link is followed out of it.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lapidary_vocab::session::{HiddenFile, HiddenReason};

use crate::agent_summary::AgentSummary;
use crate::projects::nearest_visible;
use crate::provider_scope::{ProjectReach, ProviderScope};

/// How much of a long path is in the name of its directory; a hash follows (Claude Code 2.1.312).
const LONGEST_NAME: usize = 200;

/// The explanation of a link that leads out of the store.
const OUTSIDE: &str = "it is a link to a place outside";

/// The explanation of a link where links are not followed.
pub(crate) const NOT_FOLLOWED: &str = "it is a link, which is not followed";

/// A file that is called like a session, or rows of a database that are one.
#[derive(Debug, Clone)]
pub struct StoreFile {
    pub(crate) path: PathBuf,
    /// The file's name without its ending, which is the session's id with most agents.
    pub(crate) id: String,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    /// Tells this state of the session from another of the same size and time: the file's number, and the state of all files
    /// that belong to it.
    pub(crate) state_number: u64,
    /// Files of its sub-agents.
    pub(crate) attached: Vec<PathBuf>,
    /// Files of sub-agents of all sessions in the same directory.
    pub(crate) shared: Arc<[PathBuf]>,
    /// The session's facts, if they were found with it.
    pub(crate) found: Option<Box<AgentSummary>>,
    /// Whether `size`, `modified` and `state_number` tell every change, so that an index may know it.
    pub(crate) shows_changes: bool,
}

impl StoreFile {
    /// A file with this state.
    pub(crate) fn new(path: PathBuf, id: String, about: &Metadata) -> Self {
        Self {
            path,
            id,
            size: about.len(),
            modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            state_number: file_number(about),
            attached: Vec::new(),
            shared: Arc::default(),
            found: None,
            shows_changes: true,
        }
    }

    /// Adds a file that belongs to it.
    pub(crate) fn attach(&mut self, path: PathBuf, about: &Metadata) {
        self.state_number = mixed(self.state_number, entry_state(&path, about));
        self.attached.push(path);
    }

    /// The file's name, without the ending of a compressed one.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".zst").unwrap_or(&name).to_owned()
    }

    pub(crate) fn hidden_file(&self, reason: HiddenReason, explanation: String) -> HiddenFile {
        hidden(&self.path, self.size, reason, explanation)
    }
}

/// The files of a scope.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files, directory by directory.
    pub(crate) files: Vec<StoreFile>,
    pub(crate) hidden: Vec<HiddenFile>,
    pub(crate) warnings: Vec<String>,
}

impl FoundFiles {
    /// The directories in a store that may have sessions of the scope, by their names; none without a store.
    pub(crate) fn project_directories(
        &mut self,
        projects: &Path,
        scope: &ProviderScope<'_>,
    ) -> Vec<PathBuf> {
        let Some(inside) = self.reach(projects) else {
            return Vec::new();
        };
        let mut directories = Vec::new();
        for (path, about) in self.directory_entries(&inside) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !is_wanted(&name, scope) {
                continue;
            }
            match metadata_within(&path, &about, &inside) {
                Ok(about) if about.is_dir() => directories.push(path),
                Ok(_) => {}
                Err(why) => self.hide_file(&path, &about, HiddenReason::LinkOutside, why),
            }
        }
        directories
    }

    /// Adds the files of a directory that end like this, and returns its other entries. Links are followed within the store.
    pub(crate) fn add_directory(
        &mut self,
        directory: &Path,
        ending: &str,
        store: &Path,
    ) -> OtherEntries {
        let mut others = OtherEntries::default();
        let Some(inside) = self.reach(store) else {
            return others;
        };
        for (path, about) in self.directory_entries(directory) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(id) = name.strip_suffix(ending) else {
                // Notes of the program, and directories.
                if about.is_dir() {
                    others.directories.insert(name.into_owned());
                } else if about.is_symlink() {
                    others.links.push((path.clone(), about));
                }
                continue;
            };
            match metadata_within(&path, &about, &inside) {
                Err(why) => self.hide_file(&path, &about, HiddenReason::LinkOutside, why),
                Ok(about) if !about.is_file() => {
                    let why = "it is not a file".to_owned();
                    self.hide_file(&path, &about, HiddenReason::NotAFile, why);
                }
                Ok(about) if id.starts_with("agent-") => {
                    let why = "a sub-agent wrote it".to_owned();
                    self.hide_file(&path, &about, HiddenReason::Subagent, why);
                    others.subagents.push((path, about));
                }
                Ok(about) => {
                    let id = id.to_owned();
                    self.files.push(StoreFile::new(path, id, &about));
                }
            }
        }
        others
    }

    /// Gives each file from a place on the files of its sub-agents: those in a directory of its own, and those that stand
    /// beside the sessions.
    pub(crate) fn attach_subagents(
        &mut self,
        from: usize,
        others: &OtherEntries,
        own_directory: impl Fn(&StoreFile) -> PathBuf,
    ) {
        let shared = others.subagents.iter();
        let shared_state =
            shared.fold(0, |all, (path, about)| mixed(all, entry_state(path, about)));
        let shared: Arc<[PathBuf]> = others.subagents.iter().map(|it| it.0.clone()).collect();
        let mut linked = others.links.clone();
        linked.retain(|(path, _)| {
            let name = path.file_name().unwrap_or_default();
            self.files[from..].iter().any(|file| name == &*file.id)
        });
        for file in &mut self.files[from..] {
            if !shared.is_empty() {
                file.shared = Arc::clone(&shared);
                file.state_number = mixed(file.state_number, shared_state);
            }
            if !others.directories.contains(&file.id) {
                continue;
            }
            let directory = own_directory(file);
            match directory.symlink_metadata() {
                Ok(about) if about.is_symlink() => linked.push((directory, about)),
                _ => {
                    for (path, about) in sorted_entries(&directory).unwrap_or_default() {
                        file.attach(path, &about);
                    }
                }
            }
        }
        for (path, about) in linked {
            self.hide_linked_directory(&path, &about);
        }
    }

    /// The entries of a directory, by name. A directory that cannot be read is a warning.
    pub(crate) fn directory_entries(&mut self, directory: &Path) -> Vec<(PathBuf, Metadata)> {
        sorted_entries(directory).unwrap_or_else(|error| {
            add_warning(&mut self.warnings, directory, &error);
            Vec::new()
        })
    }

    /// The real path of a directory; none if it is not there. One that cannot be reached is a warning.
    pub(crate) fn reach(&mut self, directory: &Path) -> Option<PathBuf> {
        match directory.canonicalize() {
            Ok(directory) => Some(directory),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                add_warning(&mut self.warnings, directory, &error);
                None
            }
        }
    }

    /// The names of the directories in a directory of a store; none if it is not there. Links are hidden.
    pub(crate) fn directory_names(&mut self, directory: &Path, store: &Path) -> HashSet<String> {
        let mut names = HashSet::new();
        if !self.accept_directory(directory, store) {
            return names;
        }
        for (path, about) in self.directory_entries(directory) {
            self.hide_linked_directory(&path, &about);
            let name = path.file_name().and_then(|it| it.to_str());
            names.extend(name.filter(|_| about.is_dir()).map(str::to_owned));
        }
        names
    }

    /// True if a directory is there and in the store. Hides it if it is a link that leads out of the store.
    pub(crate) fn accept_directory(&mut self, directory: &Path, store: &Path) -> bool {
        let (Some(store), Some(place)) = (self.reach(store), self.reach(directory)) else {
            return false;
        };
        let is_within = place.starts_with(store);
        if !is_within && let Ok(about) = directory.symlink_metadata() {
            let why = OUTSIDE.to_owned();
            self.hide_file(directory, &about, HiddenReason::LinkOutside, why);
        }
        is_within
    }

    /// Hides a link to a directory where links are not followed.
    pub(crate) fn hide_linked_directory(&mut self, path: &Path, about: &Metadata) {
        if about.is_symlink() && path.is_dir() {
            let why = NOT_FOLLOWED.to_owned();
            self.hide_file(path, about, HiddenReason::LinkOutside, why);
        }
    }

    pub(crate) fn hide_file(
        &mut self,
        path: &Path,
        about: &Metadata,
        reason: HiddenReason,
        explanation: String,
    ) {
        let file = hidden(path, about.len(), reason, explanation);
        self.hidden.push(file);
    }
}

/// The entries of a directory beside its session files.
#[derive(Debug, Default)]
pub(crate) struct OtherEntries {
    /// The names of directories.
    pub(crate) directories: HashSet<String>,
    /// Files of sub-agents.
    pub(crate) subagents: Vec<(PathBuf, Metadata)>,
    /// Links.
    pub(crate) links: Vec<(PathBuf, Metadata)>,
}

/// Warns of a path that cannot be reached, once for the directory that does not let anything through.
pub(crate) fn add_warning(warnings: &mut Vec<String>, path: &Path, error: &io::Error) {
    let closed = nearest_visible(path).display();
    let warning = format!("sessions in `{closed}` cannot be read: {error}");
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

/// Adds warnings that are not there yet: a closed directory may have the stores of several agents.
pub(crate) fn add_new_warnings(warnings: &mut Vec<String>, more: Vec<String>) {
    for warning in more {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // One that is gone since is none.
        entries.extend(entry.metadata().ok().map(|about| (entry.path(), about)));
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

/// A number for the state of a file that belongs to a session.
pub(crate) fn entry_state(path: &Path, about: &Metadata) -> u64 {
    let modified = about.modified().ok();
    let modified = modified.and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |it| it.as_secs() << 30 | u64::from(it.subsec_nanos()));
    let name = path.as_os_str().as_encoded_bytes();
    let state = mixed(mixed(file_number(about), about.len()), modified);
    name.iter()
        .fold(state, |all, byte| mixed(all, u64::from(*byte)))
}

/// Two numbers as one, in which a change of either shows.
pub(crate) fn mixed(one: u64, other: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (one.rotate_left(23) ^ other).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 32)
}

/// A file's number in the file system, where there are such.
#[cfg(unix)]
fn file_number(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn file_number(_: &Metadata) -> u64 {
    0
}

/// A file that is not listed.
pub(crate) fn hidden(
    path: &Path,
    size: u64,
    reason: HiddenReason,
    explanation: String,
) -> HiddenFile {
    HiddenFile {
        path: path.to_string_lossy().into_owned(),
        project_id: String::new(),
        reason,
        explanation,
        session_id: None,
        size,
    }
}

/// The facts of an entry, or of the place in the store that a link leads to.
fn metadata_within(path: &Path, about: &Metadata, inside: &Path) -> Result<Metadata, String> {
    if !about.is_symlink() {
        return Ok(about.clone());
    }
    let target = path.canonicalize();
    let target = target.map_err(|error| format!("it is a link that leads nowhere: {error}"))?;
    if !target.starts_with(inside) {
        return Err(OUTSIDE.to_owned());
    }
    fs::metadata(&target).map_err(|error| format!("it is a link that leads nowhere: {error}"))
}

/// Whether a directory may have sessions of the scope. The name does not tell for sure: `/a-b` and `/a/b` share one. So the
/// sessions in it are asked, too.
fn is_wanted(name: &str, scope: &ProviderScope<'_>) -> bool {
    let mut roots = scope.projects.iter().filter_map(|it| it.root.as_deref());
    scope.reach == ProjectReach::Everywhere || roots.any(|root| is_name_of(name, root))
}

/// Whether a directory of the store is called like a project: every character but ASCII letters and digits is a `-`.
fn is_name_of(name: &str, project: &Path) -> bool {
    let project = project.to_string_lossy();
    let plain = |unit: u16| {
        let letter = char::from(u8::try_from(unit).unwrap_or(b'-'));
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let wanted: String = project.encode_utf16().map(plain).collect();
    match wanted.get(..LONGEST_NAME) {
        Some(start) if wanted.len() > LONGEST_NAME => name.starts_with(start),
        _ => name == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::is_name_of;

    #[test]
    fn a_directory_is_named_as_claude_code_names_it() {
        let long = format!("/tmp/{}", "x".repeat(300));
        let cut = format!("-tmp-{}-1c1fbj", "x".repeat(195));
        let cases = [
            ("-tmp-project", "/tmp/project", true),
            (
                "-tmp-slugs-pro-ject-x-----",
                "/tmp/slugs/pro_ject.x ü(日)",
                true,
            ),
            ("-tmp-project", "/tmp/projec", false),
            ("-tmp-project-2", "/tmp/project", false),
            (&cut, &long, true),
        ];
        for (name, project, expected) in cases {
            assert_eq!(
                is_name_of(name, project.as_ref()),
                expected,
                "{name} {project}"
            );
        }
    }
}
