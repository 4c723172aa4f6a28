//! Copying a directory of unknown origin: within bounds, and without links out of it.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::file;

/// How many files and directories a skill may have.
pub const MOST_FILES: u64 = 10_000;
/// How many bytes they may have together: 100 MiB.
pub const MOST_BYTES: u64 = 100 * 1024 * 1024;
/// How many files and directories all skills of a package may have.
pub const MOST_FILES_OF_ALL: u64 = 20_000;
/// How many bytes they may have together: 512 MiB, as much as is cloned.
pub const MOST_BYTES_OF_ALL: u64 = 512 * 1024 * 1024;
/// How deep directories may stand in each other. Links that lead in circles end there.
pub(super) const DEEPEST: usize = 32;

/// Why a directory was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A link leads out of the package.
    #[error("`{0}` is a link that points outside `{1}`")]
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
    /// All skills together are too much.
    #[error("the skills in `{0}` have more than {MOST_FILES_OF_ALL} files or 512 MiB together")]
    TooMuchInAll(PathBuf),
    /// Directories in directories without end.
    #[error("`{0}` lies more than {DEEPEST} directories deep")]
    TooDeep(PathBuf),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// There is no place for it, or none that can be written.
    #[error("cannot write `{path}`: {source}")]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot copy `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Copies the skills of a package. Links are followed and their targets copied, so a few bytes may become many. A `.git` is
/// skipped.
pub(super) struct SkillCopier<'a> {
    /// What no link may lead out of.
    within: PathBuf,
    is_stopped: &'a dyn Fn() -> bool,
    /// Of all that was copied.
    total: CopyTally,
}

impl<'a> SkillCopier<'a> {
    pub(super) fn new(within: &Path, is_stopped: &'a dyn Fn() -> bool) -> Result<Self, CopyError> {
        let within = within.canonicalize().map_err(read_error_at(within))?;
        Ok(Self {
            within,
            is_stopped,
            total: CopyTally::default(),
        })
    }

    /// Checks whether a directory can be copied, so that the limits are reported before the disk is full.
    pub(super) fn measure_directory(&mut self, root: &Path) -> Result<(), CopyError> {
        self.walk_directory(root, None)
    }

    /// Copies a directory with all that is in it.
    pub(super) fn copy_directory(&mut self, root: &Path, to: PathBuf) -> Result<(), CopyError> {
        self.walk_directory(root, Some(to))
    }

    fn walk_directory(&mut self, root: &Path, to: Option<PathBuf>) -> Result<(), CopyError> {
        let mut tally = CopyTally::default();
        let mut waiting = vec![(root.to_owned(), to, 0)];
        while let Some((from, to, depth)) = waiting.pop() {
            if depth > DEEPEST {
                return Err(CopyError::TooDeep(from));
            }
            if let Some(to) = &to {
                make_directory(&from, to)?;
            }
            for entry in fs::read_dir(&from).map_err(read_error_at(&from))? {
                let name = entry.map_err(read_error_at(&from))?.file_name();
                if name == ".git" {
                    continue;
                }
                let from = from.join(&name);
                let (real, about) = self.resolve_entry(&from)?;
                tally.add_entry(&about);
                tally.check(root)?;
                self.total.add_entry(&about);
                self.check_total()?;
                let to = to.as_ref().map(|to| to.join(&name));
                if about.is_dir() {
                    waiting.push((from, to, depth + 1));
                } else if let Some(to) = to {
                    let source = file::open_regular(&real).map_err(read_error_at(&from))?;
                    let source = source.ok_or_else(|| CopyError::Special(from.clone()))?;
                    copy_file(&source, &to, about.len()).map_err(write_error_at(&to))?;
                }
            }
        }
        Ok(())
    }

    /// Follows links to a file or directory, and returns its real path and metadata.
    fn resolve_entry(&self, from: &Path) -> Result<(PathBuf, Metadata), CopyError> {
        if (self.is_stopped)() {
            return Err(CopyError::Stopped);
        }
        let real = from.canonicalize().map_err(read_error_at(from))?;
        if !real.starts_with(&self.within) {
            let within = self.within.clone();
            return Err(CopyError::LeadsOut(from.to_owned(), within));
        }
        let about = fs::symlink_metadata(&real).map_err(read_error_at(from))?;
        if about.is_dir() || about.is_file() {
            Ok((real, about))
        } else {
            Err(CopyError::Special(from.to_owned()))
        }
    }

    fn check_total(&self) -> Result<(), CopyError> {
        let CopyTally { files, bytes } = self.total;
        if files > MOST_FILES_OF_ALL || bytes > MOST_BYTES_OF_ALL {
            return Err(CopyError::TooMuchInAll(self.within.clone()));
        }
        Ok(())
    }
}

fn read_error_at(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Io { path, source }
}

fn write_error_at(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Unwritable { path, source }
}

#[derive(Default)]
struct CopyTally {
    files: u64,
    bytes: u64,
}

impl CopyTally {
    fn add_entry(&mut self, about: &Metadata) {
        self.files += 1;
        if about.is_file() {
            self.bytes += about.len();
        }
    }

    /// Whether it is too much for one skill.
    fn check(&self, root: &Path) -> Result<(), CopyError> {
        if self.files > MOST_FILES {
            return Err(CopyError::TooMany(root.to_owned()));
        }
        if self.bytes > MOST_BYTES {
            return Err(CopyError::TooMuch(root.to_owned()));
        }
        Ok(())
    }
}

/// No more than it was said to have, should it grow meanwhile.
fn copy_file(source: &fs::File, to: &Path, size: u64) -> io::Result<()> {
    use std::io::Read as _;
    let mode = source.metadata()?.permissions();
    let mut target = fs::File::create_new(to)?;
    io::copy(&mut source.take(size), &mut target)?;
    target.set_permissions(harmless(&mode, 0o600))
}

/// Keeps the source's permissions, so that a private directory stays private. The owner gets all three: we still have to write
/// into the copy and move it.
fn make_directory(from: &Path, to: &Path) -> Result<(), CopyError> {
    let allowed = fs::metadata(from)
        .map_err(read_error_at(from))?
        .permissions();
    let made = fs::create_dir(to);
    let made = made.and_then(|()| fs::set_permissions(to, harmless(&allowed, 0o700)));
    made.map_err(write_error_at(to))
}

/// Keeps the permission bits and drops set-user-ID, set-group-ID and sticky. The owner gets at least `least`.
#[cfg(unix)]
fn harmless(mode: &fs::Permissions, least: u32) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode((mode.mode() & 0o777) | least)
}

#[cfg(not(unix))]
fn harmless(mode: &fs::Permissions, _: u32) -> fs::Permissions {
    mode.clone()
}
