//! Where directories cannot be opened in each other: by path. A link that is swapped in at the last moment is followed.

use std::fs::{self, File};
use std::io;

use super::{draft_name, no_file};
use crate::workspace::roots::ResolvedPath;

/// Opens a file to read it.
pub(in crate::workspace) fn open(place: &ResolvedPath) -> io::Result<File> {
    if !fs::symlink_metadata(&place.path)?.is_file() {
        return Err(no_file());
    }
    File::open(&place.path)
}

/// Replaces or creates a file with this content, at once and whole. Missing directories are made.
pub(in crate::workspace) fn replace(place: &ResolvedPath, content: &[u8]) -> io::Result<()> {
    let directory = place.path.parent().ok_or_else(no_file)?;
    if fs::symlink_metadata(&place.path).is_ok_and(|old| !old.is_file()) {
        return Err(no_file());
    }
    fs::create_dir_all(directory)?;
    let draft = directory.join(draft_name());
    let placed = fs::write(&draft, content).and_then(|()| fs::rename(&draft, &place.path));
    if placed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    placed
}
