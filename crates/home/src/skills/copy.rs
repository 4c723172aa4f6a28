//! A directory of somebody else's, copied: within bounds, and without what leads out of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many files and directories a skill may have.
pub const MOST_FILES: u64 = 10_000;
/// How many bytes they may have together: 100 MiB.
pub const MOST_BYTES: u64 = 100 * 1024 * 1024;
/// How deep directories may stand in each other. Links that lead in circles end there.
pub(super) const DEEPEST: usize = 32;

/// Why a directory was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A link leads somewhere else.
    #[error("`{0}` is a link that leads out of `{1}`")]
    LeadsOut(PathBuf, PathBuf),
    /// A pipe, a socket or a device.
    #[error("`{0}` is neither a file nor a directory")]
    Special(PathBuf),
    /// Too many files.
    #[error("`{0}` has more than {MOST_FILES} files")]
    TooMany(PathBuf),
    /// Too many bytes.
    #[error("`{0}` has more than 100 MiB")]
    TooMuch(PathBuf),
    /// Directories in directories without end.
    #[error("`{0}` lies more than {DEEPEST} directories deep")]
    TooDeep(PathBuf),
    /// The system does not let us.
    #[error("cannot copy `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Copies a directory with all that is in it, links by what they lead to. `within` is what none may lead out of. A `.git` stays
/// behind.
pub(super) fn copy(from: &Path, to: &Path, within: &Path) -> Result<(), CopyError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| CopyError::Io { path, source }
    };
    let within = within.canonicalize().map_err(at(within))?;
    let mut tally = Tally {
        root: from,
        files: 0,
        bytes: 0,
    };
    let mut waiting = vec![(from.to_owned(), to.to_owned(), 0)];
    while let Some((from, to, depth)) = waiting.pop() {
        if depth > DEEPEST {
            return Err(CopyError::TooDeep(from));
        }
        fs::create_dir(&to).map_err(at(&to))?;
        for entry in fs::read_dir(&from).map_err(at(&from))? {
            let name = entry.map_err(at(&from))?.file_name();
            if name == ".git" {
                continue;
            }
            let (from, to) = (from.join(&name), to.join(&name));
            let real = from.canonicalize().map_err(at(&from))?;
            if !real.starts_with(&within) {
                return Err(CopyError::LeadsOut(from, within));
            }
            let about = fs::symlink_metadata(&real).map_err(at(&from))?;
            if about.is_dir() {
                tally.add(0)?;
                waiting.push((from, to, depth + 1));
            } else if about.is_file() {
                tally.add(about.len())?;
                copy_file(&real, &to, about.len()).map_err(at(&from))?;
            } else {
                return Err(CopyError::Special(from));
            }
        }
    }
    Ok(())
}

struct Tally<'a> {
    root: &'a Path,
    files: u64,
    bytes: u64,
}

impl Tally<'_> {
    fn add(&mut self, bytes: u64) -> Result<(), CopyError> {
        self.files += 1;
        self.bytes += bytes;
        if self.files > MOST_FILES {
            return Err(CopyError::TooMany(self.root.to_owned()));
        }
        if self.bytes > MOST_BYTES {
            return Err(CopyError::TooMuch(self.root.to_owned()));
        }
        Ok(())
    }
}

/// No more than it was said to have, should it grow meanwhile.
fn copy_file(from: &Path, to: &Path, size: u64) -> io::Result<()> {
    use std::io::Read as _;
    let source = fs::File::open(from)?;
    let mode = source.metadata()?.permissions();
    let mut target = fs::File::create_new(to)?;
    io::copy(&mut source.take(size), &mut target)?;
    target.set_permissions(harmless(&mode))
}

/// Who may read, write and execute it stays; that it runs as somebody else does not.
#[cfg(unix)]
fn harmless(mode: &fs::Permissions) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode((mode.mode() & 0o777) | 0o600)
}

#[cfg(not(unix))]
fn harmless(mode: &fs::Permissions) -> fs::Permissions {
    mode.clone()
}
