//! The directories and files that programs write outside the workspace: a table's row, and its path in an environment.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::detect::SearchEnvironment;
use crate::system::private_directory;

/// A file or directory that a program writes outside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatePlace {
    /// The variable that names this very directory. Empty if there is none.
    pub variable: &'static str,
    /// The variable that names the directory that it is in, such as `XDG_CACHE_HOME`. Empty if there is none.
    pub parent_variable: &'static str,
    /// The directory that it is in without that variable, below the home directory.
    pub parent: &'static str,
    /// Its path in there.
    pub path: &'static str,
    /// Whether it is a directory or a file.
    pub kind: PlaceKind,
}

/// The kind of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A directory, with everything in it.
    Directory,
    /// A single file, which is created with this content if it is missing: the program cannot create it beside others.
    File(&'static str),
}

impl StatePlace {
    /// A directory in the home directory.
    pub const fn home(path: &'static str) -> Self {
        Self::below("", "", path)
    }

    /// A directory in one that a variable names, else in one of the home directory.
    pub const fn below(
        parent_variable: &'static str,
        parent: &'static str,
        path: &'static str,
    ) -> Self {
        Self {
            variable: "",
            parent_variable,
            parent,
            path,
            kind: PlaceKind::Directory,
        }
    }

    /// A directory of the user's caches.
    pub const fn cache(path: &'static str) -> Self {
        Self::below("XDG_CACHE_HOME", ".cache", path)
    }

    /// The same, unless this variable names another.
    pub const fn or(self, variable: &'static str) -> Self {
        Self { variable, ..self }
    }

    /// The same path, as a single file.
    pub const fn file(self, content: &'static str) -> Self {
        Self {
            kind: PlaceKind::File(content),
            ..self
        }
    }

    /// The path that it stands for. None without a home directory.
    pub fn in_environment(&self, environment: &SearchEnvironment) -> Option<PathBuf> {
        let named = |variable: &str| {
            let value = environment.vars.get(OsStr::new(variable))?;
            (!value.is_empty()).then(|| environment.dir.join(value))
        };
        if let Some(path) = named(self.variable) {
            return Some(path);
        }
        let parent = named(self.parent_variable).or_else(|| {
            let home = environment
                .home
                .as_deref()
                .filter(|home| home.is_absolute());
            home.map(|home| home.join(self.parent))
        });
        parent.map(|parent| parent.join(self.path))
    }

    /// Creates it as the program would, if it is missing. A place that cannot be created cannot be granted, and is left to the
    /// program.
    pub(super) fn create_missing(&self, path: &Path) {
        if path.exists() {
            return;
        }
        let _ = match self.kind {
            PlaceKind::Directory => private_directory().recursive(true).create(path),
            PlaceKind::File(content) => fs::write(path, content),
        };
    }
}
