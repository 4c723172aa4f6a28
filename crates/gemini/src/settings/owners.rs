//! Write permissions of a file of the system's and of every directory on the way to it.

use std::path::Path;

/// Whether another user than root can change the file at a path.
#[cfg(unix)]
pub(super) fn is_open_to_others(path: &Path) -> bool {
    let real = path.canonicalize();
    let is_safe = |path: &Path| path.ancestors().all(is_roots);
    !(is_safe(path) && real.is_ok_and(|real| is_safe(&real)))
}

#[cfg(unix)]
fn is_roots(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    // A relative path ends in nothing.
    if path.as_os_str().is_empty() {
        return true;
    }
    let link = path.symlink_metadata();
    let is_own = link.is_ok_and(|about| !about.is_symlink() || about.uid() == 0);
    let about = path.metadata();
    is_own && about.is_ok_and(|about| about.uid() == 0 && about.mode() & OTHERS_WRITE == 0)
}

/// Only Windows itself can tell.
#[cfg(not(unix))]
pub(super) fn is_open_to_others(_: &Path) -> bool {
    true
}
