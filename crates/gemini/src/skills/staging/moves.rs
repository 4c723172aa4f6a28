//! The moves of one skill from the staging directory to its place, and back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::failure::{InstallError, io_error_at};

/// How directories are moved. Tests have disks that fail.
#[derive(Clone, Copy)]
pub(super) struct MoveDisk<'a> {
    /// Swaps two in one step, so that there is never none, where the system and the disk can do that.
    pub(super) exchange: &'a dyn Fn(&Path, &Path) -> io::Result<()>,
    /// Moves one to where nothing is.
    pub(super) rename: &'a dyn Fn(&Path, &Path) -> io::Result<()>,
}

pub(super) const REAL: MoveDisk<'static> = MoveDisk {
    exchange: &exchange,
    rename: &rename,
};

/// One skill on its way to its place.
pub(super) struct SkillMove {
    pub(super) name: String,
    /// Where it was made.
    pub(super) made: PathBuf,
    pub(super) place: PathBuf,
    /// Where the replaced skill goes if the two cannot be exchanged.
    pub(super) aside: PathBuf,
    /// Where the replaced skill is, after the move.
    pub(super) was: Option<ReplacedAt>,
}

/// Where a replaced skill is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplacedAt {
    /// Where the new one was made.
    Made,
    Aside,
}

impl SkillMove {
    /// Moves the made skill to its place. After an error, the place has its old content.
    pub(super) fn move_forward(&mut self, disk: MoveDisk<'_>) -> io::Result<()> {
        if !path_exists(&self.place)? {
            return (disk.rename)(&self.made, &self.place);
        }
        if (disk.exchange)(&self.made, &self.place).is_ok() {
            self.was = Some(ReplacedAt::Made);
            return Ok(());
        }
        fs::create_dir_all(self.aside.parent().unwrap_or(&self.aside))?;
        (disk.rename)(&self.place, &self.aside)?;
        // Should that fail, the staging directory is settled: the replaced skill comes back.
        (disk.rename)(&self.made, &self.place)?;
        self.was = Some(ReplacedAt::Aside);
        Ok(())
    }

    /// Moves the made skill out of its place. A replaced one comes back now, or when the staging directory is settled.
    pub(super) fn move_back(&self, disk: MoveDisk<'_>) -> io::Result<()> {
        match self.was {
            Some(ReplacedAt::Made) => (disk.exchange)(&self.made, &self.place),
            Some(ReplacedAt::Aside) | None => (disk.rename)(&self.place, &self.made),
        }
    }

    /// Why it did not come to its place.
    pub(super) fn refusal_error(&self, error: io::Error) -> InstallError {
        match error.kind() {
            io::ErrorKind::AlreadyExists => InstallError::Changed(self.place.clone()),
            _ => io_error_at(&self.place)(error),
        }
    }
}

pub(super) fn path_exists(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Over nothing that came meanwhile: an empty directory would go without a word, and so would a file under a link.
#[cfg(target_os = "linux")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}
