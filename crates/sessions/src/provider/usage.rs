//! Usage that is read from the files of a provider.
//!
//! A count needs a few numbers of each message. Replaying a session as events for that takes several times as long, and leaves out
//! files that are no session of their own, such as those of sub-agents whose session is gone.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{ProjectReach, ProviderScope};
use crate::usage_notes::UsageNotes;

/// Reads the usage of sessions from a provider's files.
pub trait UsageReader: Sync {
    /// The files of a scope that may have usage in them.
    fn usage_files(&self, scope: &ProviderScope<'_>) -> UsageFiles;

    /// Reads one of them. None if it has no usage, or belongs to a directory that does not count.
    fn read_usage(&self, file: &Path, wanted: &WantedDirectories)
    -> io::Result<Option<UsageNotes>>;
}

/// Files that may have usage in them.
#[derive(Debug, Default)]
pub struct UsageFiles {
    /// Their paths.
    pub paths: Vec<PathBuf>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// The directories whose sessions count.
#[derive(Debug, Clone, Default)]
pub enum WantedDirectories {
    /// Every directory.
    #[default]
    Every,
    /// These.
    Named(HashSet<PathBuf>),
}

impl WantedDirectories {
    /// Those of a scope.
    pub fn from_scope(scope: &ProviderScope<'_>) -> Self {
        match scope.reach {
            ProjectReach::Everywhere => Self::Every,
            ProjectReach::Named => {
                let roots = scope.projects.iter().filter_map(|it| it.root.clone());
                Self::Named(roots.collect())
            }
        }
    }

    /// Whether sessions of this directory count.
    pub fn contains(&self, directory: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Named(roots) => roots.contains(Path::new(directory)),
        }
    }
}
