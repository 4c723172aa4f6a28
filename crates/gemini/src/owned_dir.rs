//! Directories that we make and may remove even after a kill: how they are told from all others.
//!
//! A name proves nothing: a package can contain a directory with our prefix. So the first file that we write into one, its mark,
//! records the directory's identity on the disk, which no clone and no copy shares. Directory and mark must both be our own,
//! where files have owners: another user of a shared directory could write such a mark too. Such a user can also replace a
//! directory by a link while we work: so an [`OwnedDir`] is held open, and every operation applies to the directory that was
//! checked.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

#[cfg(not(unix))]
pub use other::OwnedDir;
#[cfg(unix)]
pub use unix::OwnedDir;

/// The file that says so.
const MARK: &str = "mark";
/// A longer one is not ours.
const MOST_BYTES: u64 = 4096;

/// The identity of a file or directory on its disk, independent of its name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds, where disks remember that. Numbers are given again when their owner is gone; this is not.
    born: Option<u64>,
}

impl FileIdentity {
    pub(crate) fn from_metadata(about: &Metadata) -> Self {
        let (device, inode) = numbers(about);
        let born = about.created().ok().and_then(nanoseconds);
        Self {
            device,
            inode,
            born,
        }
    }

    /// Some disks have another number after each start of the machine: it counts only where nothing better is known. If the file
    /// system records birth times, a mark without one is forged.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let is_born = match (self.born, other.born) {
            (None, None) => self.device == other.device && self.inode != 0,
            (one, other) => one == other,
        };
        self.inode == other.inode && is_born
    }
}

pub(crate) fn nanoseconds(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
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

/// The error for a file that is there and is not ours.
fn odd(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// How many letters `tempfile` puts behind the beginning of a name.
const LETTERS: usize = 6;

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
    let is_blank = |held: &OwnedDir| {
        let mark = held.read(MARK, 1);
        held.is_own() && mark.is_ok_and(|mark| mark.is_none_or(|bytes| bytes.is_empty()))
    };
    if let Some(held) = OwnedDir::open(directory).ok().filter(is_blank) {
        // A directory in use stays.
        let _ = held.remove_bare();
    }
}

impl OwnedDir {
    /// Makes a directory that only this user can list, and that has no mark yet.
    pub fn make(beside: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        close_to_others(&mut builder);
        // If a later step fails, it is not removed by its name, which may be another directory's by then.
        let path = builder.tempdir_in(beside)?.keep();
        let held = Self::open(&path)?;
        if held.holds_only_mark()? {
            return Ok(held);
        }
        Err(io::Error::other("another process replaced it"))
    }

    /// A directory that we marked.
    pub fn find(path: &Path) -> Option<Self> {
        let held = Self::open(path).ok().filter(Self::is_own)?;
        let bytes = held.read(MARK, MOST_BYTES).ok()??;
        let marked: FileIdentity = serde_json::from_slice(&bytes).ok()?;
        marked
            .is(&FileIdentity::from_metadata(&held.metadata().ok()?))
            .then_some(held)
    }

    /// Says in it that it is ours.
    pub fn mark(&self) -> io::Result<()> {
        let identity = FileIdentity::from_metadata(&self.metadata()?);
        self.write(MARK, &serde_json::to_vec(&identity)?)
    }
}

#[cfg(unix)]
fn close_to_others(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o700));
}

#[cfg(not(unix))]
fn close_to_others(_: &mut tempfile::Builder<'_, '_>) {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_that_has_the_number_of_another_is_still_another() {
        let one = FileIdentity {
            device: 1,
            inode: 2,
            born: Some(3),
        };
        assert!(one.is(&FileIdentity { device: 9, ..one }));
        let born = Some(4);
        assert!(!one.is(&FileIdentity { born, ..one }));
        assert!(!one.is(&FileIdentity { inode: 3, ..one }));
        // Without a birth time the device must be the same.
        let born = None;
        let timeless = FileIdentity { born, ..one };
        assert!(timeless.is(&timeless));
        let device = 9;
        assert!(!timeless.is(&FileIdentity { device, ..timeless }));
        // If the file system records birth times, a mark without one is forged.
        assert!(!timeless.is(&one));
        assert!(!one.is(&timeless));
        let nobody = FileIdentity {
            inode: 0,
            ..timeless
        };
        assert!(!nobody.is(&nobody));
    }

    #[test]
    fn a_link_is_not_ours_even_if_the_mark_is_true_of_it() {
        let root = tempfile::tempdir().unwrap();
        let [there, link] = ["there", "link"].map(|name| root.path().join(name));
        fs::create_dir(&there).unwrap();
        std::os::unix::fs::symlink(&there, &link).unwrap();
        let identity = FileIdentity::from_metadata(&link.symlink_metadata().unwrap());
        let text = serde_json::to_vec(&identity).unwrap();
        fs::write(there.join(MARK), text).unwrap();
        assert!(!is_ours(&link));
        assert!(!is_ours(&there));
    }

    #[test]
    fn a_directory_without_a_mark_for_want_of_room_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let desk = OwnedDir::make(root.path(), "desk-").unwrap();
        fs::create_dir(desk.path().join("skill")).unwrap();
        desk.clear().unwrap();
        assert!(!desk.path().exists());
    }
}
