//! Recordings of runs, read back as events ([`RecordingReader`]) or run again without a process ([`ReplaySource`]).
//!
//! How a recording is played as a program is [`lapidary_recording::replay`].

mod past;
mod source;

pub use lapidary_recording::replay::{
    Dialogue, DialogueStage, RecordingParts, Replay, ReplayError, ReplayPace, ReplayRate,
};
pub use past::{PastAttempts, PastFormat, PastReading, RecordingReader, finish_cut_run};
pub use source::ReplaySource;
