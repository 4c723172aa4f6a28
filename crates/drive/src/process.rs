//! The only place that starts processes.
//!
//! An agent is not our child but our supervisor's: this program, executed again (see [`supervisor`]), which becomes a child
//! subreaper, starts the agent and holds a socket from us. Whatever happens to us, the supervisor notices, and ends the agent and
//! everything that it started. Killing the process group would not do: Gemini CLI runs shell commands in sessions of their own.
//!
//! ```no_run
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use lapidary_drive::process::{Command, Stdio, Supervisor};
//!
//! let mut command = Command::new("gemini", "/home/me/project");
//! command.args(["--version"]);
//! let mut agent = Supervisor::at("/usr/local/bin/lapidary").start(command, Stdio::null()?).await?;
//! let exit = agent.wait().await;
//! # Ok(()) }
//! ```

mod command;
mod protocol;
mod running;
pub mod supervisor;
mod tree;

use std::ffi::OsStr;

use rustix::process::{Pid, test_kill_process};

pub use command::{Command, Stdio, Supervisor};
pub use protocol::Exit;
pub use running::{Ended, Running, StartError};

/// The processes that carry a [mark](Command::mark), where the environment of others can be seen: on Linux.
pub fn marked(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Vec<i32> {
    let mark = (name.as_ref().to_owned(), value.as_ref().to_owned());
    let found = tree::marked(&mark);
    found
        .into_iter()
        .map(|pid| pid.as_raw_nonzero().get())
        .collect()
}

/// Whether there is a process of this id, be it somebody else's by now.
pub fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}
