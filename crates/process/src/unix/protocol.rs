//! The protocol between us and the supervisor: one JSON object a line, on a socket. The first line carries the agent's stdin,
//! stdout and stderr.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{BootTime, Confinement, Exit, LandlockAbi, Stdio};

/// How many descriptors go with the first line.
const DESCRIPTORS: usize = 3;

/// The first line: what to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartOrder {
    pub(super) program: OsString, // a `PathBuf` could not be written unless it is UTF-8
    pub(super) args: Vec<OsString>,
    pub(super) directory: OsString,
    /// The process group that has the terminal, which the agent joins. None for a group of its own.
    pub(super) group: Option<i32>,
    /// The agent's confinement, if there is one.
    pub(super) confinement: Option<WireConfinement>,
    /// The moment at which the agent must be gone, if there is one.
    pub(super) lease: Option<BootTime>,
}

/// A [`Confinement`] in a form that can carry any path, and the version of Landlock to use.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireConfinement {
    write: Vec<OsString>,
    connect: Option<Vec<u16>>,
    pub(super) abi: LandlockAbi,
}

impl WireConfinement {
    pub(super) fn new(confinement: &Confinement, abi: LandlockAbi) -> Self {
        let write = confinement.write.iter();
        Self {
            write: write.map(|path| path.clone().into()).collect(),
            connect: confinement.connect.clone(),
            abi,
        }
    }

    pub(super) fn into_confinement(self) -> Confinement {
        Confinement {
            write: self.write.into_iter().map(Into::into).collect(),
            connect: self.connect,
        }
    }
}

/// The lines after it: what to do. The end of the socket means [`SupervisorOrder::Kill`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorOrder {
    /// Ask the agent to end; after the grace end it and everything it started.
    Stop { grace_ms: u64 },
    /// End everything at once.
    Kill,
    /// The lease ends at this moment now.
    Lease { until: BootTime },
}

/// The supervisor's reports, in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorReport {
    /// The agent runs.
    Started { pid: i32 },
    /// The agent could not be started: the number of the error.
    Refused { errno: i32 },
    /// The agent was not started, because it could not be confined.
    NotConfined { reason: String },
    /// The lease has ended: nothing is started, or everything is ended.
    LeaseOver,
    /// The agent was stopped, by Ctrl-Z or its like. Only where it has the terminal.
    Stopped,
    /// The agent ended. Processes that it started may still run.
    Exited(Exit),
    /// Nothing is left. This many had outlived the agent, and this many could not be ended.
    Gone { leftover: u32, immortal: u32 },
}

/// A message as a line.
pub(super) fn message_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("our own messages can be written as JSON");
    line.push(b'\n');
    line
}

/// A line as a message. A line that makes no sense is as good as none.
pub(super) fn read_message<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// Sends the first line with the three descriptors.
pub(super) fn send_start(socket: impl AsFd, start: &StartOrder, stdio: &Stdio) -> io::Result<()> {
    let line = message_line(start);
    let descriptors = [
        stdio.stdin.as_fd(),
        stdio.stdout.as_fd(),
        stdio.stderr.as_fd(),
    ];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let mut sent = sendmsg(
        &socket,
        &[IoSlice::new(&line)],
        &mut ancillary,
        SendFlags::empty(),
    )?;
    while sent < line.len() {
        sent += rustix::io::write(&socket, &line[sent..])?;
    }
    Ok(())
}

/// Receives what [`send_start`] sent.
pub(super) fn receive_start(socket: impl AsFd) -> io::Result<(StartOrder, Stdio)> {
    let mut line = Vec::new();
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while !line.ends_with(b"\n") {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut chunk)];
        let received = recvmsg(&socket, &mut parts, &mut ancillary, RecvFlags::empty())?;
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                for fd in fds {
                    // They are for the agent's 0, 1 and 2, and for nothing else of its. Not every system can do that on receipt.
                    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
                    descriptors.push(fd);
                }
            }
        }
        line.extend_from_slice(&chunk[..received.bytes]);
    }
    let start = read_message(&line).ok_or(io::ErrorKind::InvalidData)?;
    let [stdin, stdout, stderr] =
        <[OwnedFd; DESCRIPTORS]>::try_from(descriptors).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((
        start,
        Stdio {
            stdin,
            stdout,
            stderr,
        },
    ))
}
