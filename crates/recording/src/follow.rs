//! Following files that another process appends to: noticing that they grow, as soon as they do, and reading on.

mod follower;

pub use follower::{DueReason, StreamFollower};

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use lapidary_wire::lines::{LineBuffer, RawLine};

use lapidary_process::platform::{open_regular, read_at, read_exact_at};

/// How often files are looked at where the system does not tell.
const POLL: Duration = Duration::from_millis(20);

/// How much is read at once.
pub const CHUNK: usize = 64 * 1024;

/// How much is read at once of files that grow by a line now and then: each reader of a run has two of them.
const READ_BYTES: usize = 8 * 1024;

/// Tells when one of some files may have grown.
#[derive(Debug)]
pub struct GrowthWatch {
    #[cfg(target_os = "linux")]
    notices: Option<inotify::InotifyWatch>,
}

impl GrowthWatch {
    /// Watches files that exist.
    pub fn new(files: &[&Path]) -> Self {
        #[cfg(target_os = "linux")]
        return Self {
            // The system allows few of these at a time (128 by default), and some file systems have none.
            notices: inotify::InotifyWatch::open(files).ok(),
        };
        #[cfg(not(target_os = "linux"))]
        {
            let _ = files;
            Self {}
        }
    }

    /// Waits until a file may have grown. Can be cancelled.
    pub async fn happened(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(notices) = &mut self.notices {
            match notices.next().await {
                Ok(()) => return,
                Err(_) => self.notices = None,
            }
        }
        tokio::time::sleep(POLL).await;
    }
}

/// How far the files have grown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSizes {
    /// Bytes of stdout.
    pub stdout: u64,
    /// Bytes of stderr.
    pub stderr: u64,
    /// They will not grow any more.
    pub is_over: bool,
    /// One was shorter than before: bytes are lost. One that is cut and grows again before it is looked at is not noticed.
    pub is_cut: bool,
}

/// A file that another process appends to.
#[derive(Debug)]
pub struct FollowedFile {
    file: File,
    /// Where the next read begins.
    pub offset: u64,
}

impl FollowedFile {
    /// Opens a file that exists, at its beginning. A recording of another person may have a pipe in its place, or a link to a file that
    /// is none of its own.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        Ok(Self { file, offset: 0 })
    }

    /// Reads on, but not behind `until`.
    pub fn read(&mut self, room: &mut [u8], until: u64) -> io::Result<usize> {
        let left = usize::try_from(until - self.offset).unwrap_or(usize::MAX);
        let most = left.min(CHUNK).min(room.len());
        let count = read_at(&self.file, &mut room[..most], self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    /// Reads the last `count` bytes once more.
    pub fn again(&self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        read_exact_at(&self.file, &mut bytes, self.offset - count as u64)?;
        Ok(bytes)
    }

    /// How long the file is now.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// The end of the file as it is now.
    pub fn tail(&self, most: u64) -> Vec<u8> {
        let length = self.length();
        let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or_default()];
        let read = read_at(&self.file, &mut bytes, length.saturating_sub(most));
        bytes.truncate(read.unwrap_or(0));
        bytes
    }
}

/// The whole lines of a file that another process appends to.
#[derive(Debug)]
pub struct FollowedLines {
    file: FollowedFile,
    lines: LineBuffer,
}

impl FollowedLines {
    /// Opens a file that exists, at its beginning.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: FollowedFile::open(path)?,
            lines: LineBuffer::default().reading(READ_BYTES),
        })
    }

    /// The same, or none if there is no such file.
    pub fn open_if_there(path: &Path) -> io::Result<Option<Self>> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The next line that ends before `until`. None if there is none yet. A line over the limit is skipped.
    pub fn next_line(&mut self, until: u64) -> io::Result<Option<&[u8]>> {
        while !self.lines.find_line() {
            if self.file.offset >= until {
                return Ok(None);
            }
            let count = self.file.read(self.lines.room(), until)?;
            if count == 0 {
                return Ok(None);
            }
            self.lines.filled(count);
        }
        Ok(match self.lines.next_line() {
            Some(RawLine::Whole(line)) => Some(line),
            Some(RawLine::TooLong { .. }) | None => Some(b""),
        })
    }
}

#[cfg(target_os = "linux")]
mod inotify {
    use std::os::fd::OwnedFd;

    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    use tokio::io::unix::AsyncFd;

    use super::{Path, io};

    #[derive(Debug)]
    pub(super) struct InotifyWatch(AsyncFd<OwnedFd>);

    impl InotifyWatch {
        pub(super) fn open(files: &[&Path]) -> io::Result<Self> {
            let notices = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            for file in files {
                add_watch(&notices, *file, WatchFlags::MODIFY)?;
            }
            #[expect(
                deprecated,
                reason = "what may be unsound about it is not about an `OwnedFd`, and its successor is unsafe"
            )]
            Ok(Self(AsyncFd::new(notices)?))
        }

        /// Discards all pending notices; their content does not matter.
        pub(super) async fn next(&mut self) -> io::Result<()> {
            let mut buffer = [0; 4096];
            loop {
                let mut ready = self.0.readable().await?;
                let read = ready.try_io(|notices| Ok(rustix::io::read(notices, &mut buffer)?));
                if let Ok(read) = read {
                    return read.map(drop);
                }
            }
        }
    }
}
