//! The pipes between us and an agent.

use std::io;

use lapidary_process::Stdio;
use lapidary_recording::Recorder;

pub(super) use system::{Reads, Writes};

/// Both ends of what an agent reads and writes.
pub(super) struct Prepared {
    pub(super) stdin: Writes,
    pub(super) stdout: Reads,
    pub(super) stdio: Stdio,
}

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;

    use tokio::net::unix::pipe;

    use super::{Prepared, Recorder, Stdio, io};
    use lapidary_recording::STDERR;

    pub(in super::super) type Reads = pipe::Receiver;
    pub(in super::super) type Writes = pipe::Sender;

    impl Prepared {
        pub(in super::super) fn new(recorder: &Recorder) -> io::Result<Self> {
            let (theirs, ours) = io::pipe()?;
            let (read, written) = io::pipe()?;
            Ok(Self {
                stdin: Writes::from_owned_fd(OwnedFd::from(ours))?,
                stdout: Reads::from_owned_fd(OwnedFd::from(read))?,
                stdio: Stdio {
                    stdin: theirs.into(),
                    stdout: written.into(),
                    stderr: recorder.channel(STDERR)?.into(),
                },
            })
        }
    }
}

/// Anonymous pipes cannot be waited for there. Nobody has needed it yet.
#[cfg(windows)]
mod system {
    use super::{Prepared, Recorder, io};

    pub(in super::super) type Reads = tokio::io::DuplexStream;
    pub(in super::super) type Writes = tokio::io::DuplexStream;

    impl Prepared {
        pub(in super::super) fn new(_: &Recorder) -> io::Result<Self> {
            let message = "ACP agents are not supported on this system yet";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }
}
