//! Unix: directory by directory, each opened in the one before it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, accessat, fchmod, fstat, mkdirat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{DirectoryEntry, EntryKind, FileStat, draft_name, not_regular};

/// How a directory on the way is opened. It need not be readable, where that can be said.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file that is opened must not make us wait, should it be a pipe by now.
const TO_READ: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// How many names are tried for a draft. One that is taken is chance; if all are, the directory is hostile.
const ATTEMPTS: u32 = 100;

/// Opens a regular file to read it. A pipe would make us wait, and a device may do harm: neither is opened.
pub fn open(path: &Path) -> io::Result<File> {
    let (directory, name) = parent_directory(path)?;
    require_regular(&statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    // It may be another file by now: so it must not wait, and is looked at again.
    OpenDirectory(directory).open_file(name)
}

/// The file at a place; a link at its end is told, one on the way is an error.
pub fn stat(path: &Path) -> io::Result<FileStat> {
    if path == Path::new("/") {
        return Ok(from_stat(&fstat(&root_directory()?)?));
    }
    let (directory, name) = parent_directory(path)?;
    OpenDirectory(directory).stat(name)
}

/// The names in a directory, at most so many.
pub fn list(path: &Path, most: usize) -> io::Result<Vec<DirectoryEntry>> {
    Ok(OpenDirectory::open(path)?.list(Path::new(""), most)?.1)
}

/// An open directory, and a way to its entries.
#[derive(Debug)]
pub struct OpenDirectory(OwnedFd);

impl OpenDirectory {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let relative = path.strip_prefix("/").unwrap_or(path);
        open_below(root_directory()?.as_fd(), relative, ON_THE_WAY).map(Self)
    }

    /// A directory below and the names in it, at most so many. The order is the system's.
    pub fn list(&self, relative: &Path, most: usize) -> io::Result<(Self, Vec<DirectoryEntry>)> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let directory = Self(open_below(self.0.as_fd(), relative, flags)?);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == most {
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => directory
                    .stat(name)
                    .map_or(EntryKind::Special, |stat| stat.kind),
                known => kind_of(known),
            };
            let name = name.to_owned();
            entries.push(DirectoryEntry { name, kind });
        }
        Ok((directory, entries))
    }

    /// Opens a regular file of this directory to read it. One name needs no look at the way: there is none.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let file = openat(&self.0, name, TO_READ, Mode::empty())?;
        require_regular(&fstat(&file)?)?;
        Ok(file.into())
    }

    /// The kind, size and time of an entry of this directory; a link is told as one.
    pub fn stat(&self, name: &OsStr) -> io::Result<FileStat> {
        Ok(from_stat(&statat(
            &self.0,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }
}

/// Puts a file with this content in its place, at once and whole. A file that was there keeps its mode. Directories are made
/// where more than `kept` parts of the path exist already.
pub fn replace(path: &Path, kept: usize, content: &[u8]) -> io::Result<()> {
    let (directory, name) = parent_made(path, kept)?;
    let mode = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => Some(mode_of(&directory, name, &old)?),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    let draft = Draft::new(&directory, mode)?;
    draft.write_content(content)?;
    Ok(draft.rename_to(name)?)
}

/// The mode of a file that may be replaced. Renaming asks only whether the directory may be written.
fn mode_of(directory: &OwnedFd, name: &OsStr, old: &Stat) -> io::Result<Mode> {
    require_regular(old)?;
    accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)?;
    Ok(Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))
}

fn require_regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        FileType::Directory => Err(Errno::ISDIR.into()),
        _ => Err(not_regular()),
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}

#[expect(
    clippy::cast_possible_wrap,
    clippy::unnecessary_cast,
    reason = "the types of these fields differ between systems"
)]
fn from_stat(stat: &Stat) -> FileStat {
    let seconds = i128::from(stat.st_mtime as i64);
    FileStat {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: seconds * 1_000_000_000 + i128::from(stat.st_mtime_nsec as i64),
    }
}

fn root_directory() -> io::Result<OwnedFd> {
    Ok(openat(CWD, "/", ON_THE_WAY, Mode::empty())?)
}

/// Opens a path below a directory without following a link: in one call where the kernel can, else name by name.
fn open_below(directory: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let relative = if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(directory, relative, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {} // an old kernel, a filter, or a race: name by name
            opened => return Ok(opened?),
        }
    }
    let mut names: Vec<_> = relative.components().collect();
    let last = names.pop().ok_or_else(not_regular)?;
    let mut at = directory.try_clone_to_owned()?;
    for name in names {
        at = openat(&at, name.as_os_str(), ON_THE_WAY, Mode::empty())?;
    }
    Ok(openat(&at, last.as_os_str(), flags, Mode::empty())?)
}

/// The directory that a place is in, and the place's name in it.
fn parent_directory(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or_else(not_regular)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let directory = directory.strip_prefix("/").unwrap_or(directory);
    Ok((
        open_below(root_directory()?.as_fd(), directory, ON_THE_WAY)?,
        name,
    ))
}

/// As [`parent_directory`], making the directories that are missing behind the first `kept` parts.
fn parent_made(path: &Path, kept: usize) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or_else(not_regular)?;
    let mut at = root_directory()?;
    let directory: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
    for (place, part) in directory.components().enumerate() {
        let Component::Normal(name) = part else {
            continue;
        };
        at = match openat(&at, name, ON_THE_WAY, Mode::empty()) {
            Err(Errno::NOENT) if place >= kept => made_directory(&at, name)?,
            other => other?,
        };
    }
    Ok((at, name))
}

fn made_directory(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match mkdirat(directory, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => openat(directory, name, ON_THE_WAY, Mode::empty()),
        Err(error) => Err(error),
    }
}

/// A file that is not yet in its place. Dropped before it is, it vanishes.
struct Draft<'a> {
    directory: &'a OwnedFd,
    name: OsString,
    file: File,
    mode: Option<Mode>,
    placed: bool,
}

impl<'a> Draft<'a> {
    fn new(directory: &'a OwnedFd, mode: Option<Mode>) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The user's mask narrows the mode of a new file.
        let at_first = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        for _ in 0..ATTEMPTS {
            let name = OsString::from(draft_name());
            match openat(directory, &name, flags, at_first) {
                Err(Errno::EXIST) => {} // left behind by a process that had this id before
                file => {
                    return Ok(Self {
                        directory,
                        name,
                        file: file?.into(),
                        mode,
                        placed: false,
                    });
                }
            }
        }
        Err(Errno::EXIST.into())
    }

    fn write_content(&self, content: &[u8]) -> io::Result<()> {
        (&self.file).write_all(content)?;
        if let Some(mode) = self.mode {
            fchmod(&self.file, mode)?;
        }
        self.file.sync_all() // a name that outlives a crash must not stand for nothing
    }

    fn rename_to(mut self, name: &OsStr) -> rustix::io::Result<()> {
        renameat(self.directory, &self.name, self.directory, name)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.placed {
            let _ = unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}
