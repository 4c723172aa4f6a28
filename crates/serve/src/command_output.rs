//! Requests that run a command of the command line and respond with its output: all that only read, and all about a fleet.
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
use lapidary::Event;
use lapidary::render::html::{FragmentWriter, TranscriptFacts};
use lapidary::wire::lines::{LineBuffer, RawLine};
use serde_json::json;
use tokio::sync::mpsc;

use crate::event_encoder::facts_json;
use crate::problem::HttpProblem;
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
) -> Result<Response, HttpProblem> {
    let (first, pieces) = output_of(runner, args).await?;
    Ok(with_kind(kind, body_of(first, pieces)))
}

/// The longest list that is read whole, in bytes.
const LONGEST_LIST: usize = 256 << 20;

/// The whole output of a command.
pub(crate) async fn collect(
    runner: &Arc<dyn CommandRunner>,
    args: Vec<String>,
) -> Result<Vec<u8>, HttpProblem> {
    let (first, mut pieces) = output_of(runner, args).await?;
    let mut whole = first.map(Vec::from).unwrap_or_default();
    while let Some(piece) = pieces.recv().await {
        if whole.len() + piece.len() > LONGEST_LIST {
            return Err(HttpProblem::internal("the list is too long"));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// The response of a command that prints events: blocks of the transcript, one JSON per line.
pub(crate) async fn respond_blocks(
    runner: &Arc<dyn CommandRunner>,
    args: Vec<String>,
    mut writer: FragmentWriter,
) -> Result<Response, HttpProblem> {
    let (first, mut pieces) = output_of(runner, args).await?;
    let (sender, blocks) = mpsc::channel(2);
    tokio::spawn(async move {
        let mut lines = LineBuffer::default();
        let mut facts = TranscriptFacts::default();
        let mut piece = first;
        while let Some(bytes) = piece {
            lines.push(&bytes);
            while let Some(line) = lines.next_line() {
                push_line(&mut writer, line);
            }
            if !send_blocks(&mut writer, &mut facts, &sender).await {
                return;
            }
            piece = pieces.recv().await;
        }
        send_blocks(&mut writer, &mut facts, &sender).await;
    });
    Ok(with_kind("application/x-ndjson", body_of(None, blocks)))
}

/// Our own events are read back as they were written; a line that is none has nothing to show.
fn push_line(writer: &mut FragmentWriter, line: RawLine<'_>) {
    let RawLine::Whole(bytes) = line else { return };
    let text = std::str::from_utf8(bytes).ok();
    if let Some(event) = text.and_then(|text| Event::from_json(text).ok()) {
        writer.push(&event);
    }
}

/// Sends the blocks and the facts that have changed. False if the client is gone.
async fn send_blocks(
    writer: &mut FragmentWriter,
    sent: &mut TranscriptFacts,
    sender: &mpsc::Sender<Bytes>,
) -> bool {
    let changed = writer.take_changed().into_iter();
    let lines = changed.map(|it| format!("{}\n", json!({"block": it.block, "html": it.html})));
    let mut text: String = lines.collect();
    let facts = writer.facts();
    if facts != *sent {
        let line = json!({"facts": facts_json(&facts)}).to_string();
        text.extend([line.as_str(), "\n"]);
        *sent = facts;
    }
    text.is_empty() || sender.send(text.into()).await.is_ok()
}

/// Runs a command. Its output begins with the first piece; a command that prints nothing has failed, or has nothing to say.
async fn output_of(
    runner: &Arc<dyn CommandRunner>,
    args: Vec<String>,
) -> Result<(Option<Bytes>, mpsc::Receiver<Bytes>), HttpProblem> {
    let failed =
        |error: std::io::Error| HttpProblem::internal(format!("cannot run the command: {error}"));
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
    let first = pieces.recv().await;
    if first.is_none() {
        match command.await.unwrap_or(1) {
            0 => {}
            exit => return Err(problem_of(exit, &mut stderr)),
        }
    }
    Ok((first, pieces))
}

fn with_kind(kind: &'static str, body: Body) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// The command's message and hint. Exit code 2 is wrong usage, 13 is input that it cannot use.
fn problem_of(exit: u8, stderr: &mut File) -> HttpProblem {
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
    let problem = HttpProblem::new(status, detail);
    match of_kind("hint: ") {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
