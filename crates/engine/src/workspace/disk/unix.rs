//! Unix: directory by directory, each opened in its parent.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Component;

use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, accessat, fchmod, fstat, mkdirat, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{draft_name, no_file};
use crate::workspace::roots::ResolvedPath;

/// Flags to open a directory on the way. On Linux it need not be readable.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How many names are tried for a file. A single taken name is chance; that all are taken is an attack.
const ATTEMPTS: u32 = 100;

/// Opens a regular file to read it. Other files are refused: opening a pipe would make us wait, and opening a device may have
/// side effects.
pub(in crate::workspace) fn open(place: &ResolvedPath) -> io::Result<File> {
    let (directory, name) = parent(place, MakeDirs::Nothing)?;
    regular(&statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    // The file may have been replaced by now: so the open must not wait, and the type is checked again.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::empty())?;
    regular(&fstat(&file)?)?;
    Ok(file.into())
}

/// Replaces or creates a file with this content, at once and whole. A replaced file keeps its mode; missing directories below the
/// root are made.
pub(in crate::workspace) fn replace(place: &ResolvedPath, content: &[u8]) -> io::Result<()> {
    let (directory, name) = parent(place, MakeDirs::Directories)?;
    let mode = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => Some(mode_of(&directory, name, &old)?),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    let draft = DraftFile::new(&directory, mode)?;
    draft.write(content)?;
    Ok(draft.rename(name)?)
}

/// The mode of a file that may be replaced. Renaming asks only whether the directory may be written.
fn mode_of(directory: &OwnedFd, name: &OsStr, old: &Stat) -> io::Result<Mode> {
    regular(old)?;
    accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)?;
    Ok(Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))
}

fn regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(io::Error::other("it has become a link")),
        _ => Err(no_file()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MakeDirs {
    Nothing,
    Directories,
}

/// The directory that a place is in, reached from the top without following a link, and the place's name in it.
fn parent(place: &ResolvedPath, make: MakeDirs) -> io::Result<(OwnedFd, &OsStr)> {
    let names = place.path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut names: Vec<_> = names.collect();
    let name = names.pop().ok_or_else(no_file)?;
    let mut directory = openat(CWD, "/", DIRECTORY, Mode::empty())?;
    for (count, name) in names.into_iter().enumerate() {
        let may_make = make == MakeDirs::Directories && count >= place.root_names;
        directory = match openat(&directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if may_make => made(&directory, name)?,
            other => other?,
        };
    }
    Ok((directory, name))
}

fn made(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match mkdirat(directory, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => openat(directory, name, DIRECTORY, Mode::empty()),
        Err(error) => Err(error),
    }
}

/// A file that is not yet renamed to its final name. Dropping it before that removes it.
struct DraftFile<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: File,
    mode: Option<Mode>,
    placed: bool,
}

impl<'a> DraftFile<'a> {
    fn new(directory: &'a OwnedFd, mode: Option<Mode>) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The umask applies to a new file, as to any other new file of the user.
        let at_first = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        for _ in 0..ATTEMPTS {
            let name = draft_name();
            match openat(directory, name.as_str(), flags, at_first) {
                Err(Errno::EXIST) => {} // another process of this id has left it behind
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

    fn write(&self, content: &[u8]) -> io::Result<()> {
        (&self.file).write_all(content)?;
        if let Some(mode) = self.mode {
            fchmod(&self.file, mode)?;
        }
        self.file.sync_all() // a name that outlives a crash must not stand for nothing
    }

    fn rename(mut self, name: &OsStr) -> rustix::io::Result<()> {
        renameat(self.directory, self.name.as_str(), self.directory, name)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for DraftFile<'_> {
    fn drop(&mut self) {
        if !self.placed {
            let _ = unlinkat(self.directory, self.name.as_str(), AtFlags::empty());
        }
    }
}
