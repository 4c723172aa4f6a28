//! Keeping recordings within bounds: the oldest go first, one that is being made never. Of runs that are not recorded, nothing stays.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{TIMING, private_file};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For how long.
    pub age: Duration,
    /// How many bytes of recordings in all.
    pub size: u64,
}

impl Limits {
    /// Everything is kept for ever: somebody's own directory is not ours to clean up.
    pub const NONE: Self = Self {
        age: Duration::MAX,
        size: u64::MAX,
    };
}

impl Default for Limits {
    /// Thirty days, and 2 GiB.
    fn default() -> Self {
        Self {
            age: Duration::from_hours(30 * 24),
            size: 2 << 30,
        }
    }
}

/// Looking through everything costs more than a short run may, so it is done once in this while.
const EVERY: Duration = Duration::from_hours(1);

/// When that was last is the age of this file.
const MARK: &str = ".pruned";

/// Deletes recordings below `root` that are over the limits, unless that was done lately. Returns how many these were.
pub fn prune(root: &Path, limits: Limits, now: SystemTime) -> io::Result<usize> {
    let mark = root.join(MARK);
    if limits == Limits::NONE {
        return Ok(0);
    }
    if fs::metadata(&mark).is_ok_and(|mark| age(&mark, now) < EVERY) {
        return Ok(0);
    }
    private_file(&mark)?.set_modified(now)?;
    let mut kept = 0;
    let mut deleted = 0;
    for old in newest_first(root)? {
        kept += old.size;
        let is_over = old.age(now) > limits.age || kept > limits.size;
        if is_over && !old.is_being_made() && fs::remove_dir_all(&old.directory).is_ok() {
            kept -= old.size;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// A directory without a lock may be about to get one, but not for that long.
const SETTLED: Duration = Duration::from_mins(1);

/// Deletes what runs have left below `root` that were killed before they could do it: nothing there was to be kept. Returns how many
/// these were.
pub fn sweep(root: &Path, now: SystemTime) -> io::Result<usize> {
    let all = newest_first(root)?;
    let left = all
        .iter()
        .filter(|old| old.age(now) > SETTLED && !old.is_being_made());
    let deleted = left.filter(|old| fs::remove_dir_all(&old.directory).is_ok());
    Ok(deleted.count())
}

struct Old {
    directory: PathBuf,
    modified: SystemTime,
    size: u64,
}

impl Old {
    fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.modified).unwrap_or_default()
    }

    fn is_being_made(&self) -> bool {
        let timing = File::open(self.directory.join(TIMING));
        timing.is_ok_and(|timing| timing.try_lock().is_err())
    }
}

/// Only what looks like a recording: nobody's other files are ours to delete.
fn newest_first(root: &Path) -> io::Result<Vec<Old>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root)?.flatten() {
        let directory = entry.path();
        let Ok(timing) = fs::symlink_metadata(directory.join(TIMING)) else {
            continue;
        };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && timing.is_file() {
            let modified = timing.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let size = size(&directory);
            all.push(Old {
                directory,
                modified,
                size,
            });
        }
    }
    all.sort_by_key(|old| std::cmp::Reverse(old.modified));
    Ok(all)
}

fn size(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

fn age(file: &Metadata, now: SystemTime) -> Duration {
    let modified = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    now.duration_since(modified).unwrap_or_default()
}
