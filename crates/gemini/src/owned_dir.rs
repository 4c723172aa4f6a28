//! Directories that we make and may remove even after a kill: how they are told from all others.
//!
//! A name proves nothing: a package can contain a directory with our prefix. So the first file that we write into one, its mark,
//! records the directory's identity on the disk, which no clone and no copy shares. Directory and mark must both be our own,
//! where files have owners: another user of a shared directory could write such a mark too.

mod remove;

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// The file that says so.
const MARK: &str = "mark";
/// A longer one is not ours.
const MOST_BYTES: u64 = 4096;
/// How many letters `tempfile` puts behind the beginning of a name.
const LETTERS: usize = 6;

/// The identity of a directory on its disk, independent of its name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct DirIdentity {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds, where disks remember that. Numbers are given again when their owner is gone; this is not.
    born: Option<u64>,
}

impl DirIdentity {
    fn from_metadata(about: &Metadata) -> Self {
        let (device, inode) = numbers(about);
        let born = about.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Self {
            device,
            inode,
            born: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        }
    }

    /// Some disks have another number after each start of the machine: it counts only where nothing better is known. If the file
    /// system records birth times, a mark without one is forged.
    fn is(&self, other: &Self) -> bool {
        let is_born = match (self.born, other.born) {
            (None, None) => self.device == other.device && self.inode != 0,
            (one, other) => one == other,
        };
        self.inode == other.inode && is_born
    }
}

/// Marks a directory that was just made as ours.
pub fn leave(directory: &Path) -> io::Result<()> {
    OwnedDir::open(directory)?.mark()
}

/// Whether a directory is one that we marked, and no copy of one. A link never is.
pub fn is_ours(directory: &Path) -> bool {
    OwnedDir::find(directory).is_some()
}

/// Removes a directory whose maker was killed before its mark was written, or after it was removed: it has our prefix and our
/// owner, and has nothing in it, or an empty mark. The caller knows that no other process is about to write one.
pub fn sweep(directory: &Path, prefix: &str) {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let letters = name.strip_prefix(prefix).unwrap_or_default();
    let is_called_so =
        letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_called_so {
        return;
    }
    let is_blank = |held: &OwnedDir| match own_file(&held.path.join(MARK)) {
        Ok(about) => about.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if let Some(held) = OwnedDir::open(directory).ok().filter(is_blank) {
        // A directory in use stays.
        let _ = held.remove_bare();
    }
}

/// A directory that we made.
#[derive(Debug)]
pub struct OwnedDir {
    path: PathBuf,
    /// `None` where directories cannot be opened.
    handle: Option<File>,
}

impl OwnedDir {
    /// Makes a directory that only this user can list, and that has no mark yet.
    pub fn make(beside: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        close_to_others(&mut builder);
        Self::open(&builder.tempdir_in(beside)?.keep())
    }

    /// A directory that we marked.
    pub fn find(path: &Path) -> Option<Self> {
        let held = Self::open(path).ok()?;
        let mark = path.join(MARK);
        own_file(&mark).ok().filter(|it| it.len() <= MOST_BYTES)?;
        let marked: DirIdentity = serde_json::from_slice(&fs::read(mark).ok()?).ok()?;
        let is_it = marked.is(&DirIdentity::from_metadata(&held.metadata().ok()?));
        is_it.then_some(held)
    }

    /// Takes a directory of this user that is no link.
    fn open(path: &Path) -> io::Result<Self> {
        let about = fs::symlink_metadata(path)?;
        if !about.is_dir() || !is_own(&about) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.to_owned(),
            handle: File::open(path).ok(),
        })
    }

    /// Says in it that it is ours.
    pub fn mark(&self) -> io::Result<()> {
        let identity = DirIdentity::from_metadata(&self.metadata()?);
        let mut file = File::create_new(self.path.join(MARK))?;
        file.write_all(&serde_json::to_vec(&identity)?)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        fs::symlink_metadata(&self.path)
    }

    /// Locks it for as long as it is held. False if another process holds the lock, or if directories cannot be locked here.
    pub fn lock(&self) -> bool {
        let handle = self.handle.as_ref();
        handle.is_some_and(|directory| directory.try_lock().is_ok())
    }

    /// Removes it with its content, and follows no link. The mark goes last: a process that is killed meanwhile leaves a
    /// directory that is still known as ours.
    pub fn clear(&self) -> io::Result<()> {
        remove::all_but(MARK, &self.path)?;
        self.remove_bare()
    }

    /// Removes it if nothing is in it, save perhaps a mark.
    fn remove_bare(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            if entry?.file_name() != MARK {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
        }
        match fs::remove_file(self.path.join(MARK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::remove_dir(&self.path),
        }
    }
}

/// A regular file of this user. A pipe is never opened: the reader would wait for a writer.
fn own_file(path: &Path) -> io::Result<Metadata> {
    let about = fs::symlink_metadata(path)?;
    if about.is_file() && is_own(&about) {
        return Ok(about);
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(unix)]
fn numbers(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn numbers(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn is_own(about: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn close_to_others(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(fs::Permissions::from_mode(0o700));
}

#[cfg(not(unix))]
fn close_to_others(_: &mut tempfile::Builder<'_, '_>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_has_the_number_of_another_is_still_another() {
        let one = DirIdentity {
            device: 1,
            inode: 2,
            born: Some(3),
        };
        assert!(one.is(&DirIdentity { device: 9, ..one }));
        let born = Some(4);
        assert!(!one.is(&DirIdentity { born, ..one }));
        assert!(!one.is(&DirIdentity { inode: 3, ..one }));
        // Without a birth time the device must be the same.
        let born = None;
        let timeless = DirIdentity { born, ..one };
        assert!(timeless.is(&timeless));
        let device = 9;
        assert!(!timeless.is(&DirIdentity { device, ..timeless }));
        // If the file system records birth times, a mark without one is forged.
        assert!(!timeless.is(&one));
        assert!(!one.is(&timeless));
    }
}
