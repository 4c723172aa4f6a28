//! A program of the user's that outlives us on purpose, such as a browser. It is not an agent's, so nothing supervises it.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a program with one argument, and leaves it alone. It gets no terminal, and no signals of ours.
pub fn start_detached(program: &OsStr, argument: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}
