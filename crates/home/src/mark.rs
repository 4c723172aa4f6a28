//! Directories that we make and may clear away, should we be killed: how they are told from all others.
//!
//! A name proves nothing: anybody can ship a directory that is called as ours are. So the first thing that we put into one says which
//! directory it is, as the disk knows it, and that is true of no clone and of no copy of it.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The file that says so.
const MARK: &str = "mark";
/// A longer one is not ours.
const MOST_BYTES: u64 = 4096;

/// By what a disk knows a file or directory, whatever it is called.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds, where disks remember that. Numbers are given again when their owner is gone; this is not.
    born: Option<u64>,
}

impl Identity {
    pub(crate) fn of(about: &Metadata) -> Self {
        let (device, inode) = numbers(about);
        let born = about.created().ok().and_then(nanoseconds);
        Self {
            device,
            inode,
            born,
        }
    }

    /// Some disks have another number after each start of the machine: it counts only where nothing better is known.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let is_born = match (self.born, other.born) {
            (Some(one), Some(other)) => one == other,
            _ => self.device == other.device && self.inode != 0,
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

/// Marks a directory that was just made as ours.
pub fn leave(directory: &Path) -> io::Result<()> {
    let identity = Identity::of(&fs::symlink_metadata(directory)?);
    let mut file = File::create_new(directory.join(MARK))?;
    file.write_all(&serde_json::to_vec(&identity)?)
}

/// Whether a directory is one that we marked, and no copy of one. A link never is.
pub fn is_ours(directory: &Path) -> bool {
    let about = fs::symlink_metadata(directory).ok();
    let here = about.filter(Metadata::is_dir);
    match (here, read(&directory.join(MARK))) {
        (Some(about), Some(marked)) => marked.is(&Identity::of(&about)),
        _ => false,
    }
}

fn read(path: &Path) -> Option<Identity> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    let file = is_file.then(|| File::open(path))?.ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Removes a directory that we marked, with all that is in it. The mark goes last: who is killed meanwhile leaves what is still known as ours.
pub fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != MARK {
            remove(&entry.path())?;
        }
    }
    match fs::remove_file(directory.join(MARK)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir(directory)
}

fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// What is in a directory that nobody may write cannot be removed, not even by its owner. Links are not followed.
#[cfg(unix)]
fn open_up(root: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let mode = fs::symlink_metadata(&path)?.permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o700))?;
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn open_up(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_has_the_number_of_another_is_still_another() {
        let one = Identity {
            device: 1,
            inode: 2,
            born: Some(3),
        };
        assert!(one.is(&Identity { device: 9, ..one }));
        let born = Some(4);
        assert!(!one.is(&Identity { born, ..one }));
        assert!(!one.is(&Identity { inode: 3, ..one }));
        // Where nobody knows when it was made, the disk must be the same.
        let born = None;
        let timeless = Identity { born, ..one };
        assert!(timeless.is(&one));
        assert!(!timeless.is(&Identity { device: 9, ..one }));
        let nobody = Identity {
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
        let identity = Identity::of(&link.symlink_metadata().unwrap());
        let text = serde_json::to_vec(&identity).unwrap();
        fs::write(there.join(MARK), text).unwrap();
        assert!(!is_ours(&link));
        assert!(!is_ours(&there));
    }

    #[test]
    fn what_has_no_mark_for_want_of_room_goes_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let desk = root.path().join("desk");
        fs::create_dir_all(desk.join("skill")).unwrap();
        clear(&desk).unwrap();
        assert!(!desk.exists());
    }
}
