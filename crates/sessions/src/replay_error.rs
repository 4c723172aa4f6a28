//! The error of a session that cannot be replayed, of any provider.

use std::error::Error;
use std::path::{Path, PathBuf};

/// Why a session cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the session in `{}`", path.display())]
pub struct ReplaySessionError {
    /// The session's file or directory.
    pub path: PathBuf,
    /// The provider's error.
    pub source: Box<dyn Error + Send + Sync>,
}

impl ReplaySessionError {
    /// The error of a session at this path.
    pub(crate) fn new(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
