//! Removing a file that another process may be appending to, and finishing the removals of killed processes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::merge::replace_content;
use super::rename_new;
use crate::names;
use crate::vault::blobs::{TEMPORARY, sha256_hex};
use crate::vault::error::ErrorContext as _;
use crate::vault::{ContentFacts, VaultError};

const ASIDE: &str = ".lapidary-aside-";

/// How often an operation is tried that another process may prevent.
const TRIES: usize = 100;

/// A temporary file that is older has no owner any more.
const STALE: Duration = Duration::from_hours(1);

/// Removes a file if it still has this content.
pub(super) fn remove_if_unchanged(path: &Path, content: &str) -> Result<(), VaultError> {
    let aside = put_aside(path)?;
    let bytes = fs::read(&aside).at("read", &aside)?;
    if sha256_hex(&bytes) == content {
        return fs::remove_file(&aside).at("remove", &aside);
    }
    put_back(&aside, path)?;
    let changed = std::io::Error::other("it is being written to");
    Err(changed).at("move", path)
}

/// Renames a file to a hidden name that no program reads.
fn put_aside(path: &Path) -> Result<PathBuf, VaultError> {
    let name = path.file_name().unwrap_or_default().display().to_string();
    let process = std::process::id();
    for n in 0..TRIES {
        let aside = path.with_file_name(format!("{ASIDE}{process}-{n}-{name}"));
        match rename_new(path, &aside) {
            Err(error) if is_taken(&error) => {}
            done => return done.map(|()| aside),
        }
    }
    Err(std::io::Error::from(ErrorKind::AlreadyExists)).at("rename", path)
}

/// Gives the file its name again. Lines that were written under that name meanwhile are appended.
fn put_back(aside: &Path, path: &Path) -> Result<(), VaultError> {
    for _ in 0..TRIES {
        match rename_new(aside, path) {
            Err(error) if is_taken(&error) => {}
            done => return done,
        }
        let (first, late) = (fs::read(aside).at("read", aside)?, fs::read(path));
        let late = match late {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            late => late.at("read", path)?,
        };
        if late.starts_with(&first) {
            return fs::remove_file(aside).at("remove", aside);
        }
        // A process that wrote a header there continues in a file that is complete without ours.
        if ContentFacts::read(&late).session_id.is_some() {
            return put_beside(aside, path);
        }
        if replace_content(path, &late, &joined_lines(&first, &late))? {
            return fs::remove_file(aside).at("remove", aside);
        }
    }
    Err(std::io::Error::from(ErrorKind::AlreadyExists)).at("rename", aside)
}

fn put_beside(aside: &Path, path: &Path) -> Result<(), VaultError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let time = fs::metadata(aside).and_then(|it| it.modified());
    let free = names::free_path(folder, &name, None, time.at("read", aside)?);
    rename_new(aside, &free)
}

/// A content and the lines written after it, each in lines of its own.
pub(super) fn joined_lines(first: &[u8], late: &[u8]) -> Vec<u8> {
    let mut all = first.to_vec();
    if all.last().is_some_and(|&byte| byte != b'\n') {
        all.push(b'\n');
    }
    all.extend(late);
    all
}

/// Puts back files that were set aside, and removes temporary files of dead processes.
pub(super) fn finish_set_aside(chats: &Path, now: SystemTime) -> Result<(), VaultError> {
    let Ok(entries) = fs::read_dir(chats) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|it| it.is_file());
        if let (true, Some(rest)) = (is_file, name.strip_prefix(ASIDE)) {
            let start = rest.find("session-").unwrap_or(rest.len());
            if names::is_session(&rest[start..]) {
                put_back(&path, &chats.join(&rest[start..]))?;
            }
        } else if is_file && name.starts_with(TEMPORARY) && is_stale(&path, now) {
            fs::remove_file(&path).at("remove", &path)?;
        }
    }
    Ok(())
}

fn is_stale(path: &Path, now: SystemTime) -> bool {
    let changed = fs::metadata(path).and_then(|it| it.modified());
    changed.is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age > STALE))
}

fn is_taken(error: &VaultError) -> bool {
    matches!(error, VaultError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists)
}
