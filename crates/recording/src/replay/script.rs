//! A recorded dialogue as steps: lines that the agent sends, and messages that it waits for.
//!
//! A line stands where its last byte was: the other side cannot have answered it before. It is read as it is played, so that a
//! long recording takes no more memory than a short one.

mod recorded;
mod transcript;

use std::path::Path;
use std::time::Duration;

use lapidary_wire::lines::DEFAULT_LIMIT;

use super::ReplayError;
use super::message::MessageKind;
pub(super) use recorded::RecordedScript;
pub(super) use transcript::{TranscriptScript, reads_as_transcript};

/// Longer lines are played, but not understood.
const LONGEST_LINE: usize = DEFAULT_LIMIT;

/// A step of a recorded dialogue.
#[derive(Debug)]
pub(super) struct ScriptStep {
    /// When, since the start.
    pub(super) at: Duration,
    pub(super) what: StepKind,
}

/// The event of a step.
#[derive(Debug)]
pub(super) enum StepKind {
    /// The agent wrote a line to its stdout, here with its end.
    Say(Vec<u8>),
    /// The agent wrote to its stderr.
    Complain(Vec<u8>),
    /// The client wrote a line.
    Hear(MessageKind),
    /// The client closed the agent's stdin.
    HangUp,
}

/// Where steps come from.
#[derive(Debug)]
pub(super) enum ScriptSource {
    Recorded(RecordedScript),
    Transcript(TranscriptScript),
}

impl ScriptSource {
    /// Opens a recording by its directory, or a transcript by its file.
    pub(super) fn open(place: &Path) -> Result<Self, ReplayError> {
        if place.is_dir() {
            return RecordedScript::open(place).map(Self::Recorded);
        }
        TranscriptScript::open(place).map(Self::Transcript)
    }

    /// The next step. None at the end.
    pub(super) fn next(&mut self) -> Result<Option<ScriptStep>, ReplayError> {
        match self {
            Self::Recorded(recorded) => recorded.next(),
            Self::Transcript(transcript) => transcript.next(),
        }
    }
}
