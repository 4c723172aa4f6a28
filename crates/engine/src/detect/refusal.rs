//! Reasons why a file is not used as a program.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SearchReason;

/// Why a place was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceRefusal {
    /// There is nothing.
    Missing,
    /// There is a link to nothing.
    BrokenLink {
        /// Where it points.
        target: PathBuf,
    },
    /// There is a directory.
    Directory,
    /// There is a pipe, a socket or a device.
    NotAFile,
    /// There is a file that we may not execute.
    NotExecutable,
    /// A part of PATH that is no absolute path. It would mean the current directory, which may be a cloned repository.
    Relative,
    /// It could not be looked at.
    Unreadable(io::ErrorKind),
}

impl fmt::Display for PlaceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no such file"),
            Self::BrokenLink { target } => {
                write!(f, "a link to {}, which does not exist", target.display())
            }
            Self::Directory => f.write_str("a directory"),
            Self::NotAFile => f.write_str("not a regular file"),
            Self::NotExecutable => f.write_str("not executable"),
            Self::Relative => f.write_str("a relative part of PATH is not followed"),
            Self::Unreadable(kind) => write!(f, "cannot be looked at: {kind}"),
        }
    }
}

/// The reason to reject the file, if there is one.
pub(super) fn check(path: &Path, how: &SearchReason) -> Option<PlaceRefusal> {
    if *how == SearchReason::Path && !path.is_absolute() {
        return Some(PlaceRefusal::Relative);
    }
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) => return Some(absent_refusal(path, &error)),
    };
    if about.is_dir() {
        Some(PlaceRefusal::Directory)
    } else if !about.is_file() {
        Some(PlaceRefusal::NotAFile)
    } else if !executable(path) {
        Some(PlaceRefusal::NotExecutable)
    } else {
        None
    }
}

fn absent_refusal(path: &Path, error: &io::Error) -> PlaceRefusal {
    match (error.kind(), fs::read_link(path)) {
        (io::ErrorKind::NotFound, Ok(target)) => PlaceRefusal::BrokenLink { target },
        // A file where a directory was expected: there is nothing behind it either.
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => PlaceRefusal::Missing,
        (kind, _) => PlaceRefusal::Unreadable(kind),
    }
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn executable(_: &Path) -> bool {
    true
}
