//! Why skills did not come or go, and where they are then.

use std::io;
use std::path::{Path, PathBuf};

use super::copy::CopyError;

/// Why nothing was installed or removed. All is as it was, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A skill has no name, so that there is no name for its directory. The path begins at the package: the clone of a repository is gone
    /// when the user reads this.
    #[error("the `name` in `{0}` is empty")]
    NoName(PathBuf),
    /// The name is no name for a directory.
    #[error("Invalid skill name: Path traversal detected.")]
    BadName(String),
    /// The name would command the terminal that lists the directory.
    #[error("the name of a skill has control characters: `{}`", .0.escape_debug())]
    ControlName(String),
    /// A directory of that name is passed over when skills are looked for.
    #[error("a skill called `{0}` would never be found: directories of that name are passed over")]
    NeverFound(String),
    /// Two skills have the same name, and there can be one link only.
    #[error("Duplicate skill name \"{name}\" found at multiple locations:\n  - {}\n  - {}", first.display(), second.display())]
    Duplicate {
        /// The name.
        name: String,
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Where it would be installed is in what would be installed.
    #[error("`{0}` lies in `{1}`, which would then lie in itself")]
    IntoItself(PathBuf, PathBuf),
    /// What would be linked lies where the link would be.
    #[error("`{0}` is already in `{1}`: a link there could replace its own target")]
    OverItself(PathBuf, PathBuf),
    /// It cannot be copied.
    #[error(transparent)]
    Copy(CopyError),
    /// The caller stopped the install.
    #[error("stopped")]
    Stopped,
    /// Another process has held the lock for too long.
    #[error("`{0}` is being changed by another process")]
    Busy(PathBuf),
    /// Another process changed the skill that was to be replaced.
    #[error("`{0}` was changed by another process: nothing was installed")]
    Changed(PathBuf),
    /// One could not be moved, and others not moved back.
    #[error("{source}; new: {}; what was there before is still in `{}`", listed_names(new), path.display())]
    Stuck {
        /// Skills that are the new ones.
        new: Vec<String>,
        /// The staging directory, with the old ones.
        path: PathBuf,
        /// Why the first could not be moved.
        source: Box<InstallError>,
    },
    /// The skills are in place, but the replaced ones cannot be removed.
    #[error("it is done, but what was there before is still in `{path}`: {source}")]
    Left {
        /// Where it is.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The system does not let us.
    #[error("cannot write `{path}`: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// How many names are said in one sentence.
const MOST_LISTED: usize = 20;

pub(super) fn listed_names(names: &[String]) -> String {
    let first = names.iter().take(MOST_LISTED);
    let mut said: Vec<String> = first.map(|name| format!("`{name}`")).collect();
    if names.len() > MOST_LISTED {
        said.push(format!("and {} more", names.len() - MOST_LISTED));
    }
    said.join(", ")
}

impl From<CopyError> for InstallError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Stopped => Self::Stopped,
            CopyError::Unwritable { path, source } => Self::Io { path, source },
            error => Self::Copy(error),
        }
    }
}

pub(super) fn io_error_at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { path, source }
}
