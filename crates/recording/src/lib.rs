//! A run as files: every byte the agent wrote and when, its command line, and its end.
//!
//! A recording is a directory:
//!
//! | file | content |
//! |---|---|
//! | `run.json` | the manifest ([`Manifest`]): arguments, names of the environment, directory, end |
//! | `stdin` | the agent's input |
//! | `stdout`, `stderr` | its output, byte for byte: these files *are* its stdout and stderr |
//! | `inserted` | the events that Lapidary added, with their places between the lines: see [`InsertedEvent`] |
//! | `session-log` | the records used from the agent's own log, if any: one line for each tool call |
//! | `timing` | one line for each time that one of them had grown: milliseconds since the start, `in`, `out` or `err`, how many bytes |
//!
//! `in 0` says that the client closed the agent's stdin then. A recording need not have it.
//!
//! The agent writes into the files itself, so they are complete even if we are killed, and at any speed of their readers.

mod find;
pub mod follow;
mod inserted;
mod keep;
mod lines;
mod listed_run;
mod listing;
mod listing_cache;
mod manifest_facts;
mod options;
mod policy_file;
mod prompt;
pub mod record;
pub mod replay;
mod run_id;
mod side_directory;
mod spoken;
mod timing;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub use find::{FindRunError, LATEST, RunName, find_run};
pub use inserted::{InsertedEvent, InsertedReader, InsertedWriter};
pub use keep::{ExpiredRun, KeepLimits, RetentionPlan, is_running, prune, sweep};
pub use lapidary_vocab::recording::{CostBasis, RecordedEnd, Recording as Manifest};
pub use lines::{LineReading, LineSide, ReadLineError, RecordedLine, RecordedLines};
pub use listed_run::ListedRun;
pub use listing::{ListingMode, list_runs, read_run};
pub use options::RecordingOptions;
pub use policy_file::PolicyFile;
pub use prompt::PromptDirectory;
pub use run_id::fresh_run;
pub use side_directory::SideDirectory;
pub use spoken::{ACP, UNKNOWN, spoken};
pub use timing::{Channel, Timing, TimingEntry, TimingError, TimingReader, time_of};

use lapidary_process::platform::{private_directory, private_file_options};

/// The manifest.
pub const MANIFEST: &str = "run.json";
/// The agent's input.
pub const STDIN: &str = "stdin";
/// The agent's output.
pub const STDOUT: &str = "stdout";
/// The agent's standard error.
pub const STDERR: &str = "stderr";
/// The records used from the agent's own session log.
pub const SESSION_LOG: &str = "session-log";
/// The events that Lapidary added.
pub const INSERTED: &str = "inserted";
/// When it did.
pub const TIMING: &str = "timing";
/// A prompt that was too long for stdin, in a directory of its own.
pub const PROMPT: &str = "prompt.md";
/// The suffix of that directory's name, behind the id of the run.
pub const PROMPT_ENDING: &str = ".prompt";

/// Why a recording could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The id would leave the directory, or hide in it.
    #[error(
        "`{run}` cannot name a recording: at most 128 letters, digits, `-`, `_` and `.` can, and it must not begin with `.`"
    )]
    Name {
        /// The run's id.
        run: String,
    },
    /// There is one of this name.
    #[error("there is a recording of `{run}` already")]
    Exists {
        /// The run's id.
        run: String,
    },
    /// The files cannot be made.
    #[error("cannot record in `{directory}`")]
    Write {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A recording that is being made. Its lock keeps others from cleaning it up.
#[derive(Debug)]
pub struct Recorder {
    directory: PathBuf,
    timing: File,
    started: Instant,
    started_at: Timestamp,
}

/// Shares the lock of a [`Recorder`].
#[derive(Debug)]
pub struct RecordingHold(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Recorder {
    /// Begins a recording called `run` below `root`.
    pub fn begin(root: &Path, run: &str) -> Result<Self, RecordError> {
        if !is_name(run) {
            let run = run.to_owned();
            return Err(RecordError::Name { run });
        }
        let directory = root.join(run);
        let failed = |source| RecordError::Write {
            directory: directory.clone(),
            source,
        };
        private_directories(root).map_err(failed)?;
        match private_directory().create(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let run = run.to_owned();
                return Err(RecordError::Exists { run });
            }
            made => made.map_err(failed)?,
        }
        let timing = private_file(&directory.join(TIMING)).map_err(failed)?;
        timing.try_lock().map_err(|error| failed(error.into()))?;
        Ok(Self {
            directory,
            timing,
            started: Instant::now(),
            started_at: now_in_milliseconds(),
        })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Holds the lock of the recording longer than the recorder lives: until the end of the run is written.
    pub fn hold(&self) -> io::Result<RecordingHold> {
        self.timing.try_clone().map(RecordingHold)
    }

    /// How long it has been going on, as exact as `timing` tells it.
    pub fn elapsed(&self) -> Duration {
        let micros = self.started.elapsed().as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// When it began, as exact as the manifest tells it.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The file for one of the agent's channels, empty.
    pub fn channel(&self, name: &str) -> io::Result<File> {
        private_file(&self.directory.join(name))
    }

    /// The agent's input: everything is there before it starts, so it never waits.
    pub fn input(&mut self, bytes: &[u8]) -> io::Result<File> {
        let path = self.directory.join(STDIN);
        private_file(&path)?.write_all(bytes)?;
        if !bytes.is_empty() {
            self.note(Channel::In, bytes.len() as u64)?;
        }
        File::open(path)
    }

    /// Notes that a channel has grown by so many bytes.
    pub fn note(&mut self, channel: Channel, bytes: u64) -> io::Result<()> {
        let moment = TimingEntry {
            at: self.elapsed(),
            channel,
            bytes,
        };
        self.note_all(&[moment])
    }

    /// Notes several moments at once.
    pub fn note_all(&mut self, moments: &[TimingEntry]) -> io::Result<()> {
        let lines: String = moments.iter().map(TimingEntry::to_string).collect();
        self.timing.write_all(lines.as_bytes())
    }

    /// Writes the manifest, whole or not at all.
    pub fn describe(&self, manifest: &Manifest) -> io::Result<()> {
        describe(&self.directory, manifest)
    }

    /// Deletes it.
    pub fn discard(self) -> io::Result<()> {
        fs::remove_dir_all(&self.directory)
    }
}

fn now_in_milliseconds() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Writes the manifest of the recording in a directory.
pub fn describe(directory: &Path, manifest: &Manifest) -> io::Result<()> {
    let text = format!("{:#}\n", serde_json::to_value(manifest)?);
    let fresh = directory.join(".run.json");
    whole_file(&fresh)?.write_all(text.as_bytes())?;
    fs::rename(fresh, directory.join(MANIFEST))
}

/// True if a text may be the name of a recording's directory.
pub fn is_name(run: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=128).contains(&run.len()) && !run.starts_with('.') && run.chars().all(is_plain)
}

/// Agents append: two of them that share the file must not write over each other.
pub fn private_file(path: &Path) -> io::Result<File> {
    let mut options = private_file_options();
    options.append(true).create(true).open(path)
}

/// A file that is written in one piece, over the file of an earlier attempt.
fn whole_file(path: &Path) -> io::Result<File> {
    let mut options = private_file_options();
    options.write(true).truncate(true).create(true).open(path)
}

/// A file that was not there before.
pub fn fresh_file(path: &Path) -> io::Result<File> {
    let mut options = private_file_options();
    options.write(true).create_new(true).open(path)
}

/// Makes a directory, and those above it that are missing, for the user alone.
pub fn private_directories(path: &Path) -> io::Result<()> {
    private_directory().recursive(true).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_replaces_the_remains_of_one_that_could_not_be_written() {
        let root = tempfile::tempdir().unwrap();
        let recorder = Recorder::begin(root.path(), "run").unwrap();
        fs::write(
            recorder.directory().join(".run.json"),
            "{ \"schema\": \"lapi",
        )
        .unwrap();
        let manifest = Manifest {
            schema: "s".to_owned(),
            writer: Manifest::this_build(),
            run: "run".to_owned(),
            agent: "gemini".to_owned(),
            provider: None,
            transport: "json".to_owned(),
            argv: Vec::new(),
            environment: Vec::new(),
            directory: "/".to_owned(),
            on_denied: None,
            confinement: None,
            may_retry: false,
            started_at: "now".to_owned(),
            end: None,
        };
        recorder.describe(&manifest).unwrap();
        let text = fs::read(recorder.directory().join(MANIFEST)).unwrap();
        assert_eq!(serde_json::from_slice::<Manifest>(&text).unwrap(), manifest);
    }
}
