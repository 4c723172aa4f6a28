//! Recording any program, with any protocol and any client.
//!
//! The program's stdin is passed on to it and recorded on the way. Its stdout and stderr are the recording's own files, so a slow
//! reader never blocks it; the files are followed and handed on as they grow.
//!
//! ```no_run
//! # fn demo(request: lapidary_recording::record::CaptureRequest, input: std::fs::File) -> Result<(), lapidary_recording::record::TakeError> {
//! use lapidary_recording::record::RunningCapture;
//!
//! let mut take = RunningCapture::start(request, input);
//! while let Some(piece) = take.blocking_next() {
//!     // pass it on
//! }
//! let taken = take.finish()?;
//! # Ok(()) }
//! ```

mod input;
mod tape;
mod watch;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use lapidary_process::platform::is_full;
use lapidary_process::signals;
use lapidary_process::stop::{self, StopHandle, StopLevel};
use lapidary_process::{Command, Exit, StartError, Stdio, Supervisor};
use lapidary_vocab::recording::SCHEMA;
use tokio::sync::{mpsc, watch as value};

use crate::follow::{FileSizes, StreamFollower};
use crate::{
    Manifest, RecordError, RecordedEnd, Recorder, RecordingOptions, STDERR, STDIN, STDOUT, UNKNOWN,
    fresh_run, spoken,
};
use tape::SharedTape;
use watch::{CaptureWatch, OutputCopier};

/// How many pieces may wait for a slow reader. More wait in the recording itself.
const PIECES: usize = 4;

/// The program to record, and where.
#[derive(Debug, Clone)]
pub struct CaptureRequest {
    /// The name of the recording.
    pub run: String,
    /// The name of the program.
    pub agent: String,
    /// How it is started.
    pub command: Command,
    /// The program that supervises it.
    pub supervisor: Supervisor,
    /// Where it is recorded, and how much of it.
    pub records: RecordingOptions,
    /// How long it has between being asked to end and being ended.
    pub grace: Duration,
}

/// Bytes that the program wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturedPiece {
    /// To stdout.
    Out(Vec<u8>),
    /// To stderr.
    Err(Vec<u8>),
}

/// The result of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureResult {
    /// Where the recording is.
    pub directory: PathBuf,
    /// How the program ended. Unknown if its supervisor was lost.
    pub exit: Option<Exit>,
    /// Why we ended it, if no stop was requested.
    pub ended_because: Option<String>,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// The recording cannot be begun.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The program cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The recording's files or the program's pipes cannot be made.
    #[error("cannot record")]
    Files(#[from] io::Error),
}

/// A recording that is being made. Dropping it ends the program.
#[derive(Debug)]
pub struct RunningCapture {
    pieces: mpsc::Receiver<CapturedPiece>,
    stopper: StopHandle,
    /// None only after [`RunningCapture::finish`].
    thread: Option<JoinHandle<Result<CaptureResult, TakeError>>>,
}

impl RunningCapture {
    /// Starts the program and passes `input` on to it. Reading that cannot be interrupted: a thread waits for it until it ends, even
    /// if the program ends before.
    pub fn start(request: CaptureRequest, input: File) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES);
        let (stopper, stops) = stop::channel();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(take_capture(request, input, stops, sender))
        };
        let name = "lapidary-record".to_owned();
        Self {
            pieces,
            stopper,
            thread: thread::Builder::new().name(name).spawn(body).ok(),
        }
    }

    /// The next bytes of the program, or none after its end.
    pub fn blocking_next(&mut self) -> Option<CapturedPiece> {
        self.pieces.blocking_recv()
    }

    /// A handle that ends the program from another thread.
    pub fn stopper(&self) -> StopHandle {
        self.stopper.clone()
    }

    /// Waits for the end. Bytes that were not read until now are recorded all the same.
    pub fn finish(mut self) -> Result<CaptureResult, TakeError> {
        self.pieces.close();
        let thread = self.thread.take();
        let taken = thread.and_then(|thread| thread.join().ok());
        taken.unwrap_or_else(|| Err(io::Error::other("its thread could not be run").into()))
    }
}

impl Drop for RunningCapture {
    fn drop(&mut self) {
        self.stopper.kill();
    }
}

async fn take_capture(
    mut request: CaptureRequest,
    input: File,
    stops: value::Receiver<StopLevel>,
    pieces: mpsc::Sender<CapturedPiece>,
) -> Result<CaptureResult, TakeError> {
    // Not the recording's name, which another recording in another directory may have, too.
    request.command.mark("LAPIDARY_RUN", fresh_run());
    let records = &request.records;
    // Whether old recordings could be cleaned up is no concern of this one.
    let _ = crate::prune(&records.root, records.limits, SystemTime::now());
    let recorder = Recorder::begin(&records.root, &request.run)?;
    let directory = recorder.directory().to_owned();
    let taken = supervised_capture(&request, recorder, input, stops, pieces).await;
    if taken.is_err() {
        // There is nothing in it.
        let _ = std::fs::remove_dir_all(directory);
    }
    taken
}

async fn supervised_capture(
    request: &CaptureRequest,
    recorder: Recorder,
    input: File,
    stops: value::Receiver<StopLevel>,
    pieces: mpsc::Sender<CapturedPiece>,
) -> Result<CaptureResult, TakeError> {
    let mut manifest = capture_manifest(request);
    recorder.describe(&manifest)?;
    let directory = recorder.directory().to_owned();
    let (source, feed) = io::pipe()?;
    let stdio = Stdio {
        stdin: source.into(),
        stdout: recorder.channel(STDOUT)?.into(),
        stderr: recorder.channel(STDERR)?.into(),
    };
    let copy = recorder.channel(STDIN)?;
    let copier = OutputCopier::new(&directory, pieces)?;
    let running = request.supervisor.start(request.command.clone(), stdio);
    let running = running.await?;
    let tape = SharedTape::new(recorder, request.records.max_output);
    input::pass_on(input, copy, feed, tape.clone())?;
    let (grown, growing) = value::channel(FileSizes::default());
    let follower = StreamFollower::open(&directory, grown)?;
    let watch = CaptureWatch::new(running, tape.clone(), follower, request.grace);
    let (ended, ()) = tokio::join!(watch.until_the_end(stops), copier.follow_output(growing));
    if is_full(&directory) {
        tape.note_error(&io::ErrorKind::StorageFull.into());
    }
    let exit = ended.exit;
    manifest.end = Some(recorded_end(tape.elapsed_time(), exit));
    if let Some(transport) = spoken(&directory) {
        transport.clone_into(&mut manifest.transport);
    }
    // A recording that cannot be completed is still all that the program wrote.
    let _ = tape.write_manifest(&manifest);
    Ok(CaptureResult {
        directory,
        exit,
        ended_because: tape.first_problem(),
    })
}

fn capture_manifest(request: &CaptureRequest) -> Manifest {
    Manifest {
        schema: SCHEMA.to_owned(),
        writer: Manifest::this_build(),
        run: request.run.clone(),
        agent: request.agent.clone(),
        provider: None,
        transport: UNKNOWN.to_owned(), // until it has spoken
        argv: request.command.argv(),
        environment: request.command.environment_names(),
        directory: request.command.directory().display().to_string(),
        on_denied: None,
        confinement: None,
        may_retry: false,
        started_at: format!("{:.3}", jiff::Timestamp::now()),
        end: None,
    }
}

fn recorded_end(duration: Duration, exit: Option<Exit>) -> RecordedEnd {
    let (agent_exit_code, signal) = match exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(number)) => (None, Some(signals::name(number))),
        None => (None, None),
    };
    RecordedEnd {
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        agent_exit_code,
        signal,
        ..RecordedEnd::default()
    }
}
