//! The same, on systems where directories are known by their paths alone.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{MARK, odd};

/// A directory.
#[derive(Debug)]
pub struct OwnedDir {
    path: PathBuf,
}

impl OwnedDir {
    /// Takes a directory that is no link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !fs::symlink_metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let path = path.to_owned();
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        fs::symlink_metadata(&self.path)
    }

    /// Locks it, where directories can be opened: here no process is known to be dead.
    pub fn lock(&self) -> bool {
        false
    }

    /// Removes it with its content, and follows no link. The mark goes last: a process that is killed meanwhile leaves a
    /// directory that is still known as ours.
    pub fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() == MARK {
                continue;
            }
            if fs::symlink_metadata(entry.path())?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        self.remove_bare()
    }

    /// Removes it if nothing is in it, save perhaps a mark.
    pub(super) fn remove_bare(&self) -> io::Result<()> {
        if !self.holds_only_mark()? {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.remove(MARK)?;
        fs::remove_dir(&self.path)
    }

    /// Cannot be told here.
    #[expect(clippy::unused_self, reason = "elsewhere it matters")]
    pub(super) fn is_own(&self) -> bool {
        true
    }

    /// Whether nothing is in it, save perhaps a mark.
    pub(super) fn holds_only_mark(&self) -> io::Result<bool> {
        for entry in fs::read_dir(&self.path)? {
            if entry?.file_name() != MARK {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an entry has that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path.join(name)).is_ok()
    }

    /// So many bytes of a file in it, or none if there is none.
    pub(crate) fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_file() => {}
            Ok(_) => return Err(odd("is not a file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Writes a file that was not there.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        File::create_new(self.path.join(name))?.write_all(bytes)
    }

    /// Gives a file in it another name.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Removes a file in it, if it is there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
