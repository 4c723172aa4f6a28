//! A recorded dialogue as steps: what the agent says, and what it waits for.
//!
//! A line stands where its last byte was: nobody can have answered it before. It is read as it is played, so that a long recording
//! takes no more memory than a short one.

mod recorded;
mod transcript;

use std::path::Path;
use std::time::Duration;

use lapidary_wire::lines::DEFAULT_LIMIT;

use super::ReplayError;
use super::message::Said;
pub(super) use recorded::Recorded;
pub(super) use transcript::{Transcript, reads_as_transcript};

/// Longer lines are played, but not understood.
const LONGEST_LINE: usize = DEFAULT_LIMIT;

/// Something that happened.
#[derive(Debug)]
pub(super) struct Step {
    /// When, since the start.
    pub(super) at: Duration,
    pub(super) what: What,
}

/// What happened.
#[derive(Debug)]
pub(super) enum What {
    /// The agent wrote a line to its stdout, here with its end.
    Say(Vec<u8>),
    /// The agent wrote to its stderr.
    Complain(Vec<u8>),
    /// The client wrote a line.
    Hear(Said),
    /// The client closed the agent's stdin.
    HangUp,
}

/// Where steps come from.
#[derive(Debug)]
pub(super) enum Script {
    Recorded(Recorded),
    Transcript(Transcript),
}

impl Script {
    /// Opens a recording by its directory, or a transcript by its file.
    pub(super) fn open(place: &Path) -> Result<Self, ReplayError> {
        if place.is_dir() {
            return Recorded::open(place).map(Self::Recorded);
        }
        Transcript::open(place).map(Self::Transcript)
    }

    /// What happened next. None at the end.
    pub(super) fn next(&mut self) -> Result<Option<Step>, ReplayError> {
        match self {
            Self::Recorded(recorded) => recorded.next(),
            Self::Transcript(transcript) => transcript.next(),
        }
    }
}
