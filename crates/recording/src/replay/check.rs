//! Is a recording in order? If not: where is it not?

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_vocab::Outcome;
use lapidary_vocab::recording::SCHEMA;

use super::{ChannelSource, Replay};
use crate::{
    ACP, Channel, MANIFEST, Manifest, ReadLineError, RecordedEnd, STDERR, STDIN, STDOUT, Timing,
    TimingError, UNKNOWN,
};
use lapidary_process::Exit;
use lapidary_process::signals;

/// A manifest or a timing is shorter. The longest timing that makes sense is of a run that wrote without a pause for two hours.
const LONGEST: u64 = 64 * 1024 * 1024;

/// How the `schema` of every version begins.
const SCHEMA_FAMILY: &str = "lapidary.recording/";

/// Why a recording cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A file of it is not there, or cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of it goes on and on.
    #[error("`{}` is too long: {LONGEST} bytes are the most", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The manifest is no manifest.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The problem.
        problem: String,
    },
    /// The manifest is of another version.
    #[error("{}: `schema` is {found:?}; this version can replay `{SCHEMA}`", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its value.
        found: String,
    },
    /// The manifest tells of an end that no process has.
    #[error("{}: {end} is not a valid process end", path.display())]
    End {
        /// The file.
        path: PathBuf,
        /// The end that it names.
        end: String,
    },
    /// The timing makes no sense.
    #[error("the recording in `{}` is corrupt: {problem}", place.display())]
    Timing {
        /// The recording.
        place: PathBuf,
        /// The line, and its problem.
        problem: TimingError,
    },
    /// The timing tells of bytes that are not there.
    #[error(
        "the recording in `{}` is corrupt: up to line {line} of `timing` {told} bytes were written to `{file}`, which holds {held}",
        place.display()
    )]
    Short {
        /// The recording.
        place: PathBuf,
        /// The line of the timing that is the first to tell of them.
        line: usize,
        /// Where they should be.
        file: &'static str,
        /// How many the timing tells of so far.
        told: u64,
        /// How many there are.
        held: u64,
    },
    /// A line of a transcript is no record.
    #[error("{}:{line}: this is not a record of a dialogue", path.display())]
    Transcript {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl From<ReadLineError> for ReplayError {
    fn from(error: ReadLineError) -> Self {
        let ReadLineError { path, source } = error;
        Self::Read { path, source }
    }
}

impl ReplayError {
    pub(super) fn from_read(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Read { path, source }
    }
}

/// Reads a whole file. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn read_text(path: &Path) -> Result<String, ReplayError> {
    let (file, size) = open(path)?;
    if size > LONGEST {
        let path = path.to_owned();
        return Err(ReplayError::TooLong { path });
    }
    let mut bytes = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut bytes);
    read.map_err(|source| ReplayError::from_read(path, source))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file and its size. A pipe in its place could be waited for for ever.
pub(super) fn open(path: &Path) -> Result<(File, u64), ReplayError> {
    let opened = fs::metadata(path).and_then(|metadata| {
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok((File::open(path)?, metadata.len()))
    });
    opened.map_err(|source| ReplayError::from_read(path, source))
}

/// The checked facts of a recording.
pub(super) struct RecordingFacts {
    pub(super) timing: Timing,
    pub(super) duration: Duration,
    pub(super) exit: Option<Exit>,
}

/// The parts that are checked: the texts themselves, and the lengths of the channels.
pub(super) struct CheckedTexts<'a> {
    pub(super) place: PathBuf,
    pub(super) manifest: &'a str,
    pub(super) timing: &'a str,
    /// Not of interest where it is not read again.
    pub(super) stdin: Option<u64>,
    pub(super) stdout: u64,
    pub(super) stderr: u64,
    /// Whether a manifest of a newer version will do, as far as it is understood. It cannot be played: it may mean other
    /// things.
    pub(super) reads_newer: bool,
}

impl CheckedTexts<'_> {
    /// The recording, if all of it is in order.
    pub(super) fn checked_replay(
        &self,
        stdout: ChannelSource,
        stderr: ChannelSource,
    ) -> Result<Replay, ReplayError> {
        let facts = self.recording_facts()?;
        Ok(Replay {
            stdout,
            stderr,
            duration: facts.duration,
            exit: facts.exit,
            timing: facts.timing,
        })
    }

    /// The facts of the recording, if all of it is valid.
    pub(super) fn recording_facts(&self) -> Result<RecordingFacts, ReplayError> {
        let end = self.parse_manifest()?.end;
        let timing = self.parse_timing()?;
        let last = timing.0.last().map_or(Duration::ZERO, |moment| moment.at);
        let ended = end
            .as_ref()
            .map(|end| Duration::from_millis(end.duration_ms));
        Ok(RecordingFacts {
            duration: ended.unwrap_or(last),
            exit: end.map_or(Ok(None), |end| self.recorded_exit(&end))?,
            timing,
        })
    }

    /// Whether it is a dialogue with an ACP agent. If the recording process was killed before it noted the transport, the
    /// recorded lines tell.
    pub(super) fn find_dialogue(
        &self,
        spoken: impl FnOnce() -> Option<&'static str>,
    ) -> Result<bool, ReplayError> {
        Ok(match self.parse_manifest()?.transport.as_str() {
            ACP => true,
            UNKNOWN => spoken() == Some(ACP),
            _ => false,
        })
    }

    pub(super) fn parse_manifest(&self) -> Result<Manifest, ReplayError> {
        let path = self.place.join(MANIFEST);
        let manifest: Manifest = match serde_json::from_str(self.manifest) {
            Ok(manifest) => manifest,
            Err(error) => return Err(manifest_error(path, &error)),
        };
        let is_newer = manifest.schema.starts_with(SCHEMA_FAMILY);
        if manifest.schema != SCHEMA && !(self.reads_newer && is_newer) {
            let found = manifest.schema.chars().take(80).collect();
            return Err(ReplayError::Schema { path, found });
        }
        Ok(manifest.upgraded())
    }

    fn parse_timing(&self) -> Result<Timing, ReplayError> {
        let place = || self.place.clone();
        let timing = Timing::read(self.timing).map_err(|problem| ReplayError::Timing {
            place: place(),
            problem,
        })?;
        let (mut input, mut out, mut err) = (0_u64, 0_u64, 0_u64);
        for (index, moment) in timing.0.iter().enumerate() {
            let (told, held, file) = match moment.channel {
                Channel::In => match self.stdin {
                    Some(stdin) => (&mut input, stdin, STDIN),
                    None => continue,
                },
                Channel::Out => (&mut out, self.stdout, STDOUT),
                Channel::Err => (&mut err, self.stderr, STDERR),
            };
            *told = told.saturating_add(moment.bytes);
            if *told > held {
                return Err(ReplayError::Short {
                    place: place(),
                    line: index + 1,
                    file,
                    told: *told,
                    held,
                });
            }
        }
        Ok(timing)
    }

    /// None if the supervisor was lost, so that the exit is unknown.
    fn recorded_exit(&self, end: &RecordedEnd) -> Result<Option<Exit>, ReplayError> {
        let impossible = |end: String| ReplayError::End {
            path: self.place.join(MANIFEST),
            end,
        };
        match (end.agent_exit_code, &end.signal) {
            (Some(code @ 0..=255), None) => Ok(Some(Exit::Code(code))),
            // A remote agent has no exit status.
            (None, None) if end.outcome == Some(Outcome::Completed) => Ok(Some(Exit::Code(0))),
            (None, None) => Ok(None),
            (None, Some(name)) => match signals::number(name) {
                Some(number) => Ok(Some(Exit::Signal(number))),
                None => Err(impossible(format!("signal {:?}", shortened_name(name)))),
            },
            (Some(code), None) => Err(impossible(format!("exit code {code}"))),
            (Some(_), Some(_)) => Err(impossible("both an exit code and a signal".to_owned())),
        }
    }
}

fn shortened_name(name: &str) -> String {
    name.chars().take(80).collect()
}

/// Serde's message has the place at its end; ours begins with it.
fn manifest_error(path: PathBuf, error: &serde_json::Error) -> ReplayError {
    let (line, column) = (error.line(), error.column());
    let problem = error.to_string();
    let place = format!(" at line {line} column {column}");
    let problem = problem.strip_suffix(&place).unwrap_or(&problem).to_owned();
    ReplayError::Manifest {
        path,
        line,
        column,
        problem,
    }
}
