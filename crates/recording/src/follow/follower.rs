//! Following the output files of a program: when to look how far they have grown, and which readers to tell.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::{FileSizes, GrowthWatch};
use crate::{Channel, STDERR, STDOUT};

/// Files that grow all the time are looked at only this often. The delay is not visible, and it saves most of the work.
const PAUSE: Duration = Duration::from_millis(2);

/// Files are looked at this often even without a notice that they grew.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Follows the files in which a recording keeps stdout and stderr.
#[derive(Debug)]
pub struct StreamFollower {
    growth: GrowthWatch,
    heartbeat: Interval,
    stdout: File,
    stderr: File,
    seen: FileSizes,
    looked: Option<Instant>,
    sizes: watch::Sender<FileSizes>,
}

/// Why it is time to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueReason {
    /// A file may have grown.
    Growth,
    /// Nothing was noticed for a while.
    Heartbeat,
}

impl StreamFollower {
    /// Follows the files in this directory, which exist, and tells their readers.
    pub fn open(directory: &Path, sizes: watch::Sender<FileSizes>) -> io::Result<Self> {
        let (stdout, stderr) = (directory.join(STDOUT), directory.join(STDERR));
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            growth: GrowthWatch::new(&[&stdout, &stderr]),
            heartbeat,
            stdout: File::open(stdout)?,
            stderr: File::open(stderr)?,
            seen: FileSizes::default(),
            looked: None,
            sizes,
        })
    }

    /// Waits until it is time to look. Can be cancelled.
    pub async fn due(&mut self) -> DueReason {
        let rested = self.looked.map(|looked| looked + PAUSE);
        let grown = async {
            // The rest comes first: once a growth has been noticed, nothing may come between that and a look.
            if let Some(rested) = rested {
                sleep_until(rested).await;
            }
            self.growth.happened().await;
        };
        tokio::select! {
            biased;
            _ = self.heartbeat.tick() => DueReason::Heartbeat,
            () = grown => DueReason::Growth,
        }
    }

    /// Looks how far the files have grown. The caller's `note` is called first, then readers get the sizes. `None` if they have
    /// neither grown nor been cut.
    pub fn look(&mut self, mut note: impl FnMut(Channel, u64)) -> Option<FileSizes> {
        self.looked = Some(Instant::now());
        let length = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
        let (stdout, stderr) = (length(&self.stdout), length(&self.stderr));
        let now = FileSizes {
            // An agent can truncate its own output.
            stdout: stdout.max(self.seen.stdout),
            stderr: stderr.max(self.seen.stderr),
            is_over: false,
            is_cut: self.seen.is_cut || stdout < self.seen.stdout || stderr < self.seen.stderr,
        };
        if now == self.seen {
            return None;
        }
        let more = [
            (Channel::Out, now.stdout - self.seen.stdout),
            (Channel::Err, now.stderr - self.seen.stderr),
        ];
        for (channel, bytes) in more.into_iter().filter(|(_, bytes)| *bytes > 0) {
            note(channel, bytes);
        }
        self.seen = now;
        self.sizes.send_replace(now);
        Some(now)
    }

    /// Tells that the files will not grow any more.
    pub fn finish(self) {
        let is_over = true;
        self.sizes.send_replace(FileSizes {
            is_over,
            ..self.seen
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::timeout;

    use super::*;

    fn grown(stdout: u64, stderr: u64, is_over: bool) -> FileSizes {
        FileSizes {
            stdout,
            stderr,
            is_over,
            is_cut: false,
        }
    }

    #[tokio::test]
    async fn growth_is_recorded_before_readers_are_notified() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name, text| fs::write(directory.path().join(name), text).unwrap();
        write(STDOUT, "");
        write(STDERR, "");
        let (sender, sizes) = watch::channel(FileSizes::default());
        let mut follower = StreamFollower::open(directory.path(), sender).unwrap();
        let look = |follower: &mut StreamFollower| {
            let mut noted = Vec::new();
            let before = *sizes.borrow();
            let seen = follower.look(|channel, bytes| {
                assert_eq!(*sizes.borrow(), before, "nobody knows yet");
                noted.push((channel, bytes));
            });
            assert_eq!(*sizes.borrow(), seen.unwrap_or(before));
            (seen, noted)
        };
        assert_eq!(look(&mut follower), (None, vec![]));
        write(STDOUT, "four");
        let noted = vec![(Channel::Out, 4)];
        assert_eq!(look(&mut follower), (Some(grown(4, 0, false)), noted));
        write(STDOUT, ""); // what was there once was there
        write(STDERR, "six...");
        let noted = vec![(Channel::Err, 6)];
        let cut = |is_over| FileSizes {
            is_cut: true,
            ..grown(4, 6, is_over)
        };
        assert_eq!(look(&mut follower), (Some(cut(false)), noted));
        write(STDOUT, "five.");
        let noted = vec![(Channel::Out, 1)];
        let mut longer = cut(false);
        longer.stdout = 5;
        assert_eq!(look(&mut follower), (Some(longer), noted));
        follower.finish();
        longer.is_over = true;
        assert_eq!(*sizes.borrow(), longer);
    }

    #[tokio::test]
    async fn a_growth_is_not_lost_when_the_wait_is_cancelled() {
        let directory = tempfile::tempdir().unwrap();
        for name in [STDOUT, STDERR] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let (sender, _told) = watch::channel(FileSizes::default());
        let mut follower = StreamFollower::open(directory.path(), sender).unwrap();
        assert_eq!(
            follower.due().await,
            DueReason::Heartbeat,
            "the first one is at once"
        );
        follower.look(|_, _| {});
        fs::write(directory.path().join(STDOUT), "x").unwrap();
        // Waiting is broken off, most likely while it rests.
        let broken_off = timeout(Duration::ZERO, follower.due()).await;
        let growth = async { while follower.due().await != DueReason::Growth {} };
        if broken_off != Ok(DueReason::Growth) {
            timeout(Duration::from_secs(10), growth).await.unwrap();
        }
    }
}
