//! Garbage collection of workspaces and mirrors. A workspace whose changes the store lacks is never removed by itself.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lapidary::engine::process::is_alive;

use super::mirror::{self, USED};
use super::{WorkspaceRecord, WorkspaceRoot};

/// The end of the name of a directory whose removal has begun.
const REMOVED: &str = ".removed";

/// How long workspaces and mirrors are kept.
#[derive(Debug, Clone, Copy)]
pub struct GcLimits {
    /// Workspaces of attempts that ended well.
    pub completed: Duration,
    /// Workspaces of other attempts.
    pub failed: Duration,
    /// Mirrors since their last use.
    pub mirrors: Duration,
}

impl Default for GcLimits {
    fn default() -> Self {
        let day = Duration::from_hours(24);
        Self {
            completed: day,
            failed: 7 * day,
            mirrors: 30 * day,
        }
    }
}

/// The fate of a workspace or mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcVerdict {
    /// It is removed.
    Removed,
    /// Its attempt goes on, or began in a process that still runs.
    InUse,
    /// It has not been kept long enough.
    Recent,
    /// The store does not have its changes.
    Unsaved,
    /// It could not be removed.
    Failed,
}

impl GcVerdict {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::InUse => "in_use",
            Self::Recent => "recent",
            Self::Unsaved => "unsaved",
            Self::Failed => "failed",
        }
    }
}

/// A workspace or mirror that garbage collection looked at.
#[derive(Debug, Clone)]
pub struct CollectedGarbage {
    /// Its directory.
    pub directory: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its fate.
    pub verdict: GcVerdict,
}

impl WorkspaceRoot {
    /// Removes workspaces and mirrors that are not needed, and returns a verdict for each one. With `dry_run` it removes none.
    pub fn collect_garbage(&self, limits: GcLimits, dry_run: bool) -> Vec<CollectedGarbage> {
        let now = Timestamp::now().as_second();
        let workspaces = directories(&self.directory.join("workspaces"));
        let mut all: Vec<_> = workspaces
            .into_iter()
            .map(|directory| {
                let verdict = workspace_verdict(&directory, limits, now);
                carry_out(directory, verdict, dry_run)
            })
            .collect();
        // A workspace that stays borrows objects of some mirror, so then all mirrors stay.
        let is_borrowed = all.iter().any(|it| it.verdict != GcVerdict::Removed);
        for directory in directories(&self.directory.join("mirrors")) {
            let (verdict, _lock) = mirror_verdict(&directory, limits.mirrors, is_borrowed);
            all.push(carry_out(directory, verdict, dry_run));
        }
        all
    }
}

fn workspace_verdict(directory: &Path, limits: GcLimits, now: i64) -> GcVerdict {
    if is_half_removed(directory) {
        return GcVerdict::Removed;
    }
    let Ok(record) = WorkspaceRecord::read(directory) else {
        return GcVerdict::Unsaved; // it may be anything
    };
    let Some(ended) = record.ended_at else {
        let pid = i32::try_from(record.worker_pid).unwrap_or_default();
        return if is_alive(pid) {
            GcVerdict::InUse
        } else {
            GcVerdict::Unsaved
        };
    };
    if !record.is_safe {
        return GcVerdict::Unsaved;
    }
    let keep = match record.outcome.as_deref() {
        Some("completed") => limits.completed,
        _ => limits.failed,
    };
    let age = Duration::from_secs(u64::try_from(now - ended).unwrap_or_default());
    if age >= keep {
        GcVerdict::Removed
    } else {
        GcVerdict::Recent
    }
}

/// The verdict with the lock of the mirror, which is held until the mirror is removed. An attempt that began after the look at the
/// workspaces either has the lock now, or has had it, and then the mirror is not unused any more.
fn mirror_verdict(
    directory: &Path,
    keep: Duration,
    is_borrowed: bool,
) -> (GcVerdict, Option<File>) {
    if is_half_removed(directory) {
        return (GcVerdict::Removed, None);
    }
    let lock = mirror::try_lock(directory);
    let verdict = if !is_unused(directory, keep) {
        GcVerdict::Recent
    } else if is_borrowed || lock.is_none() {
        GcVerdict::InUse
    } else {
        GcVerdict::Removed
    };
    (verdict, lock)
}

fn is_unused(mirror: &Path, keep: Duration) -> bool {
    let used = fs::metadata(mirror.join(USED)).and_then(|it| it.modified());
    let age = used.map(|used| SystemTime::now().duration_since(used).unwrap_or_default());
    age.is_ok_and(|age| age >= keep)
}

fn carry_out(directory: PathBuf, verdict: GcVerdict, dry_run: bool) -> CollectedGarbage {
    let bytes = size(&directory);
    let is_removed = verdict != GcVerdict::Removed || dry_run || remove(&directory).is_ok();
    CollectedGarbage {
        verdict: if is_removed {
            verdict
        } else {
            GcVerdict::Failed
        },
        directory,
        bytes,
    }
}

/// Whether an earlier garbage collection was interrupted here.
fn is_half_removed(directory: &Path) -> bool {
    let name = directory.as_os_str().as_encoded_bytes();
    name.ends_with(REMOVED.as_bytes())
}

/// Renames it first: a removal that is interrupted leaves no half of a workspace under its name.
fn remove(directory: &Path) -> io::Result<()> {
    if is_half_removed(directory) {
        return fs::remove_dir_all(directory);
    }
    let mut gone = directory.as_os_str().to_owned();
    gone.push(REMOVED);
    fs::rename(directory, &gone)?;
    fs::remove_dir_all(gone)
}

/// The directories in one, links aside.
fn directories(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let entries = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    let mut all: Vec<_> = entries.map(|it| it.path()).collect();
    all.sort_unstable();
    all
}

/// The bytes of the files below a directory. Links are not followed.
fn size(directory: &Path) -> u64 {
    let mut open = vec![directory.to_owned()];
    let mut bytes = 0;
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(it) if it.is_dir() => open.push(entry.path()),
                Ok(it) => bytes += it.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}
