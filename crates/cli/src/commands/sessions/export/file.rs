//! A file that is there whole or not at all.

use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct ExportManner {
    /// Only the user may read it.
    pub(in crate::commands) is_private: bool,
    /// It may take the place of one that exists.
    pub(in crate::commands) replaces: bool,
}

/// Writes a file beside its place and moves it there once it is complete.
pub(in crate::commands) fn write_export_file(
    path: &Path,
    manner: ExportManner,
    write: impl FnOnce(&mut BufWriter<NamedTempFile>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !manner.replaces && path.symlink_metadata().is_ok() {
        return Err(exists_failure(path));
    }
    let file = temporary_beside(path, manner.is_private)?;
    let mut out = BufWriter::with_capacity(128 * 1024, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    let moved = if manner.replaces {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    match moved {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(exists_failure(path))
        }
        Err(error) => {
            let told = format!("cannot write `{}`", path.display());
            Err(Failure::bad_input(anyhow!(error.error).context(told)))
        }
    }
}

/// Fails if a file could not be written there.
pub(in crate::commands) fn check(path: &Path) -> Result<(), Failure> {
    temporary_beside(path, true).map(drop)
}

fn temporary_beside(path: &Path, is_private: bool) -> Result<NamedTempFile, Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    temporary(folder.unwrap_or(Path::new(".")), is_private)
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(Failure::bad_input)
}

fn exists_failure(path: &Path) -> Failure {
    let failure = Failure::bad_input(anyhow!("`{}` exists already", path.display()));
    failure.with_hint("--force replaces it")
}

#[cfg(unix)]
fn temporary(folder: &Path, is_private: bool) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    // The user's umask reduces it further.
    let mode = if is_private { 0o600 } else { 0o666 };
    let permissions = std::fs::Permissions::from_mode(mode);
    let mut builder = Builder::new();
    builder.prefix(".lapidary-").permissions(permissions);
    builder.tempfile_in(folder)
}

#[cfg(not(unix))]
fn temporary(folder: &Path, _: bool) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".lapidary-").tempfile_in(folder)
}
