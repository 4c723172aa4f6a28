//! A recording, played back: the same bytes on the same channels at the same times, and then the same end.
//!
//! A [`Replay`] writes to its outputs without reading. A [`Dialogue`] is a recording of an ACP agent, and talks to a client. An
//! [`OpenRecording`] is read, and not played.
//!
//! Everything is checked before the first byte is played. How the process that plays it ends is its own business:
//! [`Replay::exit`] says how it should.
//!
//! ```
//! use lapidary_process::Exit;
//! use lapidary_recording::replay::{ReplayPace, RecordingParts, Replay};
//!
//! let replay = Replay::from_parts(RecordingParts {
//!     manifest: r#"{"schema":"lapidary.recording/1","run":"r","agent":"a","transport":"unknown","argv":[],
//!         "environment":[],"directory":"/","startedAt":"","end":{"durationMs":2000,"exitCode":42}}"#,
//!     timing: "1000.000 out 3\n1500.000 err 4\n",
//!     stdout: b"one",
//!     stderr: b"oops",
//! })?;
//! assert_eq!(replay.exit(), Some(Exit::Code(42)));
//!
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! replay.play(ReplayPace::AtOnce, &mut out, &mut err)?;
//! assert_eq!((out.as_slice(), err.as_slice()), (&b"one"[..], &b"oops"[..]));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod check;
mod dialogue;
mod message;
mod opened;
mod script;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub use check::ReplayError;
pub use dialogue::{Dialogue, DialogueStage, ReplayRate};
pub use opened::OpenRecording;

use crate::{Channel, MANIFEST, STDERR, STDOUT, TIMING, Timing};
use lapidary_process::Exit;

/// A recording that was found to be in order.
#[derive(Debug)]
pub struct Replay {
    timing: Timing,
    stdout: ChannelSource,
    stderr: ChannelSource,
    duration: Duration,
    exit: Option<Exit>,
}

/// The files of a recording that is part of a program.
#[derive(Debug, Clone, Copy)]
pub struct RecordingParts {
    /// `run.json`.
    pub manifest: &'static str,
    /// `timing`.
    pub timing: &'static str,
    /// `stdout`.
    pub stdout: &'static [u8],
    /// `stderr`.
    pub stderr: &'static [u8],
}

/// How fast a recording is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplayPace {
    /// So many times as fast as it was. 1 is as it was.
    Times(f64),
    /// Without waiting.
    AtOnce,
}

impl ReplayPace {
    /// The time in the replay of a moment of the recording.
    fn scaled_time(self, then: Duration) -> Duration {
        match self {
            Self::Times(speed) => Duration::try_from_secs_f64(then.as_secs_f64() / speed)
                // Slower than time can tell.
                .unwrap_or(Duration::MAX),
            Self::AtOnce => Duration::ZERO,
        }
    }
}

impl Replay {
    /// Opens a recording, named by its directory or its `run.json`, or a file with an agent's saved stdout. Such a file has no
    /// timing, and its agent is taken to have exited with 0.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let metadata = fs::metadata(path).map_err(|source| ReplayError::from_read(path, source))?;
        if metadata.is_dir() {
            return Self::from_directory(path);
        }
        if path.file_name().is_some_and(|name| name == MANIFEST) {
            return Self::from_directory(path.parent().unwrap_or(Path::new("")));
        }
        let file = File::open(path).map_err(|source| ReplayError::from_read(path, source))?;
        Ok(Self {
            timing: Timing::default(),
            stdout: ChannelSource::new(file),
            stderr: ChannelSource::new(io::empty()),
            duration: Duration::ZERO,
            exit: Some(Exit::Code(0)),
        })
    }

    fn from_directory(directory: &Path) -> Result<Self, ReplayError> {
        let manifest = check::read_text(&directory.join(MANIFEST))?;
        let timing = check::read_text(&directory.join(TIMING))?;
        let (stdout, stdout_size) = check::open(&directory.join(STDOUT))?;
        let (stderr, stderr_size) = check::open(&directory.join(STDERR))?;
        let checked = check::CheckedTexts {
            place: directory.to_owned(),
            manifest: &manifest,
            timing: &timing,
            stdin: None,
            stdout: stdout_size,
            stderr: stderr_size,
            reads_newer: false,
        };
        checked.checked_replay(ChannelSource::new(stdout), ChannelSource::new(stderr))
    }

    /// A recording that is part of a program.
    pub fn from_parts(parts: RecordingParts) -> Result<Self, ReplayError> {
        let checked = check::CheckedTexts {
            place: PathBuf::new(),
            manifest: parts.manifest,
            timing: parts.timing,
            stdin: None,
            stdout: parts.stdout.len() as u64,
            stderr: parts.stderr.len() as u64,
            reads_newer: false,
        };
        checked.checked_replay(
            ChannelSource::new(parts.stdout),
            ChannelSource::new(parts.stderr),
        )
    }

    /// How the agent ended. None if that was never recorded, because the recording process was killed.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Plays it to its end. Each piece is flushed. Times count from now, so that a slow reader delays only the pieces that it
    /// blocks itself.
    pub fn play(
        self,
        pace: ReplayPace,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<()> {
        block_on(self.play_timed(pace, out, err))
    }

    /// The same, by the clock of the runtime.
    pub async fn play_timed<O: Write + ?Sized, E: Write + ?Sized>(
        mut self,
        pace: ReplayPace,
        out: &mut O,
        err: &mut E,
    ) -> io::Result<()> {
        let started = Instant::now();
        for moment in &self.timing.0 {
            wait_until(started, pace.scaled_time(moment.at)).await;
            match moment.channel {
                Channel::In => {}
                Channel::Out => self.stdout.play_bytes(moment.bytes, out)?,
                // An agent goes on if its stderr is closed.
                Channel::Err => drop(self.stderr.play_bytes(moment.bytes, err)),
            }
        }
        // The bytes after the last timing entry, and all of a file with a saved stdout.
        let _ = self.stderr.play_bytes(u64::MAX, err);
        self.stdout.play_bytes(u64::MAX, out)?;
        wait_until(started, pace.scaled_time(self.duration)).await;
        Ok(())
    }
}

async fn wait_until(started: Instant, at: Duration) {
    let left = at.saturating_sub(started.elapsed());
    if !left.is_zero() {
        sleep(left).await;
    }
}

/// Plays in a thread that waits for nothing else.
fn block_on<T>(play: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build()?.block_on(play)
}

/// The source of one channel.
struct ChannelSource(Box<dyn Read + Send>);

impl ChannelSource {
    fn new(reader: impl Read + Send + 'static) -> Self {
        Self(Box::new(reader))
    }

    fn play_bytes<W: Write + ?Sized>(&mut self, bytes: u64, to: &mut W) -> io::Result<()> {
        io::copy(&mut self.0.by_ref().take(bytes), to)?;
        to.flush()
    }
}

impl fmt::Debug for ChannelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}
