//! Keeping recordings within bounds: the oldest go first, one that is being made never. Of runs that are not recorded, nothing stays.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_vocab::runs::RunRemovalReason;

use super::{PROMPT, PROMPT_ENDING, TIMING, private_file};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    /// For how long.
    pub age: Duration,
    /// How many bytes of recordings in all.
    pub size: u64,
}

impl KeepLimits {
    /// Everything is kept: a directory that the user chose is not ours to clean up.
    pub const NONE: Self = Self {
        age: Duration::MAX,
        size: u64::MAX,
    };
}

impl Default for KeepLimits {
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
pub fn prune(root: &Path, limits: KeepLimits, now: SystemTime) -> io::Result<usize> {
    let mark = root.join(MARK);
    if limits == KeepLimits::NONE {
        return Ok(0);
    }
    if fs::metadata(&mark).is_ok_and(|mark| file_age(&mark, now) < EVERY) {
        return Ok(0);
    }
    private_file(&mark)?.set_modified(now)?;
    finish_removals(root)?;
    let plan = RetentionPlan::new(root, limits, now)?;
    let removed = plan.going.iter().filter(|run| run.remove().is_ok());
    Ok(removed.count())
}

/// The recordings that the limits remove, and how much stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetentionPlan {
    /// The recordings that go, newest first.
    pub going: Vec<ExpiredRun>,
    /// The number of recordings that stay.
    pub kept: usize,
}

/// A recording that goes.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpiredRun {
    /// Its directory.
    pub directory: PathBuf,
    /// When a file of it was last written.
    pub modified: SystemTime,
    /// How many bytes it has.
    pub size: u64,
    /// The reason.
    pub reason: RunRemovalReason,
}

impl RetentionPlan {
    /// Looks through the recordings below `root`. One that is being made stays, and counts.
    pub fn new(root: &Path, limits: KeepLimits, now: SystemTime) -> io::Result<Self> {
        let mut plan = Self::default();
        let mut size = 0_u64;
        for old in newest_first(root)? {
            let with_it = size.saturating_add(old.size);
            let too_large = (with_it > limits.size).then_some(RunRemovalReason::TooLarge);
            let too_old = (old.age(now) > limits.age).then_some(RunRemovalReason::TooOld);
            let reason = too_old.or(too_large);
            if let Some(reason) = reason.filter(|_| !is_running(&old.directory)) {
                plan.going.push(old.into_expired(reason));
            } else {
                size = with_it;
                plan.kept += 1;
            }
        }
        Ok(plan)
    }
}

impl ExpiredRun {
    /// The recording of that id, to be removed because it was named.
    pub fn named(root: &Path, id: &str) -> io::Result<Self> {
        let directory = root.join(id);
        let timing = fs::symlink_metadata(directory.join(TIMING));
        let metadata = timing.or_else(|_| fs::symlink_metadata(&directory))?;
        Ok(Self {
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            size: directory_size(&directory),
            reason: RunRemovalReason::Asked,
            directory,
        })
    }

    /// Deletes it. Its lock is held meanwhile; one that is being made stays.
    pub fn remove(&self) -> io::Result<()> {
        let lock = File::open(self.directory.join(TIMING)).ok();
        if let Some(lock) = &lock {
            lock.try_lock()
                .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "the run is going on"))?;
        }
        match remove_whole(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        self.remove_prompt();
        Ok(())
    }

    /// A prompt that was too long for stdin goes with its run.
    fn remove_prompt(&self) {
        let id = self.directory.file_name().unwrap_or_default();
        let mut name = id.to_owned();
        name.push(PROMPT_ENDING);
        let prompt = self.directory.with_file_name(name);
        if prompt.join(PROMPT).is_file() {
            let _ = fs::remove_dir_all(prompt); // it goes by its age otherwise
        }
    }
}

/// How the names of recordings begin that are being deleted.
const REMOVED: &str = ".removed-";

/// Deletes a recording. It gets another name first: a reader finds it whole or not at all, also if we are killed meanwhile.
fn remove_whole(directory: &Path) -> io::Result<()> {
    let id = directory.file_name().unwrap_or_default();
    let mut name = OsString::from(REMOVED);
    name.push(id);
    let removed = directory.with_file_name(name);
    fs::rename(directory, &removed)?;
    fs::remove_dir_all(removed)
}

fn is_removed(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(REMOVED.as_bytes())
}

/// Finishes deletions of recordings by processes that were killed.
fn finish_removals(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)?.flatten() {
        if is_removed(&entry.file_name()) {
            let _ = fs::remove_dir_all(entry.path()); // the next time, if not now
        }
    }
    Ok(())
}

/// A directory without a lock may be about to get one, but not for that long.
const SETTLED: Duration = Duration::from_mins(1);

/// Deletes the recordings below `root` of runs that were killed before they could do it themselves: none of them was to be kept.
/// Returns their number.
pub fn sweep(root: &Path, now: SystemTime) -> io::Result<usize> {
    let all = newest_first(root)?;
    let left = all
        .iter()
        .filter(|old| old.age(now) > SETTLED && !is_running(&old.directory));
    let deleted = left.filter(|old| fs::remove_dir_all(&old.directory).is_ok());
    Ok(deleted.count())
}

struct OldRecording {
    directory: PathBuf,
    modified: SystemTime,
    size: u64,
}

impl OldRecording {
    fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.modified).unwrap_or_default()
    }

    fn into_expired(self, reason: RunRemovalReason) -> ExpiredRun {
        let Self {
            directory,
            modified,
            size,
        } = self;
        ExpiredRun {
            directory,
            modified,
            size,
            reason,
        }
    }
}

/// Whether a process holds the lock of a recording. Ask this only of a recording that has a manifest or is old: a recorder locks
/// before it writes the manifest, and must not find the lock taken by a process that looks.
pub fn is_running(directory: &Path) -> bool {
    let timing = File::open(directory.join(TIMING));
    timing.is_ok_and(|timing| timing.try_lock_shared().is_err())
}

/// Lists recordings only: other files in the directory are not ours to delete.
fn newest_first(root: &Path) -> io::Result<Vec<OldRecording>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root)?.flatten() {
        let directory = entry.path();
        let Ok(timing) = fs::symlink_metadata(directory.join(TIMING)) else {
            continue;
        };
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && timing.is_file() && !is_removed(&entry.file_name()) {
            let modified = timing.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let size = directory_size(&directory);
            all.push(OldRecording {
                directory,
                modified,
                size,
            });
        }
    }
    all.sort_by_key(|old| std::cmp::Reverse(old.modified));
    Ok(all)
}

fn directory_size(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

fn file_age(file: &Metadata, now: SystemTime) -> Duration {
    let modified = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    now.duration_since(modified).unwrap_or_default()
}
