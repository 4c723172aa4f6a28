//! Errors of the vault.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file could not be kept or restored. Nothing was deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// No space is left, or none that we may use.
    #[error("there is no space left to write `{}`", path.display())]
    Full {
        /// The file to be written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A content that a snapshot names is not there.
    #[error("the vault has no content {sha256}")]
    Missing {
        /// Its SHA-256.
        sha256: String,
    },
    /// A content no longer has its hash.
    #[error("the vault's content {sha256} is damaged")]
    Corrupt {
        /// The SHA-256 that it should have.
        sha256: String,
    },
    /// A snapshot cannot be read.
    #[error("the snapshot `{}` cannot be read", path.display())]
    BadSnapshot {
        /// Its file.
        path: PathBuf,
    },
    /// A snapshot names a file outside the project.
    #[error("the vault's path `{path}` leaves its directory")]
    BadPath {
        /// The path as it stands in the snapshot.
        path: String,
    },
    /// A directory of sessions is a link. Agents write there, and could lead a file of ours to any place.
    #[error("`{}` is a link", path.display())]
    Link {
        /// The directory.
        path: PathBuf,
    },
    /// There is no such snapshot.
    #[error("no snapshot `{0}` in the vault")]
    NoSnapshot(String),
    /// More than one snapshot begins like that.
    #[error("more than one snapshot begins with `{0}`")]
    Ambiguous(String),
    /// No snapshot knows such a session.
    #[error("no session `{0}` in the vault")]
    NoSession(String),
    /// Nothing in it tells which session it was.
    #[error("`{}` has no session id that could be recovered", path.display())]
    NoId {
        /// The file.
        path: PathBuf,
    },
}

/// Adds the operation and the path to an error.
pub(super) trait ErrorContext<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, VaultError>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, VaultError> {
        self.map_err(|source| {
            let path = path.to_owned();
            match source.kind() {
                // A limit on the size of files has the same effect as a full disk.
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => VaultError::Full { path, source },
                _ => VaultError::Io {
                    doing,
                    path,
                    source,
                },
            }
        })
    }
}
