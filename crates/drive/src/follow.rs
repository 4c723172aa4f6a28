//! Noticing that files grow, as soon as they do.

use std::io;
use std::path::Path;
use std::time::Duration;

/// How often files are looked at where the system does not tell.
const POLL: Duration = Duration::from_millis(20);

/// Tells when one of some files may have grown.
#[derive(Debug)]
pub(crate) struct Growth {
    #[cfg(target_os = "linux")]
    notices: Option<inotify::Notices>,
}

impl Growth {
    /// Watches files that exist.
    pub(crate) fn of(files: &[&Path]) -> Self {
        #[cfg(target_os = "linux")]
        return Self {
            // The system allows few of these at a time (128 by default), and some file systems have none.
            notices: inotify::Notices::of(files).ok(),
        };
        #[cfg(not(target_os = "linux"))]
        {
            let _ = files;
            Self {}
        }
    }

    /// Waits until something may have grown. Can be cancelled.
    pub(crate) async fn happened(&mut self) {
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

#[cfg(target_os = "linux")]
mod inotify {
    use std::os::fd::OwnedFd;

    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    use tokio::io::unix::AsyncFd;

    use super::{Path, io};

    #[derive(Debug)]
    pub(super) struct Notices(AsyncFd<OwnedFd>);

    impl Notices {
        pub(super) fn of(files: &[&Path]) -> io::Result<Self> {
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

        /// Takes all that have come, whatever they say.
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
