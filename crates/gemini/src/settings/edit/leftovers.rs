//! Leftovers of writers that were killed.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::write::BESIDE;

/// A process on another machine may be using a younger one: not every file system locks across.
const YOUNG: Duration = Duration::from_mins(1);

/// Removes files that were to replace a file of a directory, and never will. The caller has the lock of the directory.
pub(super) fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links are not followed.
        let is_left = || {
            entry
                .metadata()
                .is_ok_and(|about| about.is_file() && is_old(&about) && is_ours(&about))
        };
        if is_named_so(&entry.file_name()) && is_left() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Six letters and digits stand behind the beginning.
fn is_named_so(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(BESIDE));
    rest.is_some_and(|rest| {
        rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn is_old(about: &Metadata) -> bool {
    let age = about.modified().ok();
    let age = age.and_then(|written| SystemTime::now().duration_since(written).ok());
    age.is_some_and(|age| age > YOUNG)
}

#[cfg(unix)]
fn is_ours(about: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_: &Metadata) -> bool {
    true
}
