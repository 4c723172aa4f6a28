//! Restoring files, next to the present ones.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::blobs::{sync_folder, temporary_file};
use super::error::ErrorContext as _;
use super::replay::{LogReplay, ReadingDepth, enriched_record, lossy_utf8};
use super::{Snapshot, SnapshotEntry, SnapshotHistory, Vault, VaultError, stat};
use crate::names;

/// The files to restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreTarget<'a> {
    /// The newest resumable content of a session, by its full id.
    Session(&'a str),
    /// All files of a snapshot, by its id or the beginning of it.
    Snapshot(&'a str),
}

/// Files of the vault that are to be brought back.
#[derive(Debug, Clone)]
pub struct ChosenFiles {
    /// The directory that they come from.
    pub project: PathBuf,
    /// The snapshot that has the newest of them.
    pub snapshot: String,
    /// The files.
    pub entries: Vec<SnapshotEntry>,
}

/// A file that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtBack {
    /// The file as the snapshot has it.
    pub entry: SnapshotEntry,
    /// Where it is now.
    pub path: PathBuf,
    /// How it was brought back.
    pub how: RestoreMethod,
}

/// How a file was brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMethod {
    /// It was gone and is back under its name.
    Written,
    /// It had never gone: the file has that content, or has grown since.
    AlreadyThere,
    /// Another content has its name now: it lies next to it, under one of its own.
    Beside,
}

impl Vault {
    /// Brings files back into a project's directory. Nothing is overwritten.
    pub fn restore(
        &self,
        what: RestoreTarget<'_>,
        project: &Path,
        now: SystemTime,
    ) -> Result<Vec<BroughtBack>, VaultError> {
        let chosen = self.choose(what)?;
        self.put_back(&chosen, project, now)
    }

    /// Brings chosen files back into a project's directory. Nothing is overwritten.
    pub fn put_back(
        &self,
        chosen: &ChosenFiles,
        project: &Path,
        now: SystemTime,
    ) -> Result<Vec<BroughtBack>, VaultError> {
        let mut restored = Vec::new();
        for entry in &chosen.entries {
            let bytes = self.read(entry)?;
            let (path, how) = put_content(entry, &bytes, project, now)?;
            let entry = entry.clone();
            restored.push(BroughtBack { entry, path, how });
        }
        Ok(restored)
    }

    /// The results that [`Vault::put_back`] would have. The contents are read, so that missing ones are found here.
    pub fn foresee(
        &self,
        chosen: &ChosenFiles,
        project: &Path,
        now: SystemTime,
    ) -> Result<Vec<BroughtBack>, VaultError> {
        let mut restored = Vec::new();
        for entry in &chosen.entries {
            let bytes = self.read(entry)?;
            let path = entry.path_below(project)?;
            let (path, how) = if path.symlink_metadata().is_err() {
                (path, RestoreMethod::Written)
            } else if has_whole_content(&path, &bytes) {
                (path, RestoreMethod::AlreadyThere)
            } else {
                (free_path_beside(&path, entry, now), RestoreMethod::Beside)
            };
            let entry = entry.clone();
            restored.push(BroughtBack { entry, path, how });
        }
        Ok(restored)
    }

    /// Finds the files to restore. A session comes with the files of its subagents.
    pub fn choose(&self, what: RestoreTarget<'_>) -> Result<ChosenFiles, VaultError> {
        let id = match what {
            RestoreTarget::Session(id) => id,
            RestoreTarget::Snapshot(id) => {
                let snapshot = self.snapshot(id)?;
                return Ok(ChosenFiles {
                    project: snapshot.project.into(),
                    snapshot: snapshot.id,
                    entries: snapshot.files,
                });
            }
        };
        let history = self.log()?;
        let (snapshot, entry) = newest_entry(&history, id)?;
        let mut entries = vec![entry.clone()];
        let of_project = history.snapshots.iter().rev();
        let of_project = of_project.filter(|other| other.project == snapshot.project);
        for other in of_project.flat_map(|it| &it.files) {
            let is_known = || {
                entries
                    .iter()
                    .any(|entry: &SnapshotEntry| entry.path == other.path)
            };
            if is_below(&other.path, id) && !is_known() {
                entries.push(other.clone());
            }
        }
        Ok(ChosenFiles {
            project: snapshot.project.clone().into(),
            snapshot: snapshot.id.clone(),
            entries,
        })
    }

    /// The newest content of a session that the CLI would list, or the newest of all.
    pub fn newest_of(&self, session: &str) -> Result<SnapshotEntry, VaultError> {
        let history = self.log()?;
        newest_entry(&history, session).map(|(_, entry)| entry.clone())
    }
}

fn newest_entry<'h>(
    history: &'h SnapshotHistory,
    session: &str,
) -> Result<(&'h Snapshot, &'h SnapshotEntry), VaultError> {
    let snapshots = history.snapshots.iter().rev();
    let all = snapshots.flat_map(|it| it.files.iter().map(move |entry| (it, entry)));
    let mut of_session = all.filter(|it| it.1.session_id.as_deref() == Some(session));
    let newest = of_session.clone().find(|it| it.1.listed);
    newest
        .or_else(|| of_session.next())
        .ok_or_else(|| VaultError::NoSession(session.to_owned()))
}

/// True for files of a session's subagents: they lie below a directory that is named like the session.
fn is_below(path: &str, session: &str) -> bool {
    let folders = Path::new(path).ancestors().skip(1);
    let mut folders = folders.filter_map(Path::file_name);
    folders.any(|folder| folder.to_string_lossy() == names::sanitised_id(session))
}

/// True if a file has the content, or has grown since and still shows all of it: a copy beside it would only hide newer messages.
fn has_whole_content(path: &Path, bytes: &[u8]) -> bool {
    fs::read(path).is_ok_and(|there| there == bytes || shows_all_of(&there, bytes))
}

fn shows_all_of(there: &[u8], before: &[u8]) -> bool {
    if !there.starts_with(before) {
        return false;
    }
    let (there, before) = (lossy_utf8(there), lossy_utf8(before));
    let now = LogReplay::from_bytes(&there, ReadingDepth::Hidden);
    let then = LogReplay::from_bytes(&before, ReadingDepth::Hidden);
    let mut messages = then.shown.iter();
    messages.all(|old| {
        let new = now.shown.get(old.key);
        new.is_some_and(|new| enriched_record(&old.record, new) == new.record)
    })
}

/// A free name next to one that is taken.
fn free_path_beside(path: &Path, entry: &SnapshotEntry, now: SystemTime) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new("."));
    let like = path.file_name().unwrap_or_default().to_string_lossy();
    if !names::is_session(&like) {
        // Of another agent, whose name for it is its id.
        let content = entry.sha256.get(..8).unwrap_or_default();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        return path.with_extension(format!("{content}.{ending}"));
    }
    names::free_path(folder, &like, entry.session_id.as_deref(), now)
}

/// Puts a content where it was, or next to it.
pub(super) fn put_content(
    entry: &SnapshotEntry,
    bytes: &[u8],
    project: &Path,
    now: SystemTime,
) -> Result<(PathBuf, RestoreMethod), VaultError> {
    let path = entry.path_below(project)?;
    let folder = path.parent().unwrap_or(project).to_owned();
    refuse_linked_folder(project, &folder)?;
    fs::create_dir_all(&folder).at("make", &folder)?;
    let time = stat::parse(&entry.mtime);
    if write_new(&path, bytes, time)? {
        return Ok((path, RestoreMethod::Written));
    }
    if has_whole_content(&path, bytes) {
        return Ok((path, RestoreMethod::AlreadyThere));
    }
    loop {
        let free = free_path_beside(&path, entry, now);
        if write_new(&free, bytes, time)? {
            return Ok((free, RestoreMethod::Beside));
        }
        // A free name may be taken meanwhile, but a name that was tried and is still not there will never be ours.
        if free.symlink_metadata().is_err() {
            return Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists)).at("write", &free);
        }
    }
}

/// Refuses a directory of a project that is a link, or is below one.
fn refuse_linked_folder(project: &Path, folder: &Path) -> Result<(), VaultError> {
    let mut inside = folder
        .ancestors()
        .take_while(|directory| directory.starts_with(project));
    match inside.find(|directory| directory.is_symlink()) {
        Some(link) => Err(VaultError::Link {
            path: link.to_owned(),
        }),
        None => Ok(()),
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
    let mut temp = temporary_file(folder)?;
    temp.as_file_mut().write_all(bytes).at("write", path)?;
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

/// The permissions of the sessions that lie there already.
fn permissions_in(folder: &Path) -> Option<fs::Permissions> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    entries.find_map(|entry| {
        let is_session = names::is_session(&entry.file_name().to_string_lossy());
        let about = entry.metadata().ok().filter(fs::Metadata::is_file);
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
