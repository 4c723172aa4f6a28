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
    /// Somebody does not want it any more.
    #[error("stopped")]
    Stopped,
    /// There is no place for it, or none that can be written.
    #[error("cannot write `{path}`: {source}")]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot copy `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Copies directories, links by what they lead to. A `.git` stays behind.
pub(super) struct Copier<'a> {
    /// What no link may lead out of.
    within: PathBuf,
    is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Copier<'a> {
    pub(super) fn new(within: &Path, is_stopped: &'a dyn Fn() -> bool) -> Result<Self, CopyError> {
        let within = within.canonicalize().map_err(reading(within))?;
        Ok(Self { within, is_stopped })
    }

    /// Copies a directory with all that is in it.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<(), CopyError> {
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
            let mode = fs::metadata(&from).map_err(reading(&from))?.permissions();
            make_directory(&to, &mode).map_err(writing(&to))?;
            for entry in fs::read_dir(&from).map_err(reading(&from))? {
                let name = entry.map_err(reading(&from))?.file_name();
                if name == ".git" {
                    continue;
                }
                let (from, to) = (from.join(&name), to.join(&name));
                if self.one(&from, &to, &mut tally)? == Kind::Directory {
                    waiting.push((from, to, depth + 1));
                }
            }
        }
        Ok(())
    }

    /// A file is copied; a directory has yet to be.
    fn one(&self, from: &Path, to: &Path, tally: &mut Tally<'_>) -> Result<Kind, CopyError> {
        if (self.is_stopped)() {
            return Err(CopyError::Stopped);
        }
        let real = from.canonicalize().map_err(reading(from))?;
        if !real.starts_with(&self.within) {
            let within = self.within.clone();
            return Err(CopyError::LeadsOut(from.to_owned(), within));
        }
        let about = fs::symlink_metadata(&real).map_err(reading(from))?;
        if about.is_dir() {
            tally.add(0)?;
            Ok(Kind::Directory)
        } else if about.is_file() {
            tally.add(about.len())?;
            let source = fs::File::open(&real).map_err(reading(from))?;
            copy_file(&source, to, about.len()).map_err(writing(to))?;
            Ok(Kind::File)
        } else {
            Err(CopyError::Special(from.to_owned()))
        }
    }
}

#[derive(PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Io { path, source }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Unwritable { path, source }
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
fn copy_file(source: &fs::File, to: &Path, size: u64) -> io::Result<()> {
    use std::io::Read as _;
    let mode = source.metadata()?.permissions();
    let mut target = fs::File::create_new(to)?;
    io::copy(&mut source.take(size), &mut target)?;
    target.set_permissions(harmless(&mode, 0o600))
}

/// What nobody may see there, nobody may see here. We ourselves have yet to write into it, and to move it.
fn make_directory(to: &Path, mode: &fs::Permissions) -> io::Result<()> {
    fs::create_dir(to)?;
    if cfg!(unix) {
        fs::set_permissions(to, harmless(mode, 0o700))?;
    }
    Ok(())
}

/// Who may read, write and execute it stays; that it runs as somebody else does not. The owner may do at least so much.
#[cfg(unix)]
fn harmless(mode: &fs::Permissions, least: u32) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode((mode.mode() & 0o777) | least)
}

#[cfg(not(unix))]
fn harmless(mode: &fs::Permissions, _: u32) -> fs::Permissions {
    mode.clone()
}
