//! The metadata by which a changed file is recognised, and the formats of times.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How close to now a change may be for another one to share its time.
const TICK: Duration = Duration::from_secs(2);

/// Two looks at a file that say the same mean the same content, unless it changed just now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStat {
    pub(super) size: u64,
    /// Nanoseconds since 1970: of the last change of the content, and of the inode.
    modified: i128,
    changed: i128,
    device: u64,
    inode: u64,
}

impl FileStat {
    #[cfg(unix)]
    pub(super) fn from_metadata(about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanoseconds = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Self {
            size: about.size(),
            modified: nanoseconds(about.mtime(), about.mtime_nsec()),
            changed: nanoseconds(about.ctime(), about.ctime_nsec()),
            device: about.dev(),
            inode: about.ino(),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn from_metadata(about: &Metadata) -> Self {
        let modified = about.modified().unwrap_or(UNIX_EPOCH);
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            size: about.len(),
            modified: since.as_nanos().cast_signed(),
            changed: 0,
            device: 0,
            inode: 0,
        }
    }

    /// The same look, at so much of the content.
    pub(super) fn with_size(self, size: u64) -> Self {
        Self { size, ..self }
    }

    /// True if another change would have been seen: the last one is not so new, nor in the future.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(UNIX_EPOCH) else {
            return false;
        };
        let limit = now.saturating_sub(TICK).as_nanos().cast_signed();
        self.modified.max(self.changed) < limit
    }

    /// When the content last changed.
    pub(super) fn modified_time(&self) -> SystemTime {
        let nanoseconds = u64::try_from(self.modified).unwrap_or(0);
        UNIX_EPOCH + Duration::from_nanos(nanoseconds)
    }
}

/// A time as RFC 3339 in UTC, to the nanosecond: as text in the order of time.
pub(super) fn rfc3339_text(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.9}")
}

/// A time as the CLI writes it: to the millisecond.
pub(super) fn as_cli(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// A time of the CLI's or ours.
pub(super) fn parse(time: &str) -> Option<SystemTime> {
    time.parse::<Timestamp>().ok().map(SystemTime::from)
}
