//! Which files the project's ignore files name, as Gemini CLI reads them.
//!
//! `.gitignore` files count from the project's directory down, and only in a repository; `.geminiignore` counts in the project's
//! directory alone, behind them. Patterns of a nested file are written from the project's directory, so that one list decides.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use lapidary_gemini::js;

use super::disk;

/// A larger ignore file is taken for none.
const MOST_BYTES: u64 = 1024 * 1024;
/// The patterns of this many directories are kept.
const MOST_DIRECTORIES: usize = 10_000;

/// Which ignore files count for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IgnoreFiles {
    /// `.gitignore` and `.git/info/exclude`.
    pub git: bool,
    /// `.geminiignore`.
    pub gemini: bool,
    /// Whether capital letters matter. They do for Git itself, and do not for the tools of Gemini CLI that read ignore files.
    pub case_sensitive: bool,
}

impl IgnoreFiles {
    /// Both.
    pub const ALL: Self = Self {
        git: true,
        gemini: true,
        case_sensitive: false,
    };
    /// Both, read as `git grep` reads `.gitignore`.
    pub const ALL_AS_GIT: Self = Self {
        case_sensitive: true,
        ..Self::ALL
    };
}

/// The ignore files of a project, read when they are needed and kept.
#[derive(Debug)]
pub struct IgnoreRules {
    root: PathBuf,
    is_repository: bool,
    gemini: Vec<String>,
    cache: Mutex<HashMap<(PathBuf, IgnoreFiles), Arc<DirectoryRules>>>,
}

/// What counts for the entries of one directory of a walk. Nothing does outside the project.
#[derive(Debug, Clone)]
pub(crate) struct WalkRules {
    files: IgnoreFiles,
    rules: Option<Arc<DirectoryRules>>,
}

impl WalkRules {
    /// Whether the directory itself is ignored, and so all that is in it.
    pub(crate) fn is_directory_ignored(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.is_ignored)
    }
}

/// What counts for the entries of one directory.
#[derive(Debug)]
struct DirectoryRules {
    /// Patterns of Git, from the project's directory.
    git: Arc<Vec<String>>,
    matcher: Arc<Gitignore>,
    /// Whether the directory itself is ignored: nothing below it is read then.
    is_ignored: bool,
}

impl IgnoreRules {
    /// The rules of a project.
    pub(super) fn read_project(root: &Path) -> Self {
        let is_repository = root.ancestors().any(|at| at.join(".git").exists());
        let gemini = lines_of(&root.join(".geminiignore"));
        let gemini = gemini.iter().map(|line| js::trim(line).to_owned());
        let gemini = gemini.filter(|line| is_pattern(line)).collect();
        Self {
            root: root.to_owned(),
            is_repository,
            gemini,
            cache: Mutex::new(HashMap::new()),
        }
    }

    /// Whether the project's directory is in a Git repository.
    pub fn is_repository(&self) -> bool {
        self.is_repository
    }

    /// Whether a path below the project's directory is ignored. The path is not followed.
    pub fn is_ignored(&self, path: &Path, is_directory: bool, files: IgnoreFiles) -> bool {
        let Ok(relative) = path.strip_prefix(&self.root) else {
            return false;
        };
        let Some(parent) = relative.parent() else {
            return false;
        };
        let rules = self.rules_of(parent, files);
        rules.is_ignored || matcher_ignores(&rules.matcher, relative, is_directory)
    }

    /// The rules for the entries of a directory, from which a walk begins. A walk passes them on and looks nothing up.
    pub(crate) fn walk_rules(&self, directory: &Path, files: IgnoreFiles) -> WalkRules {
        let relative = directory.strip_prefix(&self.root).ok();
        WalkRules {
            files,
            rules: relative.map(|relative| self.rules_of(relative, files)),
        }
    }

    /// The rules for the entries of a directory that a walk comes by.
    pub(crate) fn walk_rules_below(&self, above: &WalkRules, directory: &Path) -> WalkRules {
        let mut below = above.clone();
        if let (Some(rules), Ok(relative)) = (&above.rules, directory.strip_prefix(&self.root)) {
            below.rules = Some(Arc::new(self.rules_below(rules, relative, above.files)));
        }
        below
    }

    /// Whether a file of a walk is ignored, by the rules of its directory.
    pub(crate) fn is_walked_ignored(&self, above: &WalkRules, file: &Path) -> bool {
        let (Some(rules), Ok(relative)) = (&above.rules, file.strip_prefix(&self.root)) else {
            return false;
        };
        // The directories on the way were judged when they were entered.
        rules.is_ignored
            || (!rules.matcher.is_empty() && rules.matcher.matched(relative, false).is_ignore())
    }

    fn rules_of(&self, relative: &Path, files: IgnoreFiles) -> Arc<DirectoryRules> {
        let key = (relative.to_owned(), files);
        if let Some(known) = self.lock_cache().get(&key) {
            return Arc::clone(known);
        }
        let rules = Arc::new(match relative.parent() {
            None => self.rules_of_root(files),
            Some(parent) => self.rules_below(&self.rules_of(parent, files), relative, files),
        });
        let mut cache = self.lock_cache();
        if cache.len() >= MOST_DIRECTORIES {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&rules));
        rules
    }

    fn rules_of_root(&self, files: IgnoreFiles) -> DirectoryRules {
        let mut git = Vec::new();
        if files.git && self.is_repository {
            git.push(".git".to_owned());
            git.extend(gitignore_patterns(
                &self.root.join(".git/info/exclude"),
                Path::new(""),
            ));
            git.extend(gitignore_patterns(
                &self.root.join(".gitignore"),
                Path::new(""),
            ));
        }
        let git = Arc::new(git);
        DirectoryRules {
            matcher: self.build_matcher(&git, files),
            git,
            is_ignored: false,
        }
    }

    fn rules_below(
        &self,
        above: &Arc<DirectoryRules>,
        relative: &Path,
        files: IgnoreFiles,
    ) -> DirectoryRules {
        let is_ignored = above.is_ignored || matcher_ignores(&above.matcher, relative, true);
        let same = |is_ignored| DirectoryRules {
            git: Arc::clone(&above.git),
            matcher: Arc::clone(&above.matcher),
            is_ignored,
        };
        if is_ignored || !files.git || !self.is_repository {
            return same(is_ignored);
        }
        let own = gitignore_patterns(&self.root.join(relative).join(".gitignore"), relative);
        if own.is_empty() {
            return same(false);
        }
        let git: Vec<String> = above.git.iter().cloned().chain(own).collect();
        DirectoryRules {
            matcher: self.build_matcher(&git, files),
            git: Arc::new(git),
            is_ignored: false,
        }
    }

    fn build_matcher(&self, git: &[String], files: IgnoreFiles) -> Arc<Gitignore> {
        let mut builder = GitignoreBuilder::new("");
        let _ = builder.case_insensitive(!files.case_sensitive); // as the `ignore` package of npm
        let gemini: &[String] = if files.gemini { &self.gemini } else { &[] };
        for pattern in git {
            let _ = builder.add_line(None, pattern); // a pattern that is none matches nothing
        }
        let _ = builder.case_insensitive(true); // Git does not read `.geminiignore`
        for pattern in gemini {
            let _ = builder.add_line(None, pattern);
        }
        Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    fn lock_cache(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<(PathBuf, IgnoreFiles), Arc<DirectoryRules>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn matcher_ignores(matcher: &Gitignore, relative: &Path, is_directory: bool) -> bool {
    !matcher.is_empty()
        && !relative.as_os_str().is_empty()
        && matcher
            .matched_path_or_any_parents(relative, is_directory)
            .is_ignore()
}

fn lines_of(path: &Path) -> Vec<String> {
    let Ok(bytes) = disk::read(path, MOST_BYTES) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    text.split('\n')
        .flat_map(|line| line.split('\r'))
        .map(str::to_owned)
        .collect()
}

fn is_pattern(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// The patterns of a `.gitignore`, written from the project's directory.
fn gitignore_patterns(path: &Path, base: &Path) -> Vec<String> {
    let lines = lines_of(path);
    let lines = lines
        .iter()
        .map(|line| line.trim_start_matches(js::is_space));
    let lines = lines.filter(|line| is_pattern(line));
    lines.filter_map(|line| from_root(line, base)).collect()
}

fn from_root(line: &str, base: &Path) -> Option<String> {
    let (mark, pattern) = match line.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", line),
    };
    let (is_anchored, pattern) = match pattern.strip_prefix('/') {
        Some(pattern) => (true, pattern),
        None => (false, pattern),
    };
    if pattern.is_empty() {
        return None;
    }
    if base.as_os_str().is_empty() {
        let slash = if is_anchored { "/" } else { "" };
        return Some(format!("{mark}{slash}{pattern}"));
    }
    let deep = if is_anchored || pattern.contains('/') {
        ""
    } else {
        "**/"
    };
    Some(format!("{mark}/{}/{deep}{pattern}", base.to_string_lossy()))
}
