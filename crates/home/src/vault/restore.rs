//! Bringing files back, next to what is there now.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::blobs::{sha256, sync_folder, temporary};
use super::error::At as _;
use super::{Entry, Vault, VaultError, names, stat};

/// What to bring back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// The newest content of a session that has something to resume, by its full id.
    Session(&'a str),
    /// All files of a snapshot, by its id or the beginning of it.
    Snapshot(&'a str),
}

/// A file that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What it was.
    pub entry: Entry,
    /// Where it is now.
    pub path: PathBuf,
    /// What had to be done.
    pub how: How,
}

/// What had to be done to bring a file back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was gone and is back under its name.
    Written,
    /// It had never gone.
    AlreadyThere,
    /// Another content has its name now: it lies next to it, under one of its own.
    Beside,
}

impl Vault {
    /// Brings files back into a project's directory. Nothing is overwritten.
    pub fn restore(
        &self,
        what: What<'_>,
        project: &Path,
        now: SystemTime,
    ) -> Result<Vec<Restored>, VaultError> {
        let entries = match what {
            What::Session(id) => vec![self.newest_of(id)?],
            What::Snapshot(id) => self.snapshot(id)?.files,
        };
        let mut restored = Vec::new();
        for entry in entries {
            let bytes = self.read(&entry)?;
            let (path, how) = put(&entry, &bytes, project, now)?;
            restored.push(Restored { entry, path, how });
        }
        Ok(restored)
    }

    /// The newest content of a session that the CLI would list, or the newest of all.
    pub fn newest_of(&self, session: &str) -> Result<Entry, VaultError> {
        let history = self.log()?;
        let all = history.snapshots.iter().rev().flat_map(|it| &it.files);
        let mut of_session = all.filter(|entry| entry.session_id.as_deref() == Some(session));
        let newest = of_session.clone().find(|entry| entry.listed);
        newest
            .or_else(|| of_session.next())
            .cloned()
            .ok_or_else(|| VaultError::NoSession(session.to_owned()))
    }
}

/// Puts a content where it was, or next to it.
pub(super) fn put(
    entry: &Entry,
    bytes: &[u8],
    project: &Path,
    now: SystemTime,
) -> Result<(PathBuf, How), VaultError> {
    let path = entry.below(project)?;
    let folder = path.parent().unwrap_or(project).to_owned();
    fs::create_dir_all(&folder).at("make", &folder)?;
    let time = stat::parse(&entry.mtime);
    if write_new(&path, bytes, time)? {
        return Ok((path, How::Written));
    }
    if fs::read(&path).is_ok_and(|there| sha256(&there) == entry.sha256) {
        return Ok((path, How::AlreadyThere));
    }
    let like = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let free = names::free(&folder, &like, entry.session_id.as_deref(), now);
        if write_new(&free, bytes, time)? {
            return Ok((free, How::Beside));
        }
        // A free name may be taken meanwhile, but a name that was tried and is still not there will never be ours.
        if free.symlink_metadata().is_err() {
            return Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists)).at("write", &free);
        }
    }
}

/// Writes a file that was not there, whole or not at all. False if it is there.
pub(super) fn write_new(
    path: &Path,
    bytes: &[u8],
    modified: Option<SystemTime>,
) -> Result<bool, VaultError> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = temporary(folder)?;
    temp.write_all(bytes).at("write", path)?;
    if let Some(permissions) = permissions_in(folder) {
        let _ = temp.as_file().set_permissions(permissions);
    }
    if let Some(modified) = modified {
        let _ = temp.as_file().set_modified(modified);
    }
    temp.as_file().sync_all().at("write", path)?;
    match temp.persist_noclobber(path) {
        Ok(_) => {
            sync_folder(folder);
            Ok(true)
        }
        Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(refused) => Err(refused.error).at("write", path),
    }
}

/// Who may read the sessions that lie there already.
fn permissions_in(folder: &Path) -> Option<fs::Permissions> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    entries.find_map(|entry| {
        let is_session = names::is_session(&entry.file_name().to_string_lossy());
        let about = entry.metadata().ok().filter(|about| about.is_file());
        let permissions = about.filter(|_| is_session).map(|it| it.permissions());
        permissions.filter(is_for_its_owner)
    })
}

/// True if the CLI could go on in a file like that.
fn is_for_its_owner(permissions: &fs::Permissions) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        permissions.mode() & 0o600 == 0o600
    }
    #[cfg(not(unix))]
    !permissions.readonly()
}
