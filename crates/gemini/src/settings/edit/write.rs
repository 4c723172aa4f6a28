//! Reading, changing and writing a file under a lock.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{EditError, EditOutcome, SettingsDocument, leftovers, place};
use crate::file;
use crate::lock;

/// How the name of a file begins that is written beside the one whose place it takes.
pub(super) const BESIDE: &str = ".lapidary-settings-";

/// The file to change.
pub(super) struct EditTarget {
    /// The path that the caller gave.
    path: PathBuf,
    /// Where it is, links followed: the new content lands there, and the links stay.
    real: PathBuf,
    /// The permissions of a new file.
    mode: u32,
}

impl EditTarget {
    pub(super) fn open(path: &Path) -> Result<Self, EditError> {
        Ok(Self {
            path: path.to_owned(),
            real: place::resolved_path(path)?,
            // Less the process's umask, as for every file.
            mode: 0o666,
        })
    }

    pub(super) fn open_private(path: &Path) -> Result<Self, EditError> {
        let target = Self::open(path)?;
        Ok(Self {
            mode: 0o600,
            ..target
        })
    }

    /// One that no link may lead out of a directory.
    pub(super) fn open_within(path: &Path, root: &Path) -> Result<Self, EditError> {
        let target = Self::open(path)?;
        place::check_inside(path, &target.real, root)?;
        Ok(target)
    }

    pub(super) fn edit_document<E: From<EditError>>(
        &self,
        change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
    ) -> Result<EditOutcome, E> {
        let folder = self.parent_folder();
        let made = make_folders(folder).map_err(|source| self.unwritable_error(source))?;
        let edited = self.edit_locked(change);
        if !matches!(edited, Ok(EditOutcome::Yes)) {
            // Nothing was written: the directories made for it are removed, unless they are in use by now.
            made.iter()
                .rev()
                .for_each(|folder| drop(fs::remove_dir(folder)));
        }
        edited
    }

    fn edit_locked<E: From<EditError>>(
        &self,
        change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
    ) -> Result<EditOutcome, E> {
        let _lock = self.lock_folder()?;
        leftovers::clear(self.parent_folder());
        let text = file::exact_json_text(&self.real);
        let document = text.and_then(|text| {
            let before = text.clone();
            Ok((before, SettingsDocument::parse(&self.path, text)?))
        });
        let (before, mut document) = document.map_err(|source| EditError::Unreadable {
            path: self.path.clone(),
            source,
        })?;
        change(&mut document)?;
        let before = before.as_deref();
        let is_new = before.is_none_or(|before| before.trim().is_empty());
        let is_same =
            before == Some(document.document_text()) || is_new && document.object().is_empty();
        if is_same {
            return Ok(EditOutcome::No);
        }
        self.write_text(document.document_text(), before.is_some())
            .map_err(|source| self.unwritable_error(source))?;
        Ok(EditOutcome::Yes)
    }

    /// Writes all of it beside the file, and then puts it in its place.
    fn write_text(&self, text: &str, is_there: bool) -> io::Result<()> {
        let kept = is_there.then(|| self.writable_permissions()).transpose()?;
        let mut beside = self.temporary_file(is_there)?;
        beside.write_all(text.as_bytes())?;
        keep_owner(&self.real, beside.as_file());
        if let Some(kept) = kept {
            beside.as_file().set_permissions(kept)?;
        }
        beside.as_file().sync_all()?;
        let put = beside.persist(&self.real);
        put.map_err(|refused| refused.error)?;
        Ok(())
    }

    /// A file beside it. What takes the place of another is for our eyes only until it is whole: the other may be.
    fn temporary_file(&self, is_there: bool) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(BESIDE);
        open_to(&mut builder, if is_there { 0o600 } else { self.mode });
        builder.tempfile_in(self.parent_folder())
    }

    /// The permissions of the file. One that we may not write stays, though its directory would let us.
    fn writable_permissions(&self) -> io::Result<Permissions> {
        let file = OpenOptions::new().append(true).open(&self.real)?;
        Ok(file.metadata()?.permissions())
    }

    /// Locks all files of the directory as long as this lives. The directory itself is locked, which leaves no lock file behind.
    fn lock_folder(&self) -> Result<File, EditError> {
        let file =
            lockable(self.parent_folder()).map_err(|source| self.unwritable_error(source))?;
        let ours = lock::wait(lock::PATIENCE, || file.try_lock())
            .map_err(|source| self.unwritable_error(source))?;
        let busy = || EditError::Busy {
            path: self.path.clone(),
        };
        ours.then_some(file).ok_or_else(busy)
    }

    fn parent_folder(&self) -> &Path {
        match self.real.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    fn unwritable_error(&self, source: io::Error) -> EditError {
        EditError::Unwritable {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(unix)]
fn lockable(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// A directory cannot be locked here.
#[cfg(not(unix))]
fn lockable(folder: &Path) -> io::Result<File> {
    File::create(folder.join(".lapidary.lock"))
}

/// Makes a directory and those above it, and tells which it made.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<_> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder)?;
    Ok(missing.into_iter().rev().collect())
}

/// Says who may read a file that is made.
#[cfg(unix)]
fn open_to(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn open_to(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Gives a new file the owner and group of the old one, if we may.
#[cfg(unix)]
fn keep_owner(old: &Path, new: &File) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    if let Ok(about) = old.metadata() {
        let _ = fchown(new, Some(about.uid()), Some(about.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &File) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_draft_of_a_settings_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let target = EditTarget::open(&path).unwrap();
        let mode = |file: &File| file.metadata().unwrap().permissions().mode() & 0o777;
        let beside = target.temporary_file(true).unwrap();
        assert_eq!(mode(beside.as_file()), 0o600);
        // A file of another disk could not be put in its place.
        assert_eq!(beside.path().parent(), target.real.parent());
        target.write_text("{}\n", true).unwrap();
        assert_eq!(mode(&File::open(&path).unwrap()), 0o644);
        let private = EditTarget::open_private(&path).unwrap();
        assert_eq!(
            mode(private.temporary_file(false).unwrap().as_file()),
            0o600
        );
    }
}
