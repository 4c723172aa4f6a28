//! Requests that only read: the command of the command line that answers them, its output as the response.
//!
//! A command runs on a thread of its own and writes into a pipe, so a long list is streamed, and a client that does not read holds up
//! only its own command.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::problem::Problem;
use crate::watcher::body_of;

/// Bytes of one piece of a response.
const PIECE: usize = 64 << 10;

/// The longest text that a command may write to stderr and that is passed on.
const LONGEST_MESSAGE: u64 = 16 << 10;

/// One call of a command.
#[derive(Debug)]
pub struct CommandCall {
    /// The arguments behind the program's name.
    pub args: Vec<String>,
    /// Standard input: empty.
    pub stdin: File,
    /// Standard output: a pipe.
    pub stdout: File,
    /// Standard error: a file.
    pub stderr: File,
}

/// Runs commands of `lapidary` in this process. Returns the exit code.
pub trait CommandRunner: Send + Sync + std::fmt::Debug {
    /// Runs one command to its end.
    fn run_command(&self, call: CommandCall) -> u8;
}

/// The response of a command: its stdout, or a problem with the words of its stderr.
pub(crate) async fn respond(
    runner: &Arc<dyn CommandRunner>,
    kind: &'static str,
    args: Vec<String>,
) -> Result<Response, Problem> {
    let failed = |error: std::io::Error| Problem::internal(format!("cannot run the command: {error}"));
    let (mut output, stdout) = std::io::pipe().map_err(failed)?;
    let mut stderr = tempfile::tempfile().map_err(failed)?;
    let call = CommandCall {
        args,
        stdin: File::open("/dev/null").map_err(failed)?,
        stdout: File::from(std::os::fd::OwnedFd::from(stdout)),
        stderr: stderr.try_clone().map_err(failed)?,
    };
    let (sender, mut pieces) = mpsc::channel::<Bytes>(2);
    let runner = Arc::clone(runner);
    let command = tokio::task::spawn_blocking(move || runner.run_command(call));
    tokio::task::spawn_blocking(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(read @ 1..) = output.read(&mut piece) {
            let sent = sender.blocking_send(Bytes::copy_from_slice(&piece[..read]));
            if sent.is_err() {
                return; // the client is gone: the command ends at its next write
            }
        }
    });
    let Some(first) = pieces.recv().await else {
        let exit = command.await.unwrap_or(1);
        return match exit {
            0 => Ok(with_kind(kind, Body::empty())),
            _ => Err(problem_of(exit, &mut stderr)),
        };
    };
    Ok(with_kind(kind, body_of(Some(first), pieces)))
}

fn with_kind(kind: &'static str, body: Body) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// The command's message and hint. Exit code 2 is wrong usage, 13 is input that it cannot use.
fn problem_of(exit: u8, stderr: &mut File) -> Problem {
    use std::io::{Seek as _, SeekFrom};
    let mut text = String::new();
    let _ = stderr.seek(SeekFrom::Start(0));
    let _ = stderr.take(LONGEST_MESSAGE).read_to_string(&mut text);
    let of_kind = |kind: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(kind)?.to_owned()))
    };
    let status = match exit {
        2 => StatusCode::BAD_REQUEST,
        13 => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let detail = of_kind("error: ").unwrap_or_else(|| format!("the command failed ({exit})"));
    let problem = Problem::new(status, detail);
    match of_kind("hint: ") {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
