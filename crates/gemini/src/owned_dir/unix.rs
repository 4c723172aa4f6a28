//! A directory that is held open, on systems where every operation works on open directories.

mod remove;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{FileIdentity, MARK, odd};

/// A directory and its parent, both held open: if another process replaces their paths meanwhile, these stay the ones that were
/// checked.
#[derive(Debug)]
pub struct OwnedDir {
    path: PathBuf,
    beside: File,
    name: OsString,
    directory: File,
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// The directory that it lies in need not be readable, where that can be said.
#[cfg(target_os = "linux")]
const BESIDE: OFlags = DIRECTORY.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const BESIDE: OFlags = DIRECTORY;
/// A file that is no regular file must not block us.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::CLOEXEC);

impl OwnedDir {
    /// Opens a directory. The last part of its path must be no link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let beside = path.parent().filter(|beside| *beside != Path::new(""));
        let beside = openat(CWD, beside.unwrap_or(Path::new(".")), BESIDE, Mode::empty())?;
        let directory = open_directory(&beside, name)?;
        Ok(Self {
            path: path.to_owned(),
            beside: beside.into(),
            name: name.to_owned(),
            directory,
        })
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself, to make files in it.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.directory.try_clone()
    }

    /// Its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.directory.metadata()
    }

    /// Locks it for as long as it is held. False if another process holds the lock.
    pub fn lock(&self) -> bool {
        self.directory.try_lock().is_ok()
    }

    /// Removes it with its content, and follows no link. The mark goes last: a process that is killed meanwhile leaves a
    /// directory that is still known as ours.
    pub fn clear(&self) -> io::Result<()> {
        remove::all_but(MARK, &self.directory)?;
        self.remove_bare()
    }

    /// Removes it if nothing is in it, save perhaps a mark.
    pub(super) fn remove_bare(&self) -> io::Result<()> {
        if !self.holds_only_mark()? {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.remove(MARK)?;
        let there = open_directory(&self.beside, &self.name)?.metadata()?;
        if !FileIdentity::from_metadata(&there).is(&FileIdentity::from_metadata(&self.metadata()?))
        {
            return Err(io::Error::other("another process replaced it"));
        }
        // Should that happen only now, it is an empty one that goes.
        Ok(unlinkat(&self.beside, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// Whether it belongs to this user.
    pub(super) fn is_own(&self) -> bool {
        self.metadata().is_ok_and(|about| is_own(&about))
    }

    /// Whether nothing is in it, save perhaps a mark.
    pub(super) fn holds_only_mark(&self) -> io::Result<bool> {
        for name in remove::names(&self.directory)? {
            if name? != MARK {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an entry has that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// So many bytes of a file in it, or `None` if there is none. It is an error if another user owns it.
    pub(crate) fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match openat(&self.directory, name, FILE, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(odd("is not a file"));
        }
        if !is_own(&about) {
            return Err(odd("belongs to another user"));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Writes a file that was not there.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mode = Mode::RUSR | Mode::WUSR;
        let file = openat(&self.directory, name, NEW_FILE, mode)?;
        File::from(file).write_all(bytes)
    }

    /// Gives a file in it another name.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.directory, from, &self.directory, to)?)
    }

    /// Removes a file in it, if it is there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_own(about: &Metadata) -> bool {
    about.uid() == geteuid().as_raw()
}

fn open_directory(beside: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = DIRECTORY | OFlags::NOFOLLOW;
    Ok(openat(beside, name, flags, Mode::empty())?.into())
}
