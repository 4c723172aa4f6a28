//! Removes the content of a directory without a path: no link is followed, even if another process puts one there meanwhile.
//!
//! A directory in it is emptied into the outermost one, and then removed. So it does not matter how deep they nest, and no more
//! than two are open at a time.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{AtFlags, Dir, FileType, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::open_directory;

/// How many entries are removed. With more, another process writes faster than we remove.
const MOST: u32 = 10_000_000;

/// Removes all entries of a directory but one.
pub(super) fn all_but(kept: &str, top: &File) -> io::Result<()> {
    let mut removal = DirRemoval { top, steps: 0 };
    loop {
        let mut is_done = true;
        for name in names(top)? {
            let name = name?;
            if name != kept {
                is_done = false;
                removal.one(&name)?;
            }
        }
        if is_done {
            return Ok(());
        }
    }
}

/// The names in a directory.
pub(super) fn names(of: &File) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
    let entries = Dir::read_from(of)?;
    Ok(entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let name = entry.file_name().to_bytes();
            let is_real = name != b"." && name != b"..";
            is_real.then(|| Ok(OsStr::from_bytes(name).to_owned()))
        }
        Err(error) => Some(Err(error.into())),
    }))
}

struct DirRemoval<'a> {
    top: &'a File,
    steps: u32,
}

impl DirRemoval<'_> {
    /// Removes a file or a directory of the outermost one.
    fn one(&mut self, name: &OsStr) -> io::Result<()> {
        self.step()?;
        if !check_directory(self.top, name)? {
            return gone(unlinkat(self.top, name, AtFlags::empty()));
        }
        if unlinkat(self.top, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        let directory = open_for_all(self.top, name)?;
        for inner in names(&directory)? {
            let inner = inner?;
            self.step()?;
            if check_directory(&directory, &inner)? {
                self.bring_up(&directory, &inner)?;
            } else {
                gone(unlinkat(&directory, &inner, AtFlags::empty()))?;
            }
        }
        match unlinkat(self.top, name, AtFlags::REMOVEDIR) {
            // Another process wrote into it meanwhile, or some entries were skipped: it is found again.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            done => gone(done),
        }
    }

    /// Moves a directory into the outermost one.
    fn bring_up(&mut self, from: &File, name: &OsStr) -> io::Result<()> {
        if unlinkat(from, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        let mut is_opened = false;
        loop {
            self.step()?;
            let free = format!("gone-{}", self.steps);
            match renameat(from, name, self.top, free) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(Errno::ACCESS | Errno::PERM) if !is_opened => {
                    open_for_all(from, name)?;
                    is_opened = true;
                }
                done => return gone(done),
            }
        }
    }

    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        if self.steps > MOST {
            return Err(io::Error::other("more and more is written into it"));
        }
        Ok(())
    }
}

/// Another process may have removed it.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn check_directory(beside: &File, name: &OsStr) -> io::Result<bool> {
    match statat(beside, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) => Ok(FileType::from_raw_mode(about.st_mode) == FileType::Directory),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Entries of a directory without write permission cannot be removed, not even by its owner: so we give ourselves all
/// permissions.
fn open_for_all(beside: &File, name: &OsStr) -> io::Result<File> {
    let directory = match open_directory(beside, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow_all(beside, name)?;
            open_directory(beside, name)?
        }
        opened => opened?,
    };
    let mut allowed = directory.metadata()?.permissions();
    if allowed.mode() & 0o700 != 0o700 {
        allowed.set_mode(allowed.mode() | 0o700);
        directory.set_permissions(allowed)?;
    }
    Ok(directory)
}

/// A directory that cannot be opened cannot get another mode through its own descriptor. Linux has no way to name a directory
/// that is no link, but it has names for open descriptors, also if they can be neither read nor written.
#[cfg(target_os = "linux")]
fn allow_all(beside: &File, name: &OsStr) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, openat};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = File::from(openat(beside, name, flags, Mode::empty())?);
    let mode = directory.metadata()?.mode() | 0o700;
    let itself = format!("/proc/self/fd/{}", directory.as_raw_fd());
    std::fs::set_permissions(itself, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(target_os = "linux"))]
fn allow_all(beside: &File, name: &OsStr) -> io::Result<()> {
    use rustix::fs::{Mode, chmodat};
    Ok(chmodat(
        beside,
        name,
        Mode::RWXU,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}
