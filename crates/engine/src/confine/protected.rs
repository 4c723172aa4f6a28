//! Files in a workspace, and settings of the agent's, that decide about later commands or permissions. Landlock cannot withdraw
//! rights below a directory that can be written, so these files are compared before and after a run.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::hash::{BuildHasher as _, RandomState};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::settings::powerful_part;
use super::worktree;
use crate::policy::SENSITIVE_NAMES;
use crate::system::open_regular;

/// More files than that are not compared. A `.vscode` or `.github` has dozens.
const MOST_FILES: usize = 2000;

/// How many bytes of a file are compared. Of a longer file, the length is compared, too.
const LONGEST: u64 = 256 * 1024;

/// Once so many bytes were read, files are compared by length, mode and time only.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Longer settings of the agent's own are not compared. Claude's `.claude.json` has megabytes.
const LONGEST_SETTINGS: u64 = 8 * 1024 * 1024;

/// A longer file is not blank.
const LONGEST_BLANK: u64 = 64;

/// Directories deeper than that are not looked into.
const DEEPEST: usize = 8;

/// A directory, or in a linked worktree a file that says where git finds its own.
const GIT: &str = ".git";

/// The programs that git runs, and the settings that name them. The rest of `.git` changes with every commit.
const IN_GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// The files that `git config` and the like write in there.
const GIT_SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Settings that agents write anew as they like, Gemini CLI (0.61) at every start: only their powerful part is compared.
const SETTINGS: &str = "settings.json";

/// Files in an agent's state directory that decide about commands and permissions: settings, hooks, and additional tools and
/// prompts.
const IN_STATE: [&str; 16] = [
    SETTINGS,
    "settings.local.json",
    "trustedFolders.json",
    "config.toml",
    "config.json",
    "opencode.json",
    "opencode.jsonc",
    "policies",
    "extensions",
    "hooks",
    "commands",
    "command",
    "agents",
    "agent",
    "skills",
    "plugin",
];

/// Hooks of this name are examples, which git does not run. `git init` makes them.
const SAMPLE: &str = ".sample";

/// The protected files of a workspace, as they were at some time.
#[derive(Debug)]
pub struct ProtectedFiles {
    /// Where they are looked for.
    places: Vec<PathBuf>,
    /// Directories of the agent's own, in which it may change every file but its settings.
    own: Vec<PathBuf>,
    settings: Vec<PathBuf>,
    /// Files that git itself writes when it is configured.
    git_settings: Vec<PathBuf>,
    files: BTreeMap<PathBuf, FileState>,
    hashing: RandomState,
}

/// The change of a protected file by a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedChange {
    /// The file.
    pub path: PathBuf,
    /// The kind of change.
    pub change: FileChange,
}

/// A kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// It was not there before.
    Created,
    /// It has another content, kind or mode.
    Changed,
    /// It is gone.
    Removed,
}

impl FileChange {
    /// The word for it in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    /// Its type, and whether it can be executed: the mode, where there is one.
    mode: u32,
    length: u64,
    /// When it was last changed. The same time and length is the same content: nothing is read again.
    changed: Option<SystemTime>,
    content: u64,
}

/// The files that a walk has found so far, and the bytes that it may still read.
struct FoundFiles {
    files: BTreeMap<PathBuf, FileState>,
    bytes_left: u64,
}

impl ProtectedFiles {
    /// The protected files of these workspace roots, and the settings in directories of the agent's own.
    pub fn find(roots: &[PathBuf], own: &[PathBuf]) -> Self {
        let settings = own
            .iter()
            .flat_map(|own| IN_STATE.map(|name| own.join(name)));
        let files = own.iter().filter(|own| own.is_file()).cloned();
        let settings: Vec<_> = settings.chain(files).collect();
        let places = roots.iter().flat_map(|root| protected_places(root));
        let mut protected = Self {
            places: places.chain(settings.iter().cloned()).collect(),
            own: own.to_vec(),
            settings,
            git_settings: roots.iter().flat_map(|root| git_settings(root)).collect(),
            files: BTreeMap::new(),
            hashing: RandomState::new(),
        };
        protected.files = protected.read_states();
        protected
    }

    /// The changes since then.
    pub fn changes(&self) -> Vec<ProtectedChange> {
        let now = self.read_states();
        let removed = self.files.keys().filter(|path| !now.contains_key(*path));
        let removed = removed.map(|path| (path, FileChange::Removed));
        let others = now.iter().filter_map(|(path, state)| {
            let change = match self.files.get(path) {
                None => FileChange::Created,
                Some(before) if !before.is_same(state) => FileChange::Changed,
                Some(_) => return None,
            };
            Some((path, change))
        });
        let all = removed.chain(others).map(|(path, change)| ProtectedChange {
            path: path.clone(),
            change: if self.is_rewritten(path) {
                FileChange::Changed // its powerful part may be new, or gone
            } else {
                change
            },
        });
        all.collect()
    }

    /// True if the path is, or is in, a place where protected files are.
    pub(super) fn is_protected_path(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    /// True for a file that git itself writes when it is configured.
    pub(super) fn is_git_setting(&self, path: &Path) -> bool {
        self.git_settings.iter().any(|setting| setting == path)
    }

    /// True for settings that the agent writes anew as it likes.
    fn is_rewritten(&self, path: &Path) -> bool {
        let is_named = path.file_name().is_some_and(|name| name == SETTINGS);
        let is_in_state = path.parent().is_some_and(|at| self.is_own(at));
        (is_named && is_in_state) || self.is_own(path)
    }

    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| own == path)
    }

    fn read_states(&self) -> BTreeMap<PathBuf, FileState> {
        let mut found = FoundFiles {
            files: BTreeMap::new(),
            bytes_left: MOST_BYTES,
        };
        for place in &self.places {
            self.walk_place(place, DEEPEST, &mut found);
        }
        found.files
    }

    fn walk_place(&self, path: &Path, depth: usize, found: &mut FoundFiles) {
        let is_in = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let is_own = is_in(&self.own) && !is_in(&self.settings);
        let Ok(about) = fs::symlink_metadata(path) else {
            return;
        };
        if is_own || found.files.len() >= MOST_FILES {
            return;
        }
        if about.is_dir() && path.ends_with(GIT) {
            for name in IN_GIT {
                self.walk_place(&path.join(name), depth, found);
            }
            return;
        }
        if is_in(&self.own) && is_blank(path, &about) {
            return;
        }
        if !about.is_dir() {
            let state = if about.is_file() && self.is_rewritten(path) {
                self.settings_state(path)
            } else {
                Some(self.file_state(path, &about, &mut found.bytes_left))
            };
            found
                .files
                .extend(state.map(|state| (path.to_owned(), state)));
            return;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries.filter(|_| depth > 0).take(MOST_FILES) {
            let name = entry.file_name();
            if !name.to_string_lossy().ends_with(SAMPLE) {
                self.walk_place(&entry.path(), depth - 1, found);
            }
        }
    }

    fn file_state(&self, path: &Path, about: &Metadata, bytes_left: &mut u64) -> FileState {
        let (mode, changed) = mode_and_time(about);
        let length = about.len();
        let known = self.files.get(path).filter(|known| {
            known.length == length && known.changed == changed && known.mode == mode
        });
        let content = match known {
            Some(known) => known.content,
            None if *bytes_left == 0 => self.hashing.hash_one(changed),
            None => self.content_hash(path, about, bytes_left),
        };
        FileState {
            mode,
            length,
            changed,
            content,
        }
    }

    /// The powerful part of settings that the agent writes anew. None if they have none: then they are as good as not there.
    fn settings_state(&self, path: &Path) -> Option<FileState> {
        let mut text = String::new();
        let read = open_regular(path).and_then(|file| {
            let mut file = file.take(LONGEST_SETTINGS + 1);
            file.read_to_string(&mut text)
        });
        let is_read = read.is_ok_and(|length| length as u64 <= LONGEST_SETTINGS);
        let part = is_read.then(|| powerful_part(&text));
        (part != Some(None)).then(|| FileState {
            mode: 0,
            length: 0,
            changed: None,
            content: self.hashing.hash_one(part),
        })
    }

    /// A number that no agent can foresee, and that another content almost certainly does not have.
    fn content_hash(&self, path: &Path, about: &Metadata, bytes_left: &mut u64) -> u64 {
        if about.is_symlink() {
            return self.hashing.hash_one(fs::read_link(path).ok());
        }
        let mut content = Vec::new();
        let read = open_regular(path).map(|file| file.take(LONGEST).read_to_end(&mut content));
        *bytes_left = bytes_left.saturating_sub(content.len() as u64);
        self.hashing.hash_one((read.is_ok(), content))
    }
}

impl FileState {
    fn is_same(&self, other: &Self) -> bool {
        (self.mode, self.length, self.content) == (other.mode, other.length, other.content)
    }
}

/// True for a file that has nothing in it, or an empty object or list: Qwen Code (0.24) makes such an `extension-enablement.json`.
fn is_blank(path: &Path, about: &Metadata) -> bool {
    let mut text = String::new();
    let is_short = about.is_file() && about.len() <= LONGEST_BLANK;
    let read = is_short.then(|| open_regular(path).ok()).flatten();
    let is_read = read.is_some_and(|file| {
        let read = file.take(LONGEST_BLANK).read_to_string(&mut text);
        read.is_ok()
    });
    text.retain(|letter| !letter.is_whitespace());
    is_read && matches!(text.as_str(), "" | "{}" | "[]")
}

/// The files of a workspace that git writes when it is configured, and a linked worktree's outside of it.
fn git_settings(root: &Path) -> Vec<PathBuf> {
    let mut settings: Vec<_> = GIT_SETTINGS.map(|name| root.join(GIT).join(name)).into();
    settings.push(root.join(".gitmodules"));
    let powerful = worktree::powerful_files(root).into_iter();
    settings.extend(powerful.filter(|path| !path.ends_with("hooks")));
    settings
}

/// Where the protected files of a workspace are, if there are any.
fn protected_places(root: &Path) -> Vec<PathBuf> {
    let names = SENSITIVE_NAMES.into_iter().filter(|name| *name != GIT);
    let mut places: Vec<_> = names.map(|name| root.join(name)).collect();
    places.push(root.join(GIT));
    places.extend(worktree::powerful_files(root));
    places
}

/// The time of the last change is the system's, which an agent cannot set back.
#[cfg(unix)]
fn mode_and_time(about: &Metadata) -> (u32, Option<SystemTime>) {
    use std::os::unix::fs::MetadataExt as _;
    let since = std::time::Duration::new(
        about.ctime().unsigned_abs(),
        u32::try_from(about.ctime_nsec()).unwrap_or_default(),
    );
    (about.mode(), SystemTime::UNIX_EPOCH.checked_add(since))
}

#[cfg(not(unix))]
fn mode_and_time(about: &Metadata) -> (u32, Option<SystemTime>) {
    (u32::from(about.permissions().readonly()), None)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn workspace() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for directory in [".git/hooks", ".git/objects", ".github/workflows", ".gemini"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [
            ".git/config",
            ".git/hooks/pre-push",
            ".github/workflows/ci.yml",
            ".envrc",
        ] {
            fs::write(root.join(file), "as it was").unwrap();
        }
        (folder, root)
    }

    fn changes(protected: &ProtectedFiles, root: &Path) -> Vec<String> {
        let changes = protected.changes().into_iter();
        let told = changes.map(|it| {
            let path = it.path.strip_prefix(root).unwrap().display().to_string();
            format!("{} {path}", it.change.as_str())
        });
        told.collect()
    }

    #[test]
    fn every_change_of_a_protected_file_is_found_and_no_other() {
        let (_folder, root) = workspace();
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &[]);
        assert_eq!(changes(&protected, &root), Vec::<String>::new());
        fs::write(root.join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
        fs::write(root.join(".git/config"), "as it is!").unwrap();
        fs::write(root.join(".git/objects/x"), "an object").unwrap();
        fs::write(root.join("main.rs"), "fn main() {}").unwrap();
        fs::remove_file(root.join(".envrc")).unwrap();
        let hook = root.join(".git/hooks/pre-push");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc/passwd", root.join(".mcp.json")).unwrap();
        let mut found = changes(&protected, &root);
        found.sort();
        let expected = [
            "changed .git/config",
            "changed .git/hooks/pre-push",
            "created .git/hooks/pre-commit",
            "created .mcp.json",
            "removed .envrc",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_repository_that_is_new_is_compared_like_one_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &[]);
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        for file in [
            "HEAD",
            "index",
            "config",
            "hooks/a.sample",
            "hooks/pre-push",
        ] {
            fs::write(root.join(".git").join(file), "new").unwrap();
        }
        let expected = ["created .git/config", "created .git/hooks/pre-push"];
        assert_eq!(changes(&protected, &root), expected);
    }

    #[test]
    fn a_file_that_was_written_again_with_the_same_content_has_not_changed() {
        let (_folder, root) = workspace();
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &[]);
        fs::write(root.join(".git/config"), "as it was").unwrap();
        assert_eq!(changes(&protected, &root), Vec::<String>::new());
    }

    #[test]
    fn a_state_directory_in_the_workspace_is_the_agents_own_except_for_its_settings() {
        let (_folder, root) = workspace();
        let own = [root.join(".gemini")];
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &own);
        fs::write(root.join(".gemini/state.json"), "{}").unwrap();
        fs::create_dir(root.join(".gemini/extensions")).unwrap();
        fs::write(root.join(".gemini/extensions/blank.json"), "{ }\n").unwrap();
        assert_eq!(changes(&protected, &root), Vec::<String>::new());
        fs::create_dir(root.join(".gemini/commands")).unwrap();
        fs::write(root.join(".gemini/commands/x.toml"), "prompt").unwrap();
        let expected = ["created .gemini/commands/x.toml"];
        assert_eq!(changes(&protected, &root), expected);
    }
}
