//! The pipes between us and an agent.

use std::io;

use lapidary_process::Stdio;
use lapidary_recording::Recorder;

pub(super) use system::{PipeReader, PipeWriter};

/// Both ends of an agent's stdin and stdout.
pub(super) struct PreparedPipes {
    pub(super) stdin: PipeWriter,
    pub(super) stdout: PipeReader,
    pub(super) stdio: Stdio,
}

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;

    use tokio::net::unix::pipe;

    use super::{PreparedPipes, Recorder, Stdio, io};
    use lapidary_recording::STDERR;

    pub(in super::super) type PipeReader = pipe::Receiver;
    pub(in super::super) type PipeWriter = pipe::Sender;

    impl PreparedPipes {
        pub(in super::super) fn new(recorder: &Recorder) -> io::Result<Self> {
            let (theirs, ours) = io::pipe()?;
            let (read, written) = io::pipe()?;
            Ok(Self {
                stdin: PipeWriter::from_owned_fd(OwnedFd::from(ours))?,
                stdout: PipeReader::from_owned_fd(OwnedFd::from(read))?,
                stdio: Stdio {
                    stdin: theirs.into(),
                    stdout: written.into(),
                    stderr: recorder.channel(STDERR)?.into(),
                },
            })
        }
    }
}

/// Anonymous pipes cannot be waited for on Windows, so this is not implemented.
#[cfg(windows)]
mod system {
    use super::{PreparedPipes, Recorder, io};

    pub(in super::super) type PipeReader = tokio::io::DuplexStream;
    pub(in super::super) type PipeWriter = tokio::io::DuplexStream;

    impl PreparedPipes {
        pub(in super::super) fn new(_: &Recorder) -> io::Result<Self> {
            let message = "ACP agents are not supported on this system yet";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }
}
