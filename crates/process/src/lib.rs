//! The only place that starts processes.
//!
//! An agent is not our child but our supervisor's: this program, executed again (see [`supervisor`]), which becomes a child
//! subreaper, starts the agent and holds a socket from us. The supervisor notices when we are gone, and ends the agent and
//! everything that it started. Killing the process group would not do: Gemini CLI runs shell commands in sessions of their own.
//!
//! On Windows there is no such process: the agent is our child, in a job object that ends with us.
//!
//! ```no_run
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use lapidary_process::{Command, Stdio, Supervisor};
//!
//! let mut command = Command::new("gemini", "/home/me/project");
//! command.args(["--version"]);
//! let mut agent = Supervisor::at("/usr/local/bin/lapidary").start(command, Stdio::null()?).await?;
//! let exit = agent.wait().await;
//! # Ok(()) }
//! ```

mod command;
mod confinement;
mod detached;
mod ending;
mod kill_timeout;
mod landlock;
mod lease;
pub mod platform;
mod short_command;
pub mod signals;
pub mod stop;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use command::{Command, Stdio, Supervisor};
pub use confinement::{Confinement, LandlockAbi};
pub use detached::start_detached;
pub use ending::{Exit, StartError, TreeExit, enter};
pub use kill_timeout::KillTimeout;
pub use lease::{BootTime, Lease};
pub use short_command::{CapturedOutput, CommandEnd, FinishedCommand, MARK, ShortCommand};
use system::{NULL, copied};
pub use system::{
    Running, StdioHandle, ancestor_values, is_alive, marked, stdio_bridge, supervisor,
};
