//! Supervision on Unix: a process of ours between us and the agent, which hears of our end through a socket.

mod protocol;
mod running;
pub mod supervisor;
mod tree;

use std::os::fd::OwnedFd;

pub use running::Running;

/// What a program's input or output is to the system.
pub type Handle = OwnedFd;

/// What is always empty, and takes everything.
pub(super) const NULL: &str = "/dev/null";
