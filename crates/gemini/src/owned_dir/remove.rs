//! Removes the content of a directory without following links.
//!
//! A directory in it is emptied into the outermost one, and then removed: so paths stay short, however deep directories nest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Removes all entries of a directory but one.
pub(super) fn all_but(kept: &str, top: &Path) -> io::Result<()> {
    let mut count = 0;
    loop {
        let mut is_done = true;
        for entry in fs::read_dir(top)? {
            let entry = entry?;
            if entry.file_name() == kept {
                continue;
            }
            is_done = false;
            if entry.file_type()?.is_dir() {
                empty_into(top, &entry.path(), &mut count)?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        if is_done {
            return Ok(());
        }
    }
}

/// Removes a directory of the outermost one. The directories in it move up.
fn empty_into(top: &Path, directory: &Path, count: &mut u64) -> io::Result<()> {
    make_writable(directory)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            // The entry `..` of a directory that moves is written.
            make_writable(&entry.path())?;
            fs::rename(entry.path(), free_name(top, count))?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(directory)
}

fn free_name(top: &Path, count: &mut u64) -> PathBuf {
    loop {
        *count += 1;
        let free = top.join(format!("gone-{count}"));
        if fs::symlink_metadata(&free).is_err() {
            return free;
        }
    }
}

/// Entries of a directory without write permission cannot be removed, not even by its owner: so we give ourselves all
/// permissions.
#[cfg(unix)]
fn make_writable(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut allowed = fs::symlink_metadata(directory)?.permissions();
    if allowed.mode() & 0o700 == 0o700 {
        return Ok(());
    }
    allowed.set_mode(allowed.mode() | 0o700);
    fs::set_permissions(directory, allowed)
}

#[cfg(not(unix))]
fn make_writable(_: &Path) -> io::Result<()> {
    Ok(())
}
