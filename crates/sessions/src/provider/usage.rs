//! Usage that is read from the files of a provider.
//!
//! A count needs a few numbers of each message. Replaying a session as events for that takes several times as long, and leaves out
//! files that are no session of their own, such as those of sub-agents whose session is gone.

use std::io;
use std::path::PathBuf;

use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::usage_notes::UsageNotes;

/// Reads the usage of sessions from a provider's files.
pub trait UsageReader: Sync {
    /// The files of a scope that may have usage in them.
    fn usage_files(&self, scope: &ProviderScope<'_>) -> UsageFiles;

    /// Reads one of them, and passes on the usage of each session in it that is of a wanted directory. Sessions that were read
    /// before an error count.
    fn read_usage(
        &self,
        file: &UsageFile,
        wanted: &WantedDirectories,
        take: &mut dyn FnMut(UsageNotes),
    ) -> io::Result<()>;
}

/// Files that may have usage in them.
#[derive(Debug, Default)]
pub struct UsageFiles {
    /// The files.
    pub files: Vec<UsageFile>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// A file that may have usage in it.
#[derive(Debug)]
pub struct UsageFile {
    /// Its path.
    pub path: PathBuf,
    /// The directory of its sessions, if the file itself does not tell it.
    pub directory: Option<String>,
}

impl From<PathBuf> for UsageFile {
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            directory: None,
        }
    }
}
